/* reach.c - by which way memory of other PEs is reached (shmemx_pe_reach), and which PEs of a team share a node, against shmem_ptr. */
#include "../tap_pes.h"

#include <shmemx.h>

#ifndef PRIVATE_MEMORY
#define PRIVATE_MEMORY 0
#endif

enum { MAX_PES = 64, NEAREST = 10, DEVICE_FROM = 1000, NETWORK_FROM = 2000 };

static long word, nodes_of[MAX_PES];

/* Host memory, which every PE of the world has. */
static void check_host(const char *what, const void *addr)
{
    shmemx_reach_t r;
    for (int pe = 0; pe < n_pes; pe++) {
        int near = shmem_ptr(addr, pe) != NULL;
        CHECKF(shmemx_pe_reach(addr, pe, &r) == 0 && r.memory == SHMEMX_MEMORY_HOST && r.kernels == SHMEMX_REACH_NONE, "%s of PE %d", what, pe);
        CHECKF((r.how == SHMEMX_REACH_LOAD_STORE) == near && (near || r.how == SHMEMX_REACH_NETWORK || r.how == SHMEMX_REACH_MESSAGES),
               "%s of PE %d: by %d", what, pe, r.how);
        CHECKF(pe == me ? r.distance == 0 : near ? r.distance >= NEAREST && r.distance < DEVICE_FROM : r.distance >= NETWORK_FROM,
               "%s of PE %d: distance %d", what, pe, r.distance);
    }
}

/* Catches: a way that shmem_ptr contradicts; an order in which another node is nearer than this one. */
static void test_host(void)
{
    shmemx_space_t s;
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_HOST, .size = 4096};
    check_host("static data", &word);
    char *block = shmem_malloc(64);
    check_host("heap", block + 63);
    shmem_free(block);
    CHECK(shmemx_space_create(SHMEM_TEAM_WORLD, &c, &s) == 0);
    check_host("space", shmemx_space_malloc(s, 64));
    CHECK(shmemx_space_destroy(s) == 0);
}

/* Catches: an answer for an address that is not symmetric there. */
static void test_none(void)
{
    shmemx_reach_t r;
    int local = 0;
    shmem_team_t first;
    shmemx_space_t s = SHMEMX_SPACE_INVALID;
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_HOST, .size = 4096};
    CHECK(shmemx_pe_reach(&local, me, &r) == -1 && r.how == SHMEMX_REACH_NONE);
    CHECK(shmemx_pe_reach(NULL, me, &r) == -1);
    CHECK(shmemx_pe_reach(&word, -1, &r) == -1 && shmemx_pe_reach(&word, n_pes, &r) == -1);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, (n_pes + 1) / 2, NULL, 0, &first);
    if (first != SHMEM_TEAM_INVALID) {
        CHECK(shmemx_space_create(first, &c, &s) == 0);
        void *at = shmemx_space_malloc(s, 64);
        for (int pe = 0; pe < n_pes; pe++)
            CHECKF((shmemx_pe_reach(at, pe, &r) == 0) == (pe < (n_pes + 1) / 2), "PE %d and a space that it %s", pe,
                   pe < (n_pes + 1) / 2 ? "has" : "does not have");
        CHECK(shmemx_space_destroy(s) == 0);
        shmem_team_destroy(first);
    }
    shmem_barrier_all();
}

