/*
 * intruder.c - attacks on a user's listening processes from another account of this machine, which knows only their
 * ports (as `ss -ltn` shows them). Usage: intruder ATTACK UID OWN_UID [TARGET_UID]: the attack, the attacked user, the
 * user id under which to attack; for replay, the user whose processes receive the captured messages.
 *
 * Each attack prints one line, "NAME: N tried, K sent, M obtained": sent counts what left this process on a connection that
 * the target had not refused; obtained the reads that returned data and the writes that the target confirmed. The
 * target itself detects effects of messages (victim.c).
 */
#include "intruder.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned observed, target; /* users */

/* ---- reads and writes of registered memory ------------------------------------------------------------------------ */

/* One read or write of 64 bytes. 0: it could not be sent. */
static int access_memory(fi_addr_t to, int write, uint64_t off, uint64_t key)
{
    static uint64_t buffer[8];
    void *c = next_context();
    double end = now() + 1;
    ssize_t rc;
    struct iovec local = {buffer, sizeof buffer};
    struct fi_rma_iov remote = {off, sizeof buffer, key};
    struct fi_msg_rma m = {.msg_iov = &local, .iov_count = 1, .addr = to, .rma_iov = &remote, .rma_iov_count = 1, .context = c};
    memset(buffer, write ? 0x66 : 0, sizeof buffer);
    while ((rc = write ? fi_writemsg(ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE) : fi_readmsg(ep, &m, FI_COMPLETION)) ==
           -FI_EAGAIN && now() < end)
        outcome(NULL, 0.001);
    int done = rc == 0 && outcome(c, 0.5) == 1;
    tried++;
    sent += rc == 0;
    obtained += done;
    if (done && obtained <= 3)
        printf("# key %#lx, offset %#lx: %s %#lx\n", (unsigned long)key, (unsigned long)off, write ? "wrote" : "read",
               (unsigned long)buffer[0]);
    return rc == 0;
}

/* Keys that are easy to guess, then random ones; some at more than one offset. */
static void each_key(int write)
{
    open_fabric();
    for (int i = 0; i < n_ports; i++) {
        fi_addr_t to = peer(&port[i]);
        int refused = 0; /* an earlier wrong key may also end a connection */
        for (uint64_t key = 0; key <= 72 && refused < 2; key++) {
            uint64_t guess = key;
            if (key > 64)
                random_bytes(&guess, sizeof guess);
            refused = access_memory(to, write, 0, guess) ? 0 : refused + 1;
            if (key && key < 4)
                access_memory(to, write, 65536, key);
        }
    }
}

/* A control for both: register memory of this process with key 5 until standard input ends. */
static void serve(void)
{
    static uint64_t memory[1 << 14];
    struct pollfd in = {.fd = 0, .events = POLLIN};
    struct fid_mr *mr;
    open_fabric();
    int rc = fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 5, 0, &mr, NULL);
    if (rc)
        give_up("libfabric's memory", -rc);
    printf("ready\n");
    fflush(stdout);
    while (poll(&in, 1, 0) == 0)
        outcome(NULL, 0.01);
}

/* ---- forged messages ---------------------------------------------------------------------------------------------- */

struct message {
    union {
        struct head h;
        char data[SHI_NET_LONGEST_BYTES];
    };
};

/* Use a lane that the job does not use, so that the next sequence number is 1. */
static void begin(struct message *m, unsigned pe, uint64_t seq)
{
    memset(m, 0, sizeof *m);
    m->h = (struct head){.job = shi_auth_job(), .pe = pe, .lane = SHI_NET_LANES - 1, .bytes = sizeof m->h, .seq = seq,
                         .version = WIRE_VERSION};
}

static struct record *add(struct message *m, struct record r, const void *payload)
{
    struct record *at = (struct record *)(m->data + m->h.bytes);
    *at = r;
    memcpy(at + 1, payload, r.bytes);
    m->h.bytes = (uint32_t)(m->h.bytes + record_bytes(&r));
    return at;
}

/* The tags are valid if the secret is 0 (SHMEM_INSECURE=1). */
static void forge(void)
{
    static const uint64_t value[3] = {0x6666666666666666};
    open_fabric();
    for (int i = 0; i < n_ports; i++) {
        fi_addr_t to = peer(&port[i]);
        uint64_t seq[2] = {0};
        for (int k = 0, open = 1; k < 64 && open; k++) {
            struct message m;
            unsigned pe = k % 2;
            begin(&m, pe, ++seq[pe]);
            for (uint64_t off = 0; off < 1 << 17; off += 4096) {
                uint8_t region = k / 2 % 2 ? SHI_REGION_HEAP : SHI_REGION_DATA;
                add(&m, (struct record){.op = OP_PUT, .region = region, .bytes = 8, .off = off + 8 * (uint64_t)k}, value);
                add(&m, (struct record){.op = OP_AMO, .region = region, .what = SHI_AMO_ADD, .width = 8, .bytes = 8,
                                        .off = off + 8 * (uint64_t)k + 2048}, value);
            }
            for (int pe_of_port = 0; pe_of_port < 2 && open; pe_of_port++) {
                m.h.tag = message_tag(&m.h, 0, pe_of_port);
                open = send_to(to, &m, m.h.bytes);
            }
        }
    }
}

