/* random.c - random bits from getrandom(2). */
#include "host/util/random.h"

#include <errno.h>
#include <sys/random.h>

int shi_random_bytes(void *to, size_t bytes)
{
    for (char *at = to; bytes > 0;) {
        ssize_t n = getrandom(at, bytes, 0);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}
