/*
 * ptx.h - a PTX module under construction: what the parser hands to the lowering, and the lowering's state.
 *
 * Contract. The parser (parse.c, statement.c) checks syntax and resolves names; it knows no instruction. It delivers
 *   - module variables with their memory: a host address (.global, .const) or an offset in shared memory (.shared);
 *   - functions as lists of statements: labels and instructions with guard, modifiers, types and operands.
 * The lowering (lower.c and ins_*.c) makes a struct zc_module of them, as ze_cpu's front end for SPIR-V does: VM instructions,
 * frames, kernels. Each ins_*.c has tables of rows: name, types, what the instruction becomes. An instruction without a row, a
 * modifier that no row reads, or an operand of the wrong kind is refused with its text and line.
 *
 * Addresses: global, constant and local memory have host addresses, the same in every state space, so cvta does nothing.
 * Shared memory has offsets of 32 or 64 bits from the group's memory; cvta.shared adds the base.
 */
#ifndef CC_PTX_H
#define CC_PTX_H

#include "ze_cpu/module.h"

enum ptx_class { PTX_U = 1, PTX_S = 2, PTX_B = 4, PTX_F = 8, PTX_P = 16, PTX_H = 32, PTX_PAIR = 64, PTX_WIDE = 128 };
/* PTX_H: floating point of 16 bits, also packed; PTX_PAIR: two integers of 16 bits; PTX_WIDE: 128 bits. */
enum { PTX_INT = PTX_U | PTX_S | PTX_B };

struct ptx_type {
    uint8_t class, width; /* width in bytes; a predicate has 1 */
    const char *name;     /* as in the text: "u32" */
};

enum ptx_space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_CONST, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM, SPACE_REG };

/* LINK_LOCAL: only its unit sees the name. EXTERN: another unit defines it, and ptx_join makes it that one. */
enum ptx_linkage { LINK_LOCAL, LINK_VISIBLE, LINK_WEAK, LINK_COMMON, LINK_EXTERN };

/* A variable, a parameter, or registers (space REG: `count` of them, numbered from `reg`). */
struct ptx_var {
    const char *name;
    uint8_t space, linkage;
    bool joined;            /* another variable of this name has taken its place, at the same address */
    uint32_t unit;
    bool dynamic;           /* shared memory whose size the launch gives */
    uint32_t count, reg;    /* count: 0 unless declared as %r<count> */
    uint64_t size, align;
    uint64_t at;            /* host address, or offset in shared memory */
    uint32_t slot;          /* in the frame: PARAM, LOCAL; ZC_NONE: not assigned */
};

struct ptx_reg {
    uint8_t class, width;
    uint32_t slot; /* ZC_NONE: not assigned */
    uint32_t uses; /* operands that name it */
};

enum ptx_kind { O_REG, O_INT, O_FLOAT, O_VAR, O_NAME, O_SPECIAL, O_NONE, O_VECTOR };

struct ptx_operand {
    uint8_t kind;
    bool negated, memory; /* !p; in brackets: the address in reg, a variable or a number, plus value */
    uint8_t n;            /* VECTOR: elements, the operands from `first` on; FLOAT: bytes of the bits */
    uint32_t index;       /* REG: register; VAR: variable; VECTOR: first element; SPECIAL: row in the lowering's table */
    uint32_t pair;        /* 1 + register q of a destination p|q, or 0 */
    int64_t value;        /* INT, bits of FLOAT, or what is added to an address */
    const char *name;     /* NAME, SPECIAL */
};

enum { PTX_MODS = 12, PTX_TYPES = 3, CC_HASH = 1021, CC_SPECIALS = 64 };

/* Of .loc; file is the number of a .file. */
struct ptx_source {
    uint32_t file, line; /* line 0: none */
};

/* A label (op NULL) or an instruction. */
struct ptx_ins {
    uint32_t line, label;
    struct ptx_source source; /* where the program's text has it */
    const char *op;
    const char *mod[PTX_MODS]; /* modifiers that are not types */
    uint8_t nmod, ntype, nop;
    uint32_t used;             /* modifiers that the lowering has read: a bit each */
    struct ptx_type type[PTX_TYPES];
    uint32_t op1;              /* its operands: index into operands */
    uint32_t guard;            /* 1 + register of @p, or 0 */
    bool unless;               /* @!p */
    /* A call: its results, the function, its arguments; operands[op1 ...] in this order. */
    uint8_t nret;
};

struct ptx_fn {
    const char *name;
    bool kernel, defined;
    uint8_t linkage;
    uint32_t unit, line;
    uint32_t definition;      /* index of the function that a call of this one calls */
    ZC_LIST(uint32_t) params; /* variables */
    uint32_t result;          /* 1 + variable of the result, or 0 */
    ZC_LIST(struct ptx_ins) body;
    uint32_t labels;          /* number of labels */
    uint32_t group[3];        /* .reqntid */
    ZC_LIST(uint32_t) calls;  /* indices of functions */
};

/* An address in an initializer, to be filled in. */
struct ptx_reloc {
    uint8_t *at;
    uint32_t line, unit, var;
    const char *name;
    int64_t add;
};

/* A .file of a unit. */
struct ptx_file {
    uint32_t unit, number;
    const char *name;
};

