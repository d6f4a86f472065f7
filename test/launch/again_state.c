/*
 * again_state.c - the library's variables after a process has left its job are as before its first shmem_init, but for those in `kept`.
 *
 * Two processes are in one job, do every kind of operation, leave the job (shi_world_leave, as shmemx_init_attr does before it joins another one),
 * and compare each variable that the symbol table of libfulmar.so names, of this thread too, with what it was.
 *
 * Catches: a variable that still describes the old job, in any file of the library: a table of the old size, an epoch, a pointer to memory that is
 * gone. A variable whose life is the process's needs a line here, with the reason.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "again.h"

/* Function statics have a number behind their name (gcc), or their function's name before it (clang). */
static const struct {
    const char *file, *name, *why; /* file "": the variable is not static */
} kept[] = {
    /* of the process, whatever job it is in */
    {"", "shi_copy_cache_bytes", "the processor's caches"},
    {"statics.c", "range", "the executable's layout"},
    {"statics.c", "segment", "the same"},
    {"statics.c", "n_segments", "the same"},
    {"statics.c", "constants", "the same"},
    {"statics.c", "n_constants", "the same"},
    {"statics.c", "relro_file_bytes", "the same"},
    {"statics.c", "handles_forks", "pthread_atfork cannot be undone"},
    {"init.c", "has_handlers", "nor can on_exit"},
    {"uid_tree.c", "registered", "pthread_atfork"},
    {"state.c", "id", "this thread's number"},
    {"team.c", "pool", "handles of destroyed teams are recognised"},
    {"ctx.c", "pool", "handles of destroyed contexts are recognised"},
    {"stats.c", "round", "files of later jobs have other names; the PEs agree on them"},
    {"log.c", "log_lines", "compared with what it was when shmem_init began"},
    {"progress.c", "polls", "only has to differ after a while"},
    {"ctx.c", "made", "with which endpoint the next context begins"},
    {"trace.c", "threads", "numbers of threads in traces"},
    {"trace.c", "own", "this thread's"},
    /* libraries that stay loaded */
    {"", "shi_ofi", "libfabric"},
    {"ofi_absent.c", "fd", "the file of a library that dlopen has been given"},
    {"ofi_select.c", "has_rdma", "this host's hardware"},
    {"ofi_memory.c", "words", "random numbers that have served no key"},
    {"ofi_memory.c", "n", "how many there are"},
    {"", "shi_ze", "the Level Zero loader"},
    {"", "shi_device", "the last kind of device"},
    {"select.c", "said", "a warning about this host is written once"},
    {"ze.c", "found", "this host's devices"},
    {"ze.c", "n_found", "the same"},
    {"ze.c", "opened", "which driver is open"},
    /* set by the next job before anything reads them */
    {"added.c", "one", "where bytes is 0, the rest"},
    {"boot_uid.c", "job", "by derive"},
    {"boot_uid.c", "phase", "text of a phase"},
    {"net_shm.c", "phase", "text and argument of a phase"},
    {"startup.c", "phase", "by shi_startup_up, where `active` is 0 again, like the rest of the file"},
    {"startup.c", "deadline", "the same"},
    {"startup.c", "limit_s", "the same"},
    {"startup.c", "watcher", "the same"},
    {"startup.c", "changed", "the same: a condition variable that was destroyed"},
    {"uid_tree.c", "changed", "by start: likewise"},
    {"uid_accept.c", "s", "by shi_uid_accept_up"},
    {"state.c", "main_thread", "by shi_set_main_thread"},
    {"span.c", "on_end", "by shi_stats_up, to the same function"},
    {"", "shi_counts", "by shi_stats_up"},
    {"rma.c", "with_signal", "by the next put with signal; began_ns is 0"},
    {"stats_text.c", "of", "by shi_stats_gather"},
    {"trace_arrows.c", "sorted", "by each sort"},
    {"gpc_run.c", "threads", "by shi_gpc_run_up; the list is empty, and a condition variable counts its waits"},
    {"am_remote.c", "carrier", "by shi_am_remote_up"},
    {"stream_up.c", "source", "by shi_stream_serve"},
    {"device_heap.c", "how", "by describe"},
    {"device_heap.c", "copier", "by describe"},
    {"ze.c", "context", "by the next shi_device_take, like the next four"},
    {"ze.c", "copies", "the same"},
    {"ze.c", "device", "the same"},
    {"ze.c", "taken", "the same"},
    {"ze.c", "ask_stalled", "the same"},
    {"ze_launch.c", "used", "the same"},
    {"ze_launch.c", "kernels", "the same"},
    {"ze_launch.c", "argument_bytes", "the same"},
};

static struct map {
    char *file;
    size_t bytes;
    uintptr_t base;
    char *tls;
    const ElfW(Sym) *symbols;
    size_t n;
    const char *strings;
    char *before;
} lib;

