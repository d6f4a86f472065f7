/*
 * heat_survive.c - the heat equation on a square, in rows of PEs, of which some may die: oshrun --survive -n 4 ./heat_survive [STEPS [PE STEP]...]
 *
 * Every 20 steps each PE copies its rows to the next PE. When a PE has died, the others agree, go back to the last copies, and share all rows
 * among them. PE and STEP: this PE ends itself at this step, to show it. The first PE compares the end with a computation of its own.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 96, EVERY = 20, MOST_PES = 64 };
typedef double square[N][N];

static square now[2], copies[2]; /* symmetric: each PE has its own rows, and those that others have put there */

/* Which PEs have which rows: member i the i-th part. */
static struct layout {
    int n, pe[MOST_PES];
} kept; /* of the last copies, */
static int kept_in = -1, kept_step; /* which are in copies[kept_in] */

static shmem_team_t team = SHMEM_TEAM_WORLD;

static int first_row(int member, int n)
{
    return N * member / n;
}

static struct layout layout(void)
{
    struct layout l = {.n = shmem_team_n_pes(team)};
    for (int i = 0; i < l.n; i++)
        l.pe[i] = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
    return l;
}

static void start(square u)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            u[i][j] = i == 0 ? 100 : j == 0 ? 50 : (i * 7 + j * 3) % 11;
}

static void step_rows(square to, square from, int lo, int hi)
{
    for (int i = lo; i < hi; i++)
        for (int j = 0; j < N; j++)
            to[i][j] = i == 0 || i == N - 1 || j == 0 || j == N - 1
                           ? from[i][j]
                           : from[i][j] + 0.2 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1] - 4 * from[i][j]);
}

static void put_rows(square dest, square source, int lo, int hi, int pe)
{
    shmem_double_put(dest[lo], source[lo], (size_t)(hi - lo) * N, pe);
}

/* How a step ended: well; a PE has failed, as all members know; or as this one has found, while others may wait for it. */
enum outcome { WELL, ALL_KNOW, MET };

/* One step of all members. */
static enum outcome compute(int step)
{
    struct layout l = layout();
    int me = shmem_team_my_pe(team), lo = first_row(me, l.n), hi = first_row(me + 1, l.n);
    double(*u)[N] = now[step % 2];
    if (me > 0)
        put_rows(u, u, lo, lo + 1, l.pe[me - 1]);
    if (me < l.n - 1)
        put_rows(u, u, hi - 1, hi, l.pe[me + 1]);
    shmem_quiet();
    int err = shmem_team_sync(team);
    if (!err)
        step_rows(now[(step + 1) % 2], u, lo, hi);
    return err ? MET : WELL;
}

/* All members come here; 1: none has failed, and none has met a failure. */
static int all_well(uint64_t well)
{
    return shmemx_agree(team, &well, NULL, 0) == 0 && well;
}

/* Copy this PE's rows to the next one. The copies count once all agree that they are there. */
static enum outcome copy(int step)
{
    struct layout l = layout();
    int me = shmem_team_my_pe(team), lo = first_row(me, l.n), hi = first_row(me + 1, l.n), to = kept_in == 0;
    memcpy(copies[to][lo], now[step % 2][lo], sizeof(double) * N * (size_t)(hi - lo));
    put_rows(copies[to], copies[to], lo, hi, l.pe[(me + 1) % l.n]);
    shmem_quiet();
    if (!all_well(1))
        return ALL_KNOW;
    kept = l;
    kept_in = to;
    kept_step = step;
    return WELL;
}

static int lives(int pe)
{
    return shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) >= 0;
}

/* A team of those that live, which share the rows of the last copies. */
static void recover(void)
{
    do {
        shmem_team_t living;
        if (shmemx_team_shrink(team, &living) != 0)
            shmem_global_exit(1);
        team = living;
        struct layout l = layout();
        for (int i = 0; i < kept.n; i++) {
            int next = kept.pe[(i + 1) % kept.n], holder = lives(kept.pe[i]) ? kept.pe[i] : next;
            if (!lives(holder)) {
                fprintf(stderr, "the rows of PE %d and their copy are lost\n", kept.pe[i]);
                shmem_global_exit(1);
            }
            for (int k = 0; holder == shmem_my_pe() && k < l.n; k++) {
                int lo = first_row(i, kept.n), hi = first_row(i + 1, kept.n);
                lo = lo > first_row(k, l.n) ? lo : first_row(k, l.n);
                hi = hi < first_row(k + 1, l.n) ? hi : first_row(k + 1, l.n);
                if (lo < hi)
                    put_rows(now[kept_step % 2], copies[kept_in], lo, hi, l.pe[k]);
            }
        }
        shmem_quiet();
    } while (!all_well(1));
}

/* Collect the rows at the first member, which compares them. */
static enum outcome check(int steps)
{
    static square expected[2];
    struct layout l = layout();
    int me = shmem_team_my_pe(team);
    put_rows(copies[!kept_in], now[steps % 2], first_row(me, l.n), first_row(me + 1, l.n), l.pe[0]);
    shmem_quiet();
    if (!all_well(1))
        return ALL_KNOW;
    start(expected[0]);
    for (int s = 0; me == 0 && s < steps; s++)
        step_rows(expected[(s + 1) % 2], expected[s % 2], 0, N);
    if (me == 0)
        printf("%s with %d of %d PEs\n", memcmp(copies[!kept_in], expected[steps % 2], sizeof(square)) ? "wrong" : "right", l.n, shmem_n_pes());
    return WELL;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 200, step = 0;
    shmem_init();
    start(now[0]);
    if (shmem_n_pes() > MOST_PES || copy(0) != WELL)
        shmem_global_exit(1);
    while (step <= steps) {
        for (int i = 2; i + 1 < argc; i += 2)
            if (shmem_my_pe() == atoi(argv[i]) && step == atoi(argv[i + 1]))
                raise(SIGKILL);
        enum outcome is = step == steps ? check(steps) : step > kept_step && step % EVERY == 0 ? copy(step) : WELL;
        if (is == WELL && step < steps)
            is = compute(step);
        if (is == WELL) {
            step++;
            continue;
        }
        if (is == MET) {
            shmemx_team_revoke(team);
            all_well(0);
        }
        recover();
        step = kept_step;
    }
    shmem_finalize();
    return 0;
}