/* A constant in the frame; next: 1 + index of the next one of its chain, or 0. */
struct ptx_constant {
    uint64_t v;
    uint32_t slot, width, next;
};

struct ptx_token {
    enum { T_END, T_NAME, T_INT, T_FLOAT, T_STRING, T_PUNCT } kind;
    const char *text; /* NAME: terminated */
    uint32_t line;
    char punct;
    uint8_t bytes;    /* FLOAT: width of the bits */
    int64_t value;
};

struct ptx {
    struct zc_module *m;
    const char *at, *end; /* of the text */
    uint32_t line;        /* of the next character; during the lowering: of the instruction */
    struct ptx_token tok; /* the current token */
    ZC_LIST(struct ptx_var) vars;
    ZC_LIST(struct ptx_reg) regs;
    ZC_LIST(struct ptx_fn) fns;
    ZC_LIST(struct ptx_operand) operands;
    ZC_LIST(uint32_t) scope;     /* variables that are visible */
    ZC_LIST(const char *) labels; /* of the function being parsed */
    ZC_LIST(struct ptx_reloc) relocs;
    char *chunk_at;              /* memory for names, and what is left of it */
    size_t chunk_left;
    const char *opcode;          /* of the instruction being parsed */
    struct ptx_source source;    /* of it: where calls that were inlined are in the function */
    struct ptx_source innermost; /* in the last of these */
    ZC_LIST(struct ptx_file) files;
    uint32_t cur_fn;
    uint8_t linkage;             /* of the directive being parsed */
    uint32_t unit;               /* the text being parsed or lowered: index into units */
    const struct cc_unit *units;
    uint32_t nunits;
    uint32_t target;             /* the latest architecture of a .target: 90 */
    /* lowering */
    struct ptx_ins *ins;
    bool second_pass;            /* the first one only finds the constants, and named_zero */
    bool named_zero;             /* an instruction may name barrier 0 with a count, or by a register */
    uint32_t carry;              /* slot of the carry flag of the function, or ZC_NONE */
    uint32_t shared_base;        /* slot of the address of shared memory */
    ZC_LIST(struct ptx_constant) constants;
    uint32_t hash[CC_HASH];      /* 1 + index of the first constant of a chain, or 0 */
    ZC_LIST(uint32_t) label_pc;
    uint32_t special[CC_SPECIALS]; /* slots of special registers, by row; ZC_NONE: not used */
};

/* A text of PTX, which a zero byte ends; name: for messages, NULL where there is one text. */
struct cc_unit {
    const char *name, *text;
    size_t bytes;
};

/* A compiled module: what the driver keeps. */
struct cc_symbol {
    const char *name;
    void *at;
    size_t bytes;
};
struct cc_image {
    struct zc_module *m;
    struct cc_symbol *symbol;
    uint32_t symbols;
    uint32_t target; /* the latest architecture that its units are for, as 90 */
};

/* Build a module from the units, which are linked. NULL: *log has the reason, to be freed. */
struct cc_image *cc_image_build(const struct cc_unit *units, uint32_t n, char **log);
/* Whether they link; if not, *log has the reason, as above. */
bool cc_image_links(const struct cc_unit *units, uint32_t n, char **log);
void cc_image_free(struct cc_image *image);

static inline bool ptx_is_memory(const struct ptx_var *v)
{
    return v->space == SPACE_GLOBAL || v->space == SPACE_CONST;
}

_Noreturn void ptx_fail(struct ptx *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *ptx_keep(struct ptx *p, const char *s, size_t n); /* a terminated copy that lives as long as p->m */

void ptx_next(struct ptx *p);                      /* lex.c: read the next token into p->tok */
bool ptx_type_named(const char *name, struct ptx_type *t);
void ptx_parse(struct ptx *p);                     /* parse.c: all units */
void ptx_join(struct ptx *p);                      /* join.c: names that units share */
void ptx_statements(struct ptx *p, uint32_t fn);   /* statement.c: a body, from after its { to its } */
void ptx_variables(struct ptx *p, uint8_t space);  /* declare.c: a declaration of variables up to its ; */
struct ptx_var *ptx_variable(struct ptx *p, uint8_t space); /* declare.c: type, name, size of one */
struct ptx_var *ptx_find(struct ptx *p, const char *name, uint32_t *nth); /* declare.c: a visible one, or NULL */
void ptx_end_unit(struct ptx *p);                  /* declare.c: the variables that initializers name, when all of the unit are known */
void ptx_relocate(struct ptx *p);                  /* declare.c: their addresses, when the units are joined */
void ptx_lower(struct ptx *p);                     /* lower.c */

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

static inline bool ptx_is(const struct ptx *p, char punct)
{
    return p->tok.kind == T_PUNCT && p->tok.punct == punct;
}

bool ptx_accept(struct ptx *p, char punct);             /* skip it if it is there */
void ptx_expect(struct ptx *p, char punct);
bool ptx_word(struct ptx *p, const char *name);         /* skip this name if it is there */
const char *ptx_name(struct ptx *p, const char *what);  /* read a name */
int64_t ptx_number(struct ptx *p);                      /* read an integer constant, with sign */

#endif