static int find(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libfulmar.so"))
        return 0;
    snprintf(path, 4096, "%s", info->dlpi_name);
    lib.base = info->dlpi_addr;
    lib.tls = info->dlpi_tls_data;
    return 1;
}

static int load(void)
{
    char path[4096];
    struct stat st;
    int fd = dl_iterate_phdr(find, path) ? open(path, O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st))
        return 1;
    lib.bytes = (size_t)st.st_size;
    lib.file = mmap(NULL, lib.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const ElfW(Ehdr) *e = (void *)lib.file;
    const ElfW(Shdr) *s = (void *)(lib.file + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++)
        if (s[i].sh_type == SHT_SYMTAB) {
            lib.symbols = (void *)(lib.file + s[i].sh_offset);
            lib.n = s[i].sh_size / sizeof *lib.symbols;
            lib.strings = lib.file + s[s[i].sh_link].sh_offset;
        }
    return lib.n == 0; /* stripped */
}

/* The variable's address, or NULL: none, or one that cannot change. */
static const char *address(const ElfW(Sym) *y)
{
    const ElfW(Ehdr) *e = (void *)lib.file;
    const ElfW(Shdr) *s = (void *)(lib.file + e->e_shoff);
    int type = ELF64_ST_TYPE(y->st_info);
    if (y->st_shndx == SHN_UNDEF || y->st_shndx >= e->e_shnum || !y->st_size || (type != STT_OBJECT && type != STT_TLS))
        return NULL;
    if (!(s[y->st_shndx].sh_flags & SHF_WRITE))
        return NULL;
    if (type == STT_TLS)
        return lib.tls ? lib.tls + y->st_value : NULL;
    return (const char *)lib.base + y->st_value;
}

static size_t total(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < lib.n; i++)
        bytes += address(&lib.symbols[i]) ? lib.symbols[i].st_size : 0;
    return bytes;
}

static int is_kept(const char *file, const char *name)
{
    const char *dot = strchr(name, '.');
    size_t n = dot ? (size_t)(dot - name) : strlen(name);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(file, kept[i].file) == 0 &&
            ((strlen(kept[i].name) == n && memcmp(kept[i].name, name, n) == 0) || (dot && strcmp(dot + 1, kept[i].name) == 0)))
            return 1;
    return 0;
}

/* Names of files are those of the local symbols that follow them; global ones have none. */
static int compare(void)
{
    const char *file = "", *was = lib.before;
    int bad = 0, n = 0;
    for (size_t i = 0; i < lib.n; i++) {
        const ElfW(Sym) *y = &lib.symbols[i];
        const char *name = lib.strings + y->st_name, *at = address(y);
        if (ELF64_ST_TYPE(y->st_info) == STT_FILE)
            file = name;
        if (!at)
            continue;
        n++;
        const char *of = ELF64_ST_BIND(y->st_info) == STB_LOCAL ? file : "";
        if (memcmp(at, was, y->st_size) != 0 && !is_kept(of, name) && ++bad)
            fprintf(stderr, "%s %s has not the value of before the job\n", of, name);
        was += y->st_size;
    }
    printf("%d variables, %d differ\n", n, bad);
    return bad != 0 || n < 300;
}

static void (*leave(void))(void)
{
    for (size_t i = 0; i < lib.n; i++)
        if (strcmp(lib.strings + lib.symbols[i].st_name, "shi_world_leave") == 0)
            return (void (*)(void))(lib.base + lib.symbols[i].st_value);
    return NULL;
}

static void device_work(int me, int n)
{
    long *dev = shmemg_malloc(sizeof *dev), x = me;
    if (!dev)
        return;
    shmem_long_put(dev, &x, 1, (me + 1) % n);
    shmem_barrier_all();
    shmemg_free(dev);
}

int main(void)
{
    struct shared {
        shmemx_uniqueid_t id;
        int ready;
    } *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int me = fork() == 0, status = 0;
    shmemx_init_attr_t attr;
    if (load()) {
        fprintf(stderr, "libfulmar.so has no symbol table\n");
        return 99;
    }
    char *to = lib.before = malloc(total());
    for (size_t i = 0; i < lib.n; i++)
        if (address(&lib.symbols[i])) {
            memcpy(to, address(&lib.symbols[i]), lib.symbols[i].st_size);
            to += lib.symbols[i].st_size;
        }
    if (me == 0) {
        if (shmemx_get_uniqueid(&shared->id))
            return 99;
        __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
        usleep(100);
    shmemx_set_attr_uniqueid_args(me, 2, &shared->id, &attr);
    if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr))
        return 99;
    int bad = again_work(me, 2, 10);
    if (getenv("SHMEM_DEVICE"))
        device_work(me, 2);
    shmem_finalize();
    shmem_init();
    bad |= again_work(me, 2, 11);
    shmem_finalize();
    leave()();
    bad |= compare();
    if (me == 0)
        wait(&status);
    return bad || status;
}
