/*
 * boot.c - the library's bootstrap without the rest of the library: rank, host and node, and an exchange of a few KB.
 *
 * Every PE prints "PE 1 of 4 on h1, node 0 1, 0 wrong". With an argument FOLDER it continues after the fence only when
 * FOLDER/go exists; the files FOLDER/fenced.PE and found.PE show its progress. The test stops the other host's daemons
 * meanwhile.
 */
#include "host/boot/boot.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES = 4096 };

static struct shi_boot boot;

static void fill(unsigned char *record, int pe)
{
    for (int i = 0; i < RECORD_BYTES; i++)
        record[i] = (unsigned char)(pe * 7 + i * 13 + (i >> 8));
}

static int wrong_records(void)
{
    unsigned char record[RECORD_BYTES], want[RECORD_BYTES];
    int wrong = 0;

    for (int pe = 0; pe < boot.n_pes; pe++) {
        fill(want, pe);
        memset(record, 0, sizeof record);
        wrong += boot.ops->lookup(pe, "test.record", record, sizeof record) || memcmp(record, want, sizeof record);
    }
    return wrong;
}

static void mark(const char *folder, const char *what)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.%d", folder, what, boot.pe);
    if ((f = fopen(path, "w")))
        fclose(f);
}

static void wait_for_go(const char *folder)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/go", folder);
    for (int i = 0; i < 1500 && access(path, F_OK); i++)
        usleep(10000);
}

static void print(int wrong)
{
    char line[4096], host[64] = "";
    int n;

    gethostname(host, sizeof host - 1);
    n = sprintf(line, "PE %d of %d on %s, node", boot.pe, boot.n_pes, host);
    for (int i = 0; i < boot.n_local; i++)
        n += sprintf(line + n, " %d", boot.local_pe[i]);
    printf("%s, %d wrong\n", line, wrong);
}

int main(int argc, char **argv)
{
    unsigned char record[RECORD_BYTES];

    if (shi_boot_up(0, 0, &boot))
        return 1;
    fill(record, boot.pe);
    if (boot.ops->publish("test.record", record, sizeof record) || boot.ops->fence())
        return 1;
    if (argc > 1) {
        mark(argv[1], "fenced");
        wait_for_go(argv[1]);
    }
    int wrong = wrong_records();
    if (argc > 1 && !wrong)
        mark(argv[1], "found");
    print(wrong);
    if (boot.ops->fence())
        return 1;
    boot.ops->down();
    return wrong != 0;
}
