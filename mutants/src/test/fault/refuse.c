/*
 * refuse.c - a library for LD_PRELOAD: in the PE $REFUSE_PE the call number $REFUSE_CALL of libfulmar for memory, a file or a
 * thread fails, and its name is written to the file $REFUSE_FILE. Calls of other code are not counted. For glibc.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

static uintptr_t code, code_end; /* of libfulmar; 0: refuse nothing */
static long chosen, calls;

static int find_code(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    (void)arg;
    for (int i = 0; strstr(info->dlpi_name, "/libfulmar.so") && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        code = info->dlpi_addr + p->p_vaddr;
        code_end = code + p->p_memsz;
    }
    return 0;
}

__attribute__((constructor)) static void up(void)
{
    const char *call = getenv("REFUSE_CALL"), *pe = getenv("REFUSE_PE"), *me = getenv("PMIX_RANK");
    if (!call || !pe || !me || strcmp(pe, me))
        return;
    chosen = atol(call);
    dl_iterate_phdr(find_code, NULL);
}

static int refuse(uintptr_t caller, const char *name)
{
    if (caller < code || caller >= code_end || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != chosen)
        return 0;
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    int fd = next(getenv("REFUSE_FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, name, strlen(name)) < 0)
        abort();
    close(fd);
    return 1;
}

EXPORT void *malloc(size_t bytes)
{
    return refuse(CALLER, "malloc") ? (errno = ENOMEM, NULL) : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes)
{
    return refuse(CALLER, "calloc") ? (errno = ENOMEM, NULL) : __libc_calloc(n, bytes);
}

EXPORT void *realloc(void *p, size_t bytes)
{
    return refuse(CALLER, "realloc") ? (errno = ENOMEM, NULL) : __libc_realloc(p, bytes);
}

/* A function whose failure is `failed` with errno `why`. */
#define REFUSABLE(type, name, params, args, failed, why)                                                             \
    EXPORT type name params                                                                                          \
    {                                                                                                                \
        type(*next) params = (type(*) params)dlsym(RTLD_NEXT, #name);                                                \
        return refuse(CALLER, #name) ? (errno = (why), (failed)) : next args;                                        \
    }
REFUSABLE(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes), NULL, ENOMEM)
REFUSABLE(int, posix_memalign, (void **p, size_t align, size_t bytes), (p, align, bytes), ENOMEM, ENOMEM)
REFUSABLE(char *, strdup, (const char *s), (s), NULL, ENOMEM)
REFUSABLE(void *, mmap, (void *p, size_t bytes, int prot, int flags, int fd, off_t off),
          (p, bytes, prot, flags, fd, off), MAP_FAILED, ENOMEM)
REFUSABLE(int, mprotect, (void *p, size_t bytes, int prot), (p, bytes, prot), -1, ENOMEM)
REFUSABLE(int, pthread_create, (pthread_t * t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
          (t, attr, fn, arg), EAGAIN, EAGAIN)
REFUSABLE(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE)
REFUSABLE(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
REFUSABLE(int, ftruncate, (int fd, off_t bytes), (fd, bytes), -1, ENOSPC)
REFUSABLE(int, eventfd, (unsigned value, int flags), (value, flags), -1, EMFILE)
REFUSABLE(int, pipe2, (int fd[2], int flags), (fd, flags), -1, EMFILE)
REFUSABLE(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
REFUSABLE(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL, ENOMEM)
REFUSABLE(DIR *, opendir, (const char *path), (path), NULL, EMFILE)
REFUSABLE(void *, dlopen, (const char *path, int flags), (path, flags), NULL, ENOMEM)

EXPORT int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    va_list ap;
    va_start(ap, flags);
    int mode = va_arg(ap, int);
    va_end(ap);
    return refuse(CALLER, "open") ? (errno = EMFILE, -1) : next(path, flags, mode);
}
