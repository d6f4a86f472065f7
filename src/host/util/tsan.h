/*
 * tsan.h - a program with ThreadSanitizer and a library without it: tell ThreadSanitizer how calls order the program's threads.
 *
 * ThreadSanitizer sees what the library's calls of libc access and which mutexes they lock, but not the library's atomics and not the
 * other PEs. So each call that communicates publishes what its thread did before (shi_tsan_release), and each call that may observe
 * communication comes after all of these (shi_tsan_acquire): one object for all, because other PEs may have passed the order on.
 * Accesses on behalf of others, such as those of a poll, are not counted as the thread's. The symbols are weak, and absent without
 * ThreadSanitizer; with it every context has the empty table (state.h), so that only slow paths look.
 */
#ifndef SHI_TSAN_H
#define SHI_TSAN_H

#include "host/util/base.h"

#ifdef __has_feature
#define SHI_HAS_FEATURE(F) __has_feature(F)
#else
#define SHI_HAS_FEATURE(F) 0
#endif

#if defined __SANITIZE_THREAD__ || SHI_HAS_FEATURE(thread_sanitizer) /* it sees everything in the library */
#define SHI_TSAN_CALL(FUNCTION, ...) ((void)0)
#define SHI_TSAN_IS_HERE 0
#else
void __tsan_acquire(void *object) __attribute__((weak));
void __tsan_release(void *object) __attribute__((weak));
void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((weak));
#define SHI_TSAN_CALL(FUNCTION, ...) (shi_unlikely(FUNCTION != NULL) ? FUNCTION(__VA_ARGS__) : (void)0)
#define SHI_TSAN_IS_HERE (__tsan_release != NULL)
#endif

extern char shi_tsan_order; /* only its address is used */

static inline void shi_tsan_acquire(void)
{
    SHI_TSAN_CALL(__tsan_acquire, &shi_tsan_order);
}

static inline void shi_tsan_release(void)
{
    SHI_TSAN_CALL(__tsan_release, &shi_tsan_order);
}

static inline int shi_tsan_ignore(int reads)
{
    if (reads)
        SHI_TSAN_CALL(AnnotateIgnoreReadsBegin, __FILE__, __LINE__);
    SHI_TSAN_CALL(AnnotateIgnoreWritesBegin, __FILE__, __LINE__);
    return reads;
}

static inline void shi_tsan_ignore_end(const int *reads)
{
    SHI_TSAN_CALL(AnnotateIgnoreWritesEnd, __FILE__, __LINE__);
    if (*reads)
        SHI_TSAN_CALL(AnnotateIgnoreReadsEnd, __FILE__, __LINE__);
}

/* In the rest of the scope the thread's accesses are others': of those whose messages it handles; or its writes are, to memory of which
 * the other end decides when it may be read. */
#define SHI_TSAN_IGNORED SHI_TSAN_IGNORED_(1)
#define SHI_TSAN_WRITES_IGNORED SHI_TSAN_IGNORED_(0)
#define SHI_TSAN_IGNORED_(READS) int ignored_ __attribute__((cleanup(shi_tsan_ignore_end), unused)) = shi_tsan_ignore(READS)

#endif
