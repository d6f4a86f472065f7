/* rules.c - the rules of SHMEM_COLLECTIVES: how they are read, and that they come before the built-in ones. */
#include "host/coll/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"

static char why[512];

static int n_given(void)
{
    int n;
    shi_rules_given(&n);
    return n;
}

static enum shi_schedule choose_without(enum shi_collective of, int nodes, int pes, size_t bytes, unsigned without)
{
    int n;
    const struct shi_rule *given = shi_rules_given(&n);
    return shi_schedule_choose(of, &(const struct shi_schedule_facts){nodes, pes, bytes, without}, given, n);
}

static enum shi_schedule choose(enum shi_collective of, int nodes, int pes, size_t bytes)
{
    return choose_without(of, nodes, pes, bytes, 0);
}

/* Catches: a limit that is read as another one, that is off by one, or that is not applied; a rule taken for another
 * collective; rules taken in another order; a schedule that the caller excluded. */
static void given(void)
{
    const char *four = "reduce:2-4:*:-4K:doubling, reduce 2-4 3- 4097-8K halving,alltoall:*:*:*:pairwise,reduce:7:*:*:halving";
    CHECK(shi_rules_read(four, why, sizeof why) == 0);
    CHECK(n_given() == 4);
    CHECK(choose(SHI_COLL_REDUCE, 2, 1, 8) == SHI_BY_DOUBLING && choose(SHI_COLL_REDUCE, 4, 9, 4096) == SHI_BY_DOUBLING);
    CHECK(choose(SHI_COLL_REDUCE, 4, 3, 4097) == SHI_BY_HALVING && choose(SHI_COLL_REDUCE, 4, 3, 8192) == SHI_BY_HALVING);
    CHECK(choose(SHI_COLL_REDUCE, 2, 2, 4097) == SHI_BY_DOUBLING && choose(SHI_COLL_REDUCE, 5, 3, 4097) == SHI_BY_DOUBLING); /* built-in */
    CHECK(choose(SHI_COLL_REDUCE, 7, 1, 8) == SHI_BY_HALVING && choose(SHI_COLL_ALLTOALL, 2, 1, 8) == SHI_BY_PAIRWISE);
    CHECK(choose(SHI_COLL_BROADCAST, 3, 1, 8) == SHI_BY_TREE);
    CHECK(choose(SHI_COLL_ALLTOALL, 1, 8, 8) == SHI_BY_INDEX); /* one node: built-in */
    CHECK(choose_without(SHI_COLL_REDUCE, 2, 1, 8, 1 << SHI_BY_DOUBLING) == SHI_BY_HALVING);
}

/* Catches: bad input that is taken, partly taken, or reported without the word that is wrong. */
static void refused(void)
{
    static const struct {
        const char *value, *names;
    } bad[] = {{"reduce", "5 words"}, {"reduce:*:*:*", "5 words"}, {"reduce:*:*:*:doubling:", NULL},
               {"reduce:*:*:*:doubling:x", "5 words"}, {"sum:*:*:*:doubling", "\"sum\""}, {"reduce:0:*:*:doubling", "\"0\" is no number of nodes"},
               {"reduce:4-2:*:*:doubling", "\"4-2\""}, {"reduce:*:-:*:doubling", "PEs a node"}, {"reduce:*:*:x:doubling", "\"x\""},
               {"reduce:*:*:1-2-3:doubling", "bytes"}, {"reduce:*:*:*:tree", "no schedule of reduce: give doubling halving"},
               {"broadcast:*:*:*:tree,alltoall:*:*:*:", "5 words"}, {"alltoall:*:*:*:nothing", "\"nothing\""},
               {"/nonexistent/f", "No such file"}, {"/", "directory"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int err = shi_rules_read(bad[i].value, why, sizeof why);
        CHECKF(bad[i].names ? err == -EINVAL && strstr(why, bad[i].names) && !strchr(why, '\n') && !n_given() : !err,
               "\"%s\": %d, %s", bad[i].value, err, why);
    }
    char many[257 * 28] = "";
    for (int i = 0; i < 257; i++)
        strcat(many, "alltoall:*:*:*:index,");
    CHECK(shi_rules_read(many, why, sizeof why) == -EINVAL && strstr(why, "more than 256"));
}

/* Catches: a file whose comments are taken for rules, whose last line is lost, or whose wrong line is not named. */
static void files(void)
{
    char name[] = "/tmp/rules.XXXXXX";
    int fd = mkstemp(name);
    const char text[] = "# collective nodes PEs bytes schedule\n\nreduce 2 * * halving # two\nalltoall\t*\t*\t64-\tpairwise";
    CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    CHECK(shi_rules_read(name, why, sizeof why) == 0 && n_given() == 2);
    CHECK(choose(SHI_COLL_REDUCE, 2, 1, 8) == SHI_BY_HALVING && choose(SHI_COLL_ALLTOALL, 2, 1, 64) == SHI_BY_PAIRWISE);
    uint64_t of_file = shi_rules_digest();
    CHECK(write(fd, "\nalltoall * * * tree\n", 21) == 21);
    CHECK(shi_rules_read(name, why, sizeof why) == -EINVAL && strstr(why, "line 5"));
    CHECK(shi_rules_read("reduce:2:*:*:halving,alltoall:*:*:64-:pairwise", why, sizeof why) == 0 && shi_rules_digest() == of_file);
    CHECK(shi_rules_read("reduce:2:*:*:halving,alltoall:*:*:-64:pairwise", why, sizeof why) == 0 && shi_rules_digest() != of_file);
    CHECK(shi_rules_read("alltoall:*:*:64-:pairwise,reduce:2:*:*:halving", why, sizeof why) == 0 && shi_rules_digest() != of_file);
    CHECK(shi_rules_read("", why, sizeof why) == 0 && shi_rules_digest() == 0);
    close(fd);
    unlink(name);
}

int main(void)
{
    RUN(given, "rules of SHMEM_COLLECTIVES come first, within their limits");
    RUN(refused, "a wrong rule is refused, and named");
    RUN(files, "a file of rules; equal rules have equal digests");
    return tap_end();
}