/* ---- malformed messages ------------------------------------------------------------------------------------------- */

static char filler[1 << 20];

/* The k-th malformed message to a PE; 0: there are no more. *m is a valid empty message at first. */
static size_t malformed(int k, struct message *m)
{
    static const struct record records[] = {
        {.op = 200},
        {.op = OP_PUT, .region = 200, .bytes = 8},
        {.op = OP_PUT, .bytes = 8, .off = (uint64_t)1 << 63},
        {.op = OP_PUT, .bytes = 0xffffffff},
        {.op = OP_PUT, .bytes = 4096}, /* more than the message contains */
        {.op = OP_PUT_BLOCKS, .bytes = 0},
        {.op = OP_PUT_BLOCKS, .bytes = 24},
        {.op = OP_GET_BLOCKS, .bytes = 24},
        {.op = OP_AMO, .width = 0, .bytes = 8},
        {.op = OP_AMO, .width = 16, .bytes = 8},
        {.op = OP_AMO, .width = 0x88, .bytes = 8},
        {.op = OP_AMO, .width = 8, .bytes = 8, .what = 200},
        {.op = OP_AMO, .width = 8, .bytes = 8, .off = 3},
        {.op = OP_REPLY, .bytes = 8},
        {.op = OP_REPLY, .bytes = 8, .off = 1 << 20},
        {.op = OP_REPLY, .bytes = 8, .what = 255},
        {.op = OP_AM, .what = 200, .bytes = 8},
        {.op = OP_AM, .what = SHI_AM_TAG, .bytes = 8},
        {.op = OP_AM, .what = SHI_AM_GPC, .bytes = 8},
        {.op = OP_AM, .what = SHI_AM_PULL, .bytes = 8},
    };
    enum { N = sizeof records / sizeof *records };
    static const uint64_t payload[3] = {0xffffffffffffffff, 0xffffffffffffffff, 0};
    struct head *h = &m->h;
    if (k < N) {
        struct record short_one = records[k];
        short_one.bytes = short_one.bytes < sizeof payload ? short_one.bytes : sizeof payload;
        add(m, short_one, payload)->bytes = records[k].bytes;
        return h->bytes;
    }
    switch (k - N) {
    case 0: return 1;
    case 1: return sizeof *h - 1;
    case 2: h->bytes++; return sizeof *h;
    case 3: h->bytes = 0; return sizeof *h;
    case 4: h->bytes = 8; return sizeof *h + 8;
    case 5: h->bytes += 1; return sizeof *h + 1;
    case 6: h->pe = 7; break;
    case 7: h->pe = UINT32_MAX; break;
    case 8: h->lane = SHI_NET_LANES; break;
    case 9: h->lane = 255; break;
    case 10: h->ack_lane = 255, h->ack = UINT64_MAX; break;
    case 11: h->ack = UINT64_MAX; break;
    case 12: h->seq = 0; break;
    case 13: h->seq = UINT64_MAX; break;
    case 14: h->flags = 255; break;
    default: return 0;
    }
    return h->bytes;
}

/* To every port: all malformed messages, messages longer than a receive buffer, and random bytes. */
static void send_malformed(void)
{
    struct message m;
    open_fabric();
    for (int i = 0; i < n_ports; i++) {
        fi_addr_t to = peer(&port[i]);
        size_t n;
        int open = 1;
        for (int k = 0; open && (begin(&m, 0, 1), n = malformed(k, &m)); k++)
            open = send_to(to, &m, n);
        for (n = SHI_NET_LONGEST_BYTES + 8; open && n <= sizeof filler; n *= 4) {
            open = send_to(to, filler, n);
            new_endpoint(); /* the target may have closed the connection */
        }
        for (int k = 0; open && k < 200; k++) {
            random_bytes(&m, n = 8 + (size_t)k * 8);
            open = send_to(to, &m, n);
        }
    }
}

/* ---- plain connections -------------------------------------------------------------------------------------------- */

/* Connections that send nothing, until the target ends one of them; and connections that send random bytes and end,
 * with or without a reset. */
