/* groups.c - ComEx's groups: a communicator of MPI each, and the members' numbers in the world. */
#if HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdlib.h>

#include "comex_impl.h"

struct group {
    int used, n;
    int *world; /* [n]: the members' numbers in the world */
    MPI_Comm comm; /* MPI_COMM_NULL: this process is no member */
};

static struct group *group; /* group 0 is the world */
static int n_groups;

static struct group *find(comex_group_t id)
{
    if (id < 0 || id >= n_groups || !group[id].used)
        COMEX_DIE("there is no group %d", id);
    return &group[id];
}

static comex_group_t add(MPI_Comm comm, int n, const int *world)
{
    int id = 0;
    while (id < n_groups && group[id].used)
        id++;
    if (id == n_groups && !(group = realloc(group, (size_t)++n_groups * sizeof *group)))
        COMEX_DIE("out of memory");
    group[id] = (struct group){.used = 1, .n = n, .comm = comm, .world = malloc((size_t)n * sizeof *world)};
    if (!group[id].world)
        COMEX_DIE("out of memory");
    for (int i = 0; i < n; i++)
        group[id].world[i] = world ? world[i] : i;
    return id;
}

void comex_group_init(void)
{
    add(l_state.world_comm, l_state.size, NULL);
}

/* world_comm is the caller's. */
void comex_group_finalize(void)
{
    for (int id = n_groups - 1; id > 0; id--)
        if (group[id].used)
            comex_group_free(id);
    free(group[0].world);
    free(group);
    group = NULL;
    n_groups = 0;
}

int comex_world_rank(int proc, comex_group_t id)
{
    const struct group *g = find(id);
    if (proc < 0 || proc >= g->n)
        COMEX_DIE("process %d of group %d, which has %d", proc, id, g->n);
    return g->world[proc];
}

int comex_group_rank(comex_group_t id, int *rank)
{
    const struct group *g = find(id);
    *rank = MPI_UNDEFINED;
    if (g->comm != MPI_COMM_NULL)
        MPI_Comm_rank(g->comm, rank);
    return COMEX_SUCCESS;
}

int comex_group_size(comex_group_t id, int *size)
{
    *size = find(id)->n;
    return COMEX_SUCCESS;
}

int comex_group_comm(comex_group_t id, MPI_Comm *comm)
{
    *comm = find(id)->comm;
    return COMEX_SUCCESS;
}

int comex_group_translate_world(comex_group_t id, int proc, int *world)
{
    *world = comex_world_rank(proc, id);
    return COMEX_SUCCESS;
}

int comex_group_translate_ranks(int n, comex_group_t from, int *ranks_from, comex_group_t to, int *ranks_to)
{
    const struct group *g = find(to);
    for (int i = 0; i < n; i++) {
        int world = comex_world_rank(ranks_from[i], from), at = 0;
        while (at < g->n && g->world[at] != world)
            at++;
        ranks_to[i] = at < g->n ? at : MPI_UNDEFINED;
    }
    return COMEX_SUCCESS;
}

/* Collective over the new group's members; others may call, and get a group that they are not in. */
int comex_group_create(int n, int *list, comex_group_t parent, comex_group_t *out)
{
    MPI_Comm comm = MPI_COMM_NULL, above = find(parent)->comm;
    MPI_Group of_parent, of_child;
    int rank, *world = malloc((size_t)n * sizeof *world);
    if (!world)
        COMEX_DIE("out of memory");
    for (int i = 0; i < n; i++)
        world[i] = comex_world_rank(list[i], parent);
    MPI_Comm_group(above, &of_parent);
    MPI_Group_incl(of_parent, n, list, &of_child);
    MPI_Group_rank(of_child, &rank);
    if (rank != MPI_UNDEFINED)
        MPI_Comm_create_group(above, of_child, 0, &comm);
    MPI_Group_free(&of_child);
    MPI_Group_free(&of_parent);
    *out = add(comm, n, world);
    free(world);
    return COMEX_SUCCESS;
}

int comex_group_free(comex_group_t id)
{
    struct group *g = find(id);
    if (id == COMEX_GROUP_WORLD)
        COMEX_DIE("the group of all cannot be freed");
    if (g->comm != MPI_COMM_NULL)
        MPI_Comm_free(&g->comm);
    free(g->world);
    *g = (struct group){.used = 0};
    return COMEX_SUCCESS;
}
