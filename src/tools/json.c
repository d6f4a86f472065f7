/* json.c - oshinfo's JSON reader. */
#include "tools/json.h"

#include <stdlib.h>
#include <string.h>

static char look(struct json *j)
{
    while (j->at < j->end && strchr(" \t\r\n", *j->at))
        j->at++;
    return j->at < j->end && !j->bad ? *j->at : 0;
}

static int take(struct json *j, char c)
{
    if (look(j) != c)
        return 0;
    j->at++;
    return 1;
}

int json_enter(struct json *j, char open)
{
    j->first = 1;
    if (take(j, open))
        return 1;
    json_skip(j);
    return 0;
}

int json_next(struct json *j, char *key, size_t bytes)
{
    char c = look(j);
    int first = j->first;
    j->first = 0;
    if (c == ']' || c == '}') {
        j->at++;
        return 0;
    }
    if (!first && !take(j, ','))
        j->bad = 1;
    if (key && look(j) == '"') {
        json_string(j, key, bytes);
        if (!take(j, ':'))
            j->bad = 1;
    }
    if (!look(j))
        j->bad = 1;
    return !j->bad;
}

double json_number(struct json *j)
{
    char text[64], *end;
    size_t n = 0;
    char c = look(j);
    if (c != '-' && (c < '0' || c > '9')) {
        json_skip(j);
        return 0;
    }
    while (j->at < j->end && n < sizeof text - 1 && strchr("+-.eE0123456789", *j->at))
        text[n++] = *j->at++;
    text[n] = 0;
    double v = strtod(text, &end);
    j->bad |= *end != 0;
    return v;
}

/* A backslash is dropped and the character after it kept. */
void json_string(struct json *j, char *out, size_t bytes)
{
    size_t n = 0;
    *out = 0;
    if (look(j) != '"') {
        json_skip(j);
        return;
    }
    for (j->at++; j->at < j->end && *j->at != '"'; j->at++) {
        if (*j->at == '\\' && j->at + 1 < j->end)
            j->at++;
        if (n + 1 < bytes)
            out[n++] = *j->at;
    }
    out[n] = 0;
    j->bad |= !take(j, '"');
}

int json_true(struct json *j)
{
    int is = look(j) == 't';
    json_skip(j);
    return is;
}

/* Skip a value of any kind. Brackets are counted, not matched by kind; json_enter checks what is entered. */
void json_skip(struct json *j)
{
    int depth = 0;
    do {
        char c = look(j), none[1];
        if (c == '"')
            json_string(j, none, sizeof none);
        else if (c == '{' || c == '[')
            depth++, j->at++;
        else if (c == '}' || c == ']')
            depth--, j->at++;
        else if (c == ',' || c == ':')
            j->at++;
        else if (c)
            j->at += strcspn(j->at, ",:]} \t\r\n");
        else
            j->bad = 1;
    } while (depth > 0 && !j->bad);
    j->bad |= depth < 0;
}
