/* strided.c - the rows of a strided transfer. */
#if HAVE_CONFIG_H
#include "config.h"
#endif
#include "comex_impl.h"

int comex_rows_begin(struct comex_rows *r, const int *count, int levels, const int *src_stride, const int *dst_stride)
{
    if (levels < 0 || levels > COMEX_MAX_STRIDE_LEVEL)
        COMEX_DIE("%d stride levels: expected 0 to %d", levels, COMEX_MAX_STRIDE_LEVEL);
    *r = (struct comex_rows){.count = count, .src_stride = src_stride, .dst_stride = dst_stride, .levels = levels};
    int rows = 1;
    for (int i = 0; i <= levels; i++) {
        if (count[i] < 0)
            COMEX_DIE("count[%d] is %d", i, count[i]);
        rows = rows && count[i];
    }
    return rows;
}

int comex_rows_next(struct comex_rows *r)
{
    for (int i = 1; i <= r->levels; i++) {
        r->src += r->src_stride[i - 1];
        r->dst += r->dst_stride[i - 1];
        if (++r->at[i] < r->count[i])
            return 1;
        r->src -= (ptrdiff_t)r->count[i] * r->src_stride[i - 1];
        r->dst -= (ptrdiff_t)r->count[i] * r->dst_stride[i - 1];
        r->at[i] = 0;
    }
    return 0;
}
