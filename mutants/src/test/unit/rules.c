/* rules.c - the schedule that the rules give a collective: built-in ones, and those of SHMEM_COLLECTIVES. */
#include "host/coll/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"

static char why[512];

static enum shi_algorithm choose(enum shi_collective of, int nodes, int pes, size_t bytes)
{
    return shi_rules_choose(of, &(const struct shi_shape){nodes, pes, nodes}, bytes, 0);
}

/* Catches: a collective, length or number of nodes without a rule; a limit of a built-in rule that does not hold. */
static void built_in(void)
{
    static const size_t lengths[] = {1, 8, 16, 17, 64, 2048, 2049, 4096, 8192, 65536, 65537, 1 << 20, 1 << 30};
    int ended[SHI_COLLECTIVES_N] = {0}, wrong = 0;
    for (int i = 0; shi_rules_at(i); i++) {
        const struct shi_rule *r = shi_rules_at(i);
        ended[r->of] = !r->nodes.least && !r->nodes.most && !r->pes.most && !r->bytes.most && !r->most_total;
    }
    for (int of = 0; of < SHI_COLLECTIVES_N; of++)
        wrong += !ended[of]; /* the last rule takes everything */
    for (int ranks = 2; ranks < 2000; ranks += 1 + ranks / 9)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            enum shi_algorithm way = choose(SHI_COLL_REDUCE, ranks, 1, lengths[k]);
            wrong += way == SHI_BY_GATHER ? lengths[k] * (size_t)ranks > 8192 : way == SHI_BY_PIECES && ranks > 4;
        }
    CHECK(wrong == 0);
    CHECK(choose(SHI_COLL_BROADCAST, 2, 1, 1 << 20) == SHI_BY_TREE && choose(SHI_COLL_BROADCAST, 3, 1, 65536) == SHI_BY_TREE);
    CHECK(choose(SHI_COLL_REDUCE, 2, 1, 8192) == SHI_BY_DOUBLING && choose(SHI_COLL_REDUCE, 2, 1, 8193) == SHI_BY_PIECES);
    CHECK(choose(SHI_COLL_REDUCE, 5, 8, 8192) == SHI_BY_DOUBLING && choose(SHI_COLL_REDUCE, 5, 9, 2049) == SHI_BY_HALVING);
    CHECK(choose(SHI_COLL_ALLTOALL, 2, 1, 2048) == SHI_BY_INDEX && choose(SHI_COLL_ALLTOALL, 2, 1, 2049) == SHI_BY_PAIRWISE);
    CHECK(choose(SHI_COLL_ALLTOALL, 2, 2, 128) == SHI_BY_INDEX && choose(SHI_COLL_ALLTOALL, 2, 2, 129) == SHI_BY_NODES);
    CHECK(choose(SHI_COLL_ALLTOALL, 9, 2, 65536) == SHI_BY_NODES && choose(SHI_COLL_ALLTOALL, 9, 2, 65537) == SHI_BY_PAIRWISE);
    CHECK(choose(SHI_COLL_BROADCAST, 3, 1, 65537) == SHI_BY_SCATTER_GATHER && choose(SHI_COLL_SCAN, 9, 1, 1024) == SHI_BY_NODES);
}

/* Catches: a limit that is read as another one, that is off by one, or that is not applied; a rule taken for another
 * collective; rules taken in another order; a schedule that the caller excluded. */
static void given(void)
{
    const char *four = "reduce:2-4:*:-4K:doubling, reduce 2-4 3- 4097-8K halving,alltoall:*:*:*:pairwise,reduce:7:*:*:gather";
    CHECK(shi_rules_read(four, why, sizeof why) == 0);
    CHECK(shi_rules_given() == 4);
    CHECK(choose(SHI_COLL_REDUCE, 2, 1, 8) == SHI_BY_DOUBLING && choose(SHI_COLL_REDUCE, 4, 9, 4096) == SHI_BY_DOUBLING);
    CHECK(choose(SHI_COLL_REDUCE, 5, 1, 8) == SHI_BY_GATHER && choose(SHI_COLL_REDUCE, 4, 3, 4097) == SHI_BY_HALVING);
    CHECK(choose(SHI_COLL_REDUCE, 2, 2, 4097) == SHI_BY_DOUBLING); /* built-in: too few PEs for the second rule */
    CHECK(choose(SHI_COLL_REDUCE, 4, 3, 8193) == SHI_BY_PIECES && choose(SHI_COLL_REDUCE, 6, 3, 8193) == SHI_BY_HALVING);
    CHECK(choose(SHI_COLL_REDUCE, 7, 1, 1 << 20) == SHI_BY_GATHER && choose(SHI_COLL_ALLTOALL, 2, 1, 8) == SHI_BY_PAIRWISE);
    CHECK(choose(SHI_COLL_BROADCAST, 3, 1, 8) == SHI_BY_TREE);
    CHECK(choose(SHI_COLL_ALLTOALL, 1, 8, 8) == SHI_BY_INDEX); /* one node: built-in */
    const struct shi_shape seven = {7, 1, 7}, two = {2, 1, 2};
    CHECK(shi_rules_choose(SHI_COLL_REDUCE, &seven, 1 << 20, 1 << SHI_BY_GATHER) == SHI_BY_HALVING);
    CHECK(shi_rules_choose(SHI_COLL_REDUCE, &two, 8, 1 << SHI_BY_DOUBLING | 1 << SHI_BY_GATHER) == SHI_BY_PIECES);
}

