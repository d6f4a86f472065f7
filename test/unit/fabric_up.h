/* fabric_up.h - of fabric.h: bring up the streams of all PEs, or of a process that takes the place of one. */
#ifndef TEST_UNIT_FABRIC_UP_H
#define TEST_UNIT_FABRIC_UP_H

static int fabric_publish(const char *key, const void *data, size_t bytes)
{
    (void)key, (void)data, (void)bytes;
    return 0;
}

static int fabric_fence(void)
{
    return 0;
}

/* `data` holds the caller's own record, which is the other PE's, too; fabric_open adds the memory of the other PEs. */
static int fabric_lookup(int pe, const char *key, void *data, size_t bytes)
{
    (void)pe, (void)key, (void)data, (void)bytes;
    return 0;
}

static uint32_t fabric_life;

static uint32_t fabric_life_of(int i)
{
    (void)i;
    return fabric_life;
}

/* Bring up the streams of one PE. */
static void fabric_open_pe(int pe, const struct shi_stream_region own[SHI_REGIONS])
{
    static const struct shi_boot_ops ops = {.publish = fabric_publish, .fence = fabric_fence, .lookup = fabric_lookup};
    static _Alignas(64) char record[PES][PES * SHI_SHM_RECORD_BYTES];
    const struct shi_config config = {.bcopy_bytes = -1, .heartbeat = fabric_heartbeat};
    const struct shi_stream_node node = {.record = record[pe], .life = fabric_life_of};
    struct shi_boot boot = {.ops = &ops, .pe = pe, .n_pes = PES, .n_local = 1, .has_secret = 1, .local_pe = &pe};
    memset(record[pe], 0, sizeof record[pe]);
    fabric.pe = pe;
    if (shi_stream_up(&boot, &config, &node, own, 1))
        abort();
    for (int i = 0; i < LANES; i++)
        shi_stream_lane(i);
    if (own[SHI_REGION_DEVICE].device)
        shi_stream_device_up(own[SHI_REGION_DEVICE].device, SLOTS_OF_DEVICE);
    fabric.net[pe] = shi_stream_net;
}

/* What the PEs know of each other's memory. */
static void fabric_tell_all(void)
{
    for (int pe = 0; pe < PES; pe++)
        for (int other = 0; other < PES; other++)
            memcpy(fabric.net[pe].memory[other], fabric.net[other].memory[other], sizeof *fabric.net[pe].memory);
    for (int pe = 0; pe < PES; pe++)
        for (int other = 0; fabric.net[pe].written.peer && other < PES; other++)
            fabric.net[pe].written.peer[other] = fabric.net[other].written.own;
}

/* Bring up the streams of all PEs, PE i with the regions own[i]. */
static void fabric_open(const struct shi_net_limits *limits, unsigned seed,
                        struct shi_stream_region (*own)[SHI_REGIONS])
{
    memset(&fabric, 0, sizeof fabric);
    fabric.limits = *limits;
    fabric.limits.message_bytes = SHI_NET_LONGEST_BYTES;
    fabric.refusals = fabric.patience = fabric.pace = 1;
    fabric.random = seed * 2654435761u + 1;
    fabric_life = 0;
    for (int pe = 0; pe < PES; pe++) {
        fabric.last[pe] = &fabric.inbox[pe];
        fabric.last_immediate[pe] = &fabric.immediate[pe];
        for (int i = 0; i < LANES; i++) {
            fabric.lane[pe][i].pub.index = i;
            fabric.lane[pe][i].pe = pe;
            pthread_mutex_init(&fabric.lane[pe][i].pub.lock, NULL);
        }
        fabric_open_pe(pe, own[pe]);
    }
    fabric_tell_all();
    fabric.pe = 0;
    shi_stream_net = fabric.net[0];
}

#endif
