/*
 * module.h - a SPIR-V module, from its words to the code of the virtual machine: what all passes read and write.
 *
 * Every value has a slot: a byte offset into the frame of its work-item. A frame starts with the constants and built-in
 * variables, the same for all functions; the slots of the functions follow. OpenCL has no recursion, so each function has one
 * fixed range of slots, above the ranges of all its callers.
 */
#ifndef ZC_MODULE_H
#define ZC_MODULE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ze_cpu/spirv.h"

typedef uint8_t __attribute__((may_alias)) u8;
typedef uint16_t __attribute__((may_alias)) u16;
typedef uint32_t __attribute__((may_alias)) u32;
typedef uint64_t __attribute__((may_alias)) u64;
typedef int8_t __attribute__((may_alias)) s8;
typedef int16_t __attribute__((may_alias)) s16;
typedef int32_t __attribute__((may_alias)) s32;
typedef int64_t __attribute__((may_alias)) s64;
typedef float __attribute__((may_alias)) f32;
typedef double __attribute__((may_alias)) f64;

enum { ZC_BUILTIN_BYTES = 32 }; /* of a built-in variable in the frame, at most */
enum { ZC_ARGS = 64, ZC_SUBGROUP = 16, ZC_GROUP_MAX = 1024, ZC_CALLS = 64 };
#define ZC_NONE UINT32_MAX

enum zc_kind { KIND_VOID, KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_VECTOR, KIND_ARRAY, KIND_STRUCT, KIND_POINTER,
               KIND_FUNCTION, KIND_OPAQUE };

struct zc_type {
    uint8_t kind, width; /* width: bytes of a scalar */
    uint32_t n;          /* components, elements or members */
    uint32_t elem;       /* id of the element type, pointee or return type */
    uint32_t storage;
    uint64_t size, align;
    const uint32_t *member; /* ids, in the module's words */
    uint64_t *offset;
};

/* A scalar or vector as the virtual machine sees it: width of a component in bytes, number of components. */
struct zc_shape {
    uint8_t kind, width, n;
};

enum zc_what { ID_NONE, ID_TYPE, ID_CONSTANT, ID_VALUE, ID_FUNCTION, ID_LABEL, ID_OTHER };

/* An address that no instruction has computed yet: base + index * scale + imm (base, index: slots; index may be ZC_NONE). */
struct zc_addr {
    uint32_t base, index;
    int64_t scale, imm;
};

struct zc_id {
    uint8_t what;
    bool slotted, folded, packed, byval, saturate; /* slotted: slot is valid; folded: addr is valid instead */
    uint8_t rounding; /* 1 + mode, 0: the default */
    bool local;       /* a constant pointer, as an offset into the group's local memory */
    uint32_t def;     /* word of the definition */
    uint32_t type;
    uint32_t at;      /* type: index; constant: offset of its bytes; function: index; label: first instruction */
    uint32_t slot;    /* of the value; label: index of its block */
    uint32_t fn;      /* 1 + index of the function that defines it, 0: the module */
    uint32_t builtin; /* 1 + number */
    uint32_t spec;    /* 1 + SpecId */
    uint32_t import;  /* id of an imported variable that the constant is or refers to, or 0 */
    uint32_t align;
    uint32_t uses, address_uses; /* address_uses: those that can use a folded address */
    struct zc_addr addr; /* when folded */
    const char *name;
};

/* One instruction of the virtual machine; vm.c shows what each operation does with the fields. */
struct zc_ins {
    uint16_t op;
    uint8_t n, w;
    uint32_t d, a, b, c;
    union {
        int64_t imm;
        uint32_t u[2];
        const void *ptr;
    };
};

struct zc_fn {
    uint32_t id, def, end; /* words */
    uint32_t type;         /* of the result */
    uint32_t nparam, param; /* first parameter: index into module.params */
    uint32_t ncalls, call;  /* its calls: index into module.calls */
    uint32_t pc, base, size;
    uint32_t reach;   /* highest end of its slots and those of all its callees */
    uint32_t depth;   /* longest chain of calls from it */
    uint32_t missing; /* id of an import without definition that it or a callee uses, or 0 */
    uint8_t mark;     /* traversal of the call graph: 0 new, 1 open, 2 done */
    bool body;
};

struct zc_kernel_info {
    const char *name;
    uint32_t fn;
    uint32_t nargs;
    struct {
        uint32_t size, slot, copy; /* copy: slot of the bytes of an argument by value */
        bool local, byval;
    } arg[ZC_ARGS];
    uint32_t group[3]; /* required, or 0 */
    const uint32_t *group_ids; /* ids of constants with the required size, or NULL */
    const char *missing;       /* name of an import without definition that it uses, or NULL */
    uint32_t frame;
    struct zc_lanes *lanes; /* code that runs 8 work-items at once, or NULL */
};

struct zc_call {
    uint32_t caller, callee; /* functions */
    uint32_t ins;            /* its instruction; ZC_NONE: not reachable */
    uint32_t word;
};

/* A basic block of the function being lowered. */
struct zc_block {
    uint32_t label, first, last; /* words of the label and of the terminator */
    uint32_t rank, idom;         /* index in reverse postorder, ZC_NONE: not reachable; rank of the immediate dominator */
};

/* A branch target to fill in when all labels of the function have an instruction. */
struct zc_fix {
    uint32_t label, at; /* id; instruction or index into module.extra */
    uint8_t field;
};

struct zc_global {
    uint32_t id;
    uint8_t *mem;
    size_t size;
    bool managed; /* of cuda_cpu, whose it is */
};

/* Instructions from pc on are of this line, up to the next entry. */
struct zc_line {
    uint32_t pc, line;
    const char *file; /* lives as long as the module; NULL: of none */
};

