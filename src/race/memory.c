/*
 * memory.c - the program's calls of libc that access memory on its behalf, and free, after which private memory is another object's.
 *
 * oshcc links programs with --wrap for these routines, so that only the program's own calls are here.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "race/shadow.h"
#include "race/tsan.h"

static void touched(enum race_kind kind, const void *at, size_t bytes, const void *pc)
{
    if (bytes)
        race_tsan_range(kind, at, bytes, pc);
}

#define COPY(NAME, PARAMETERS, CALL)                                                                                 \
    RACE_API void *__wrap_##NAME PARAMETERS;                                                                         \
    RACE_API void *__wrap_##NAME PARAMETERS                                                                          \
    {                                                                                                                \
        touched(RACE_LOAD, from, bytes, RACE_CALLER);                                                                \
        touched(RACE_STORE, to, bytes, RACE_CALLER);                                                                 \
        return CALL;                                                                                                 \
    }
void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room);
void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room);
void *__memset_chk(void *to, int byte, size_t bytes, size_t room);
COPY(memcpy, (void *to, const void *from, size_t bytes), memcpy(to, from, bytes))
COPY(memmove, (void *to, const void *from, size_t bytes), memmove(to, from, bytes))
COPY(__memcpy_chk, (void *to, const void *from, size_t bytes, size_t room), __memcpy_chk(to, from, bytes, room))
COPY(__memmove_chk, (void *to, const void *from, size_t bytes, size_t room), __memmove_chk(to, from, bytes, room))

RACE_API void *__wrap_memset(void *to, int byte, size_t bytes);
RACE_API void *__wrap_memset(void *to, int byte, size_t bytes)
{
    touched(RACE_STORE, to, bytes, RACE_CALLER);
    return memset(to, byte, bytes);
}

RACE_API void *__wrap___memset_chk(void *to, int byte, size_t bytes, size_t room);
RACE_API void *__wrap___memset_chk(void *to, int byte, size_t bytes, size_t room)
{
    touched(RACE_STORE, to, bytes, RACE_CALLER);
    return __memset_chk(to, byte, bytes, room);
}

RACE_API int __wrap_memcmp(const void *a, const void *b, size_t bytes);
RACE_API int __wrap_memcmp(const void *a, const void *b, size_t bytes)
{
    touched(RACE_LOAD, a, bytes, RACE_CALLER);
    touched(RACE_LOAD, b, bytes, RACE_CALLER);
    return memcmp(a, b, bytes);
}

RACE_API void __wrap_free(void *block);
RACE_API void __wrap_free(void *block)
{
    if (block && race_running && race_thread)
        race_shadow_forget(race_thread, (uintptr_t)block, malloc_usable_size(block));
    free(block);
}
