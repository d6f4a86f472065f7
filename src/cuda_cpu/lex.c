/* lex.c - tokens of PTX: names (with their dots: directives and opcodes are one token), numbers, strings, punctuation. */
#include "cuda_cpu/ptx.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

void ptx_fail(struct ptx *p, const char *fmt, ...)
{
    char why[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    const char *unit = p->unit < p->nunits ? p->units[p->unit].name : NULL;
    p->m->cur = 0; /* no word of SPIR-V */
    zc_fail(p->m, "%s%sPTX line %u: %s", unit ? unit : "", unit ? ": " : "", p->line, why);
}

const char *ptx_keep(struct ptx *p, const char *s, size_t n)
{
    if (n + 1 > p->chunk_left) {
        size_t bytes = n + 1 > CHUNK ? n + 1 : CHUNK;
        p->chunk_at = zc_keep(p->m, bytes);
        p->chunk_left = bytes;
    }
    char *d = p->chunk_at;
    memcpy(d, s, n);
    d[n] = 0;
    p->chunk_at += n + 1;
    p->chunk_left -= n + 1;
    return d;
}

static void skip_blanks(struct ptx *p)
{
    while (p->at < p->end) {
        size_t left = (size_t)(p->end - p->at);
        if (*p->at == '\n') {
            p->line++;
            p->at++;
        } else if (isspace((unsigned char)*p->at)) {
            p->at++;
        } else if (left > 1 && p->at[0] == '/' && p->at[1] == '/') {
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        } else if (left > 1 && p->at[0] == '/' && p->at[1] == '*') {
            for (p->at += 2; p->end - p->at >= 2 && (p->at[0] != '*' || p->at[1] != '/'); p->at++)
                p->line += *p->at == '\n';
            if (p->end - p->at < 2)
                ptx_fail(p, "a comment without end");
            p->at += 2;
        } else {
            return;
        }
    }
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.' || c == ':';
}

/* Names contain dots (ld.global.u32, %tid.x, .visible) and, in modifiers, double colons (shared::cta). */
static void name(struct ptx *p)
{
    const char *s = p->at;
    while (p->at < p->end && is_name(*p->at)) {
        if (*p->at == ':') {
            if (p->at + 1 >= p->end || p->at[1] != ':')
                break;
            p->at++;
        }
        p->at++;
    }
    p->tok.kind = T_NAME;
    p->tok.text = ptx_keep(p, s, (size_t)(p->at - s));
}

static unsigned digit(char c)
{
    return isdigit((unsigned char)c)    ? (unsigned)(c - '0')
           : isxdigit((unsigned char)c) ? (unsigned)(tolower((unsigned char)c) - 'a' + 10)
                                        : 99;
}

static uint64_t digits(struct ptx *p, unsigned base)
{
    uint64_t v = 0;
    for (; p->at < p->end && digit(*p->at) < base; p->at++)
        v = v * base + digit(*p->at);
    return v;
}

/* 0f and 0d: the bits of a float and a double; otherwise an integer with suffix U, or a decimal double. */
static void number(struct ptx *p)
{
    const char *s = p->at;
    char second = p->end - s > 1 ? (char)tolower((unsigned char)s[1]) : 0;
    p->tok.kind = T_INT;
    if (*s == '0' && (second == 'f' || second == 'd')) {
        p->at += 2;
        p->tok.kind = T_FLOAT;
        p->tok.bytes = second == 'f' ? 4 : 8;
        p->tok.value = (int64_t)digits(p, 16);
        return;
    }
    if (*s == '0' && (second == 'x' || second == 'b')) {
        p->at += 2;
        p->tok.value = (int64_t)digits(p, second == 'x' ? 16 : 2);
    } else {
        p->tok.value = (int64_t)digits(p, *s == '0' ? 8 : 10);
        if (p->at < p->end && (*p->at == '.' || *p->at == 'e' || *p->at == 'E')) {
            double v = strtod(s, (char **)(uintptr_t)&p->at); /* the text ends with a zero byte */
            p->tok.kind = T_FLOAT;
            p->tok.bytes = 8;
            memcpy(&p->tok.value, &v, sizeof v);
        }
    }
    if (p->at < p->end && *p->at == 'U')
        p->at++;
}

void ptx_next(struct ptx *p)
{
    skip_blanks(p);
    p->tok = (struct ptx_token){.kind = T_END, .line = p->line};
    if (p->at >= p->end)
        return;
    char c = *p->at;
    if (isdigit((unsigned char)c)) {
        number(p);
    } else if (is_name(c) && c != ':') {
        name(p);
    } else if (c == '"') {
        const char *s = ++p->at;
        while (p->at < p->end && *p->at != '"' && *p->at != '\n')
            p->at++;
        p->tok.kind = T_STRING;
        p->tok.text = ptx_keep(p, s, (size_t)(p->at - s));
        p->at += p->at < p->end;
    } else {
        p->tok.kind = T_PUNCT;
        p->tok.punct = c;
        p->at++;
    }
}

/* ---- helpers of the parser -------------------------------------------------------------------------------------- */

bool ptx_accept(struct ptx *p, char punct)
{
    bool there = ptx_is(p, punct);
    if (there)
        ptx_next(p);
    return there;
}

static const char *shown(const struct ptx *p, char *one)
{
    one[0] = p->tok.punct;
    one[1] = 0;
    return p->tok.kind == T_PUNCT                                ? one
           : p->tok.kind == T_NAME || p->tok.kind == T_STRING    ? p->tok.text
           : p->tok.kind == T_END                                ? "the end"
                                                                 : "a number";
}

void ptx_expect(struct ptx *p, char punct)
{
    char one[2];
    p->line = p->tok.line;
    if (!ptx_is(p, punct))
        ptx_fail(p, "\"%c\" expected, not %s", punct, shown(p, one));
    ptx_next(p);
}

bool ptx_word(struct ptx *p, const char *word)
{
    bool there = p->tok.kind == T_NAME && strcmp(p->tok.text, word) == 0;
    if (there)
        ptx_next(p);
    return there;
}

const char *ptx_name(struct ptx *p, const char *what)
{
    char one[2];
    if (p->tok.kind != T_NAME) {
        p->line = p->tok.line;
        ptx_fail(p, "%s expected, not %s", what, shown(p, one));
    }
    const char *n = p->tok.text;
    ptx_next(p);
    return n;
}

int64_t ptx_number(struct ptx *p)
{
    char one[2];
    bool minus = ptx_accept(p, '-');
    if (p->tok.kind != T_INT) {
        p->line = p->tok.line;
        ptx_fail(p, "a number expected, not %s", shown(p, one));
    }
    int64_t v = p->tok.value;
    ptx_next(p);
    return minus ? (int64_t)(0 - (uint64_t)v) : v;
}

bool ptx_type_named(const char *text, struct ptx_type *t)
{
    static const struct ptx_type types[] = {
        {PTX_U, 1, "u8"}, {PTX_U, 2, "u16"}, {PTX_U, 4, "u32"}, {PTX_U, 8, "u64"}, {PTX_S, 1, "s8"}, {PTX_S, 2, "s16"},
        {PTX_S, 4, "s32"}, {PTX_S, 8, "s64"}, {PTX_B, 1, "b8"}, {PTX_B, 2, "b16"}, {PTX_B, 4, "b32"}, {PTX_B, 8, "b64"},
        {PTX_F, 4, "f32"}, {PTX_F, 8, "f64"}, {PTX_P, 1, "pred"}, {PTX_H, 2, "f16"}, {PTX_H, 4, "f16x2"},
        {PTX_H, 2, "bf16"}, {PTX_H, 4, "bf16x2"}, {PTX_PAIR, 4, "u16x2"}, {PTX_PAIR, 4, "s16x2"}, {PTX_WIDE, 16, "b128"},
    };
    for (unsigned k = 0; k < sizeof types / sizeof *types; k++)
        if (strcmp(types[k].name, text) == 0) {
            *t = types[k];
            return true;
        }
    return false;
}