struct zc_slot_of {
    uint32_t slot, of; /* a built-in's number, or an offset into local memory */
};

/* A growing array of T. zc_push appends a zeroed element and returns it, zc_push_n several. */
#define ZC_LIST(T)                                                                                                    \
    struct {                                                                                                          \
        T *v;                                                                                                         \
        uint32_t n, cap;                                                                                              \
    }

/* Values of specialization constants: ids[i] has the value at values[i], as large as its type. */
struct zc_specialization {
    uint32_t n;
    const uint32_t *ids;
    const void *const *values;
};

struct zc_module {
    uint32_t *w, nw, bound;
    const struct zc_specialization *spec; /* during the build; or NULL */
    struct zc_id *id;
    ZC_LIST(struct zc_type) types;
    ZC_LIST(uint8_t) data; /* bytes of all constants */
    ZC_LIST(struct zc_fn) fns;
    ZC_LIST(uint32_t) params;
    ZC_LIST(struct zc_call) calls;
    ZC_LIST(struct zc_global) globals;
    ZC_LIST(struct zc_slot_of) builtins, locals;
    ZC_LIST(uint8_t) image; /* initial bytes of every frame: the constants */
    ZC_LIST(struct zc_kernel_info) kernels;
    ZC_LIST(struct zc_ins) code;
    ZC_LIST(struct zc_line) lines; /* in the order of pc; empty without race.h's library */
    uint32_t *places;              /* of each instruction, see racing.c */
    ZC_LIST(uint32_t) extra; /* switch tables, argument lists */
    ZC_LIST(struct zc_fix) fixes;
    ZC_LIST(struct zc_block) blocks, ranked; /* of the function being lowered: in file order; in reverse postorder */
    ZC_LIST(void *) blobs;   /* memory of zc_keep */
    uint32_t frame;          /* end of the slots assigned so far */
    uint64_t local_bytes, global_bytes;
    uint32_t subgroup; /* work-items of a sub-group */
    bool warps;        /* its sub-groups' operations are OP_WARP */
    bool named;        /* it has OP_NAMED */
    void *native; /* translated code, or NULL */
    size_t native_bytes;
    void *lanes; /* code of all kernels' lanes, or NULL */
    size_t lanes_bytes;
    uint32_t ext_opencl;
    uint32_t cur, cur_fn; /* word and function (1 + index) being parsed or lowered */
    uint32_t block, block_pc; /* label of the block being lowered, and its first instruction */
    uint32_t next_block;      /* label of the block that is lowered next, or 0 */
    char *log;
    jmp_buf give_up;
};

#define zc_push(m, list) ((__typeof__((list).v))zc_grow(m, &(list).v, &(list).n, &(list).cap, sizeof *(list).v, 1))
#define zc_push_n(m, list, count)                                                                                     \
    ((__typeof__((list).v))zc_grow(m, &(list).v, &(list).n, &(list).cap, sizeof *(list).v, count))

#define ZC_OP(p) ((p)[0] & 0xffffu)
#define ZC_WORDS(p) ((p)[0] >> 16)

/* The next instruction. Inside a function there is always one: it ends with OpFunctionEnd. */
static inline const uint32_t *zc_next(const uint32_t *p)
{
    return p + ZC_WORDS(p);
}

static inline unsigned zc_log2(unsigned width)
{
    return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;
}

/* The low `width` bytes of v, zero or sign extended. */
static inline uint64_t zc_mask(uint64_t v, unsigned width)
{
    return width >= 8 ? v : v & ((1ull << (8 * width)) - 1);
}

static inline int64_t zc_sign(uint64_t v, unsigned width)
{
    unsigned s = width >= 8 ? 0 : 64 - 8 * width;
    return (int64_t)(v << s) >> s;
}

/* Whether the slot has an integer constant of the module; its value, sign extended, in *v. */
static inline bool zc_constant_in(const struct zc_module *m, uint32_t slot, unsigned width, int64_t *v)
{
    if (slot + width > m->image.n)
        return false;
    for (uint32_t k = 0; k < m->builtins.n; k++)
        if (m->builtins.v[k].slot < slot + width && slot < m->builtins.v[k].slot + ZC_BUILTIN_BYTES)
            return false;
    for (uint32_t k = 0; k < m->locals.n; k++)
        if (m->locals.v[k].slot < slot + width && slot < m->locals.v[k].slot + 8)
            return false;
    uint64_t bits = 0;
    memcpy(&bits, m->image.v + slot, width);
    *v = zc_sign(bits, width);
    return true;
}

/* End the build: the log gets the message and the instruction at m->cur. Returns to zc_module_build. */
_Noreturn void zc_fail(struct zc_module *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *zc_op_name(uint32_t op);
void *zc_grow(struct zc_module *m, void *v, uint32_t *n, uint32_t *cap, size_t each, size_t count);
void *zc_keep(struct zc_module *m, size_t bytes); /* zeroed, freed with the module */
void zc_module_free(struct zc_module *m);
uint32_t zc_slot_new(struct zc_module *m, uint64_t size, uint64_t align); /* of the current function */
struct zc_type *zc_type(struct zc_module *m, uint32_t id);    /* fails unless id is a type */
struct zc_type *zc_type_of(struct zc_module *m, uint32_t id); /* of a value or constant */
struct zc_shape zc_shape(struct zc_module *m, uint32_t type); /* fails unless scalar or vector */
struct zc_shape zc_shape_of(struct zc_module *m, uint32_t id);
/* The type id of member `index` of a composite; its byte offset is added to *off. */
uint32_t zc_member(struct zc_module *m, uint32_t type, uint64_t index, uint64_t *off);

#endif