static void garbage(void)
{
    enum { SILENT = 32, LOUD = 64 };
    struct pollfd silent[SILENT];
    for (int i = 0; i < n_ports; i++) {
        for (int k = 0; k < SILENT; k++) {
            silent[k] = (struct pollfd){.fd = connect_to(&port[i]), .events = POLLRDHUP};
            sent += silent[k].fd >= 0;
        }
        for (int k = 0; k < LOUD; k++) {
            struct linger reset = {.l_onoff = k % 2};
            int fd = connect_to(&port[i]);
            if (fd < 0)
                continue;
            random_bytes(filler, 256);
            if (k % 4 == 3)
                memset(filler, 0, 64);
            sent += send(fd, filler, k % 8 == 7 ? sizeof filler : (size_t)k + 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            close(fd);
        }
        poll(silent, SILENT, 2000);
        for (int k = 0; k < SILENT; k++)
            close(silent[k].fd);
        tried += SILENT + LOUD;
    }
}

static void cut(void)
{
    open_fabric();
    for (int i = 0; i < n_ports; i++)
        for (long limit = 1; limit < 1200; limit += limit < 160 ? 11 : 240) {
            cut_at(&port[i], limit, 0);
            cut_at(&port[i], limit, 1);
        }
}

/* ---- replay ------------------------------------------------------------------------------------------------------- */

enum change { UNCHANGED, BIT, LATER, VERSION, CHANGES };

static void change(union captured *c, int what, int k)
{
    if (what == BIT)
        c->data[(size_t)k * 7 % c->head.bytes] ^= (char)(1 << k % 8);
    else if (what == LATER)
        c->head.seq++;
    else if (what == VERSION)
        c->head.version++;
}

/* All captured messages to every port of the target: to their receiver again, to their sender, to other PEs and jobs. */
static void replay(void)
{
    capture(observed, 3);
    printf("# %d messages captured\n", n_captured);
    find_ports(target);
    open_fabric();
    for (int i = 0; i < n_ports; i++) {
        fi_addr_t to = peer(&port[i]);
        for (int what = UNCHANGED, open = 1; what < CHANGES; what++)
            for (int k = 0; open && k < n_captured; k++) {
                union captured c = captured[k];
                change(&c, what, k);
                open = (k + 1 < n_captured ? send_to : deliver_to)(to, c.data, captured[k].head.bytes);
            }
    }
}

/* ---- flood -------------------------------------------------------------------------------------------------------- */

/* Forged messages and garbage on separate connections, for a second, at full speed. */
static void flood(void)
{
    struct message m;
    open_fabric();
    fi_addr_t to[PORTS];
    for (int i = 0; i < n_ports; i++)
        to[i] = peer(&port[i]);
    begin(&m, 0, 3); /* never the next sequence number */
    while (m.h.bytes < 4096)
        add(&m, (struct record){.op = OP_PUT, .region = SHI_REGION_DATA, .bytes = 64, .off = 0}, filler);
    for (double end = now() + 1; now() < end;)
        for (int i = 0; i < n_ports; i++) {
            for (int k = 0; k < 64 && now() < end; k++, m.h.seq++, tried++)
                sent += fi_send(ep, &m, m.h.bytes, NULL, to[i], next_context()) == 0;
            outcome(NULL, 0);
            int fd = connect_to(&port[i]);
            if (fd < 0)
                continue;
            sent += send(fd, filler, 4096, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
            close(fd);
        }
}

static void read_memory(void)
{
    each_key(0);
}

static void write_memory(void)
{
    each_key(1);
}

static const struct {
    const char *name;
    void (*run)(void);
} attacks[] = {{"read", read_memory}, {"write", write_memory}, {"serve", serve}, {"forge", forge},
               {"malformed", send_malformed}, {"garbage", garbage}, {"cut", cut}, {"replay", replay}, {"flood", flood}};

int main(int argc, char **argv)
{
    if (argc < 4)
        give_up("usage", EINVAL);
    unsigned own = (unsigned)atoi(argv[3]);
    observed = (unsigned)atoi(argv[2]);
    target = argc > 4 ? (unsigned)atoi(argv[4]) : observed;
    shi_auth_set((unsigned char[SHI_SECRET_BYTES]){0});
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if (strcmp(argv[1], attacks[i].name) == 0) {
            if (attacks[i].run == replay)
                open_sniffer();
            if (setgroups(0, NULL) || setgid(own) || setuid(own))
                give_up("setuid", errno);
            if (attacks[i].run != serve)
                find_ports(observed);
            attacks[i].run();
            printf("%s: %ld tried, %ld sent, %ld obtained\n", argv[1], tried, sent, obtained);
            return 0;
        }
    give_up("no such attack", EINVAL);
}