/* Catches: device memory that passes for the host's; loads and stores of kernels where the network is between. */
static void test_device(void)
{
    shmemx_space_t s = SHMEMX_SPACE_INVALID;
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_DEVICE, .size = 4096};
    char *heap = shmemg_malloc(64);
    CHECK(heap && shmemx_space_create(SHMEM_TEAM_WORLD, &c, &s) == 0);
    char *block[2] = {heap, shmemx_space_malloc(s, 64)};
    for (int k = 0; k < 2; k++)
        for (int pe = 0; pe < n_pes; pe++) {
            shmemx_reach_t r;
            int near = shmem_ptr(&word, pe) != NULL, loads = near && !PRIVATE_MEMORY;
            CHECK(shmemx_pe_reach(block[k], pe, &r) == 0 && r.memory == SHMEMX_MEMORY_DEVICE);
            CHECKF(r.how == (loads  ? SHMEMX_REACH_LOAD_STORE
                             : near ? SHMEMX_REACH_DEVICE
                                    : r.how == SHMEMX_REACH_NETWORK ? SHMEMX_REACH_NETWORK
                                                                    : SHMEMX_REACH_MESSAGES),
                   "memory %d of PE %d: by %d", k, pe, r.how);
            CHECKF((r.kernels == SHMEMX_REACH_LOAD_STORE) == near, "memory %d of PE %d: kernels by %d", k, pe, r.kernels);
            CHECKF(near == (r.distance < NETWORK_FROM) && (loads || r.distance >= DEVICE_FROM), "distance %d", r.distance);
        }
    CHECK(shmemx_space_destroy(s) == 0);
    shmemg_free(heap);
}

/* The nodes of a team: its PEs in ascending order, each once, together with those of the world on the same node. */
static void check_nodes(shmem_team_t team)
{
    int world[MAX_PES], pes[MAX_PES], n = shmem_team_n_pes(team), seen = 0;
    shmemx_team_translate_pes(team, NULL, n, SHMEM_TEAM_WORLD, world);
    for (int k = 0; k < shmemx_team_n_nodes(team); k++) {
        int on = shmemx_team_node_pes(team, k, pes);
        CHECK(on > 0 && on == shmemx_team_node_pes(team, k, NULL));
        for (int i = 0; i < on; i++, seen++) {
            CHECKF(pes[i] >= 0 && pes[i] < n && (i == 0 || pes[i] > pes[i - 1]) && shmemx_team_node(team, pes[i]) == k, "node %d", k);
            CHECKF(nodes_of[world[pes[i]]] == nodes_of[world[pes[0]]], "PEs %d and %d of the team", pes[i], pes[0]);
        }
    }
    CHECKF(seen == n, "%d PEs on nodes, %d in the team", seen, n);
    CHECK(shmemx_team_node(team, n) == -1 && shmemx_team_node(team, -1) == -1 && shmemx_team_node_pes(team, -1, pes) == 0);
    for (int i = 0; i < n; i++)
        CHECKF((shmemx_team_node(team, i) == shmemx_team_node(team, shmem_team_my_pe(team))) == (shmem_ptr(&word, world[i]) != NULL),
               "PE %d", world[i]);
}

/* Catches: nodes of the world where those of the team are meant; a PE that is missing. */
static void test_nodes(void)
{
    static long first;
    shmem_team_t team;
    first = n_pes;
    for (int pe = n_pes; pe-- > 0;)
        first = shmem_ptr(&word, pe) ? pe : first; /* a name of the node */
    shmem_long_fcollect(SHMEM_TEAM_WORLD, nodes_of, &first, 1);
    check_nodes(SHMEM_TEAM_WORLD);
    check_nodes(SHMEM_TEAM_SHARED);
    CHECK(shmemx_team_n_nodes(SHMEM_TEAM_SHARED) == 1);
    shmemx_team_split_color(SHMEM_TEAM_WORLD, me % 2, -me, NULL, 0, &team);
    check_nodes(team);
    shmem_team_sync(team);
    shmem_team_destroy(team);
    CHECK(shmemx_team_n_nodes(SHMEM_TEAM_INVALID) == -1 && shmemx_team_node(SHMEM_TEAM_INVALID, 0) == -1);
}

int main(void)
{
    setenv("SHMEM_DEVICE", "cpu", 0);
    if (PRIVATE_MEMORY)
        setenv("ZE_CPU_PRIVATE", "1", 1);
    shmem_init();
    tap_pes_begin();
    RUN(test_host, "memory of the host");
    RUN(test_none, "addresses that are not symmetric there");
    RUN(test_device, "memory of the device");
    RUN(test_nodes, "the nodes of teams");
    shmem_finalize();
    return tap_end();
}
