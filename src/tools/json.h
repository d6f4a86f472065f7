/*
 * json.h - read JSON from memory in one pass and without a copy: enter an object or array, iterate over its members, take or
 * skip each. The first syntax error sets `bad` and ends every loop.
 */
#ifndef OSHINFO_JSON_H
#define OSHINFO_JSON_H

#include <stddef.h>

struct json {
    const char *at, *end;
    int bad;
    int first; /* no member of the object or array entered last was read */
};

/* Enter an object, open = '{', or array, '['. 0 when the value is another, which is then skipped. */
int json_enter(struct json *j, char open);

/* Go to the next member; 0 after the last one, which leaves the object or array. In an object, key gets the member's name,
 * truncated to `bytes`; in an array key may be NULL. */
int json_next(struct json *j, char *key, size_t bytes);

/* Take a number, string or boolean; a value of another kind is skipped and gives 0, "" or 0. */
double json_number(struct json *j);
void json_string(struct json *j, char *out, size_t bytes);
int json_true(struct json *j);
void json_skip(struct json *j);

#endif