/* Catches: bad input that is taken, partly taken, or reported without the word that is wrong. */
static void refused(void)
{
    static const struct {
        const char *value, *names;
    } bad[] = {{"reduce", "5 words"}, {"reduce:*:*:*", "5 words"}, {"reduce:*:*:*:gather:", NULL},
               {"reduce:*:*:*:gather:x", "5 words"}, {"sum:*:*:*:gather", "\"sum\""}, {"reduce:0:*:*:gather", "\"0\" is no number of nodes"},
               {"reduce:4-2:*:*:gather", "\"4-2\""}, {"reduce:*:-:*:gather", "PEs a node"}, {"reduce:*:*:x:gather", "\"x\""},
               {"reduce:*:*:1-2-3:gather", "bytes"}, {"reduce:*:*:*:tree", "no schedule of reduce: give gather doubling"},
               {"broadcast:*:*:*:tree,scan:*:*:*:", "5 words"}, {"scan:*:*:*:nothing", "\"nothing\""},
               {"/nonexistent/f", "No such file"}, {"/", "directory"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int err = shi_rules_read(bad[i].value, why, sizeof why);
        CHECKF(bad[i].names ? err == -EINVAL && strstr(why, bad[i].names) && !strchr(why, '\n') && !shi_rules_given() : !err,
               "\"%s\": %d, %s", bad[i].value, err, why);
    }
    char many[257 * 24] = "";
    for (int i = 0; i < 257; i++)
        strcat(many, "scan:*:*:*:read,");
    CHECK(shi_rules_read(many, why, sizeof why) == -EINVAL && strstr(why, "more than 256"));
}

/* Catches: a file whose comments are taken for rules, whose last line is lost, or whose wrong line is not named. */
static void files(void)
{
    char name[] = "/tmp/rules.XXXXXX";
    int fd = mkstemp(name);
    const char text[] = "# collective nodes PEs bytes schedule\n\nreduce 2 * * halving # two\nscan\t*\t*\t64-\tread";
    CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    CHECK(shi_rules_read(name, why, sizeof why) == 0 && shi_rules_given() == 2);
    CHECK(choose(SHI_COLL_REDUCE, 2, 1, 8) == SHI_BY_HALVING && choose(SHI_COLL_SCAN, 2, 1, 64) == SHI_BY_READ);
    uint64_t of_file = shi_rules_digest();
    CHECK(write(fd, "\nscan * * * doubling\n", 21) == 21);
    CHECK(shi_rules_read(name, why, sizeof why) == -EINVAL && strstr(why, "line 5"));
    CHECK(shi_rules_read("reduce:2:*:*:halving,scan:*:*:64-:read", why, sizeof why) == 0 && shi_rules_digest() == of_file);
    CHECK(shi_rules_read("reduce:2:*:*:halving,scan:*:*:-64:read", why, sizeof why) == 0 && shi_rules_digest() != of_file);
    CHECK(shi_rules_read("scan:*:*:64-:read,reduce:2:*:*:halving", why, sizeof why) == 0 && shi_rules_digest() != of_file);
    CHECK(shi_rules_read("", why, sizeof why) == 0 && shi_rules_digest() == 0);
    close(fd);
    unlink(name);
}

int main(void)
{
    RUN(built_in, "each collective has a schedule for every length and number of nodes");
    RUN(given, "rules of SHMEM_COLLECTIVES come first, within their limits");
    RUN(refused, "a wrong rule is refused, and named");
    RUN(files, "a file of rules; equal rules have equal digests");
    return tap_end();
}
