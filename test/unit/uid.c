/* uid.c - parts of jobs that are started by a unique id: ids, proofs and frames, seats, what PEs publish. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/boot/uid_data.h"
#include "host/boot/uid_id.h"
#include "host/boot/uid_link.h"
#include "host/boot/uid_seats.h"
#include "../tap.h"

static const uint64_t secret[2] = {0x1122334455667788, 0x99aabbccddeeff01}, other_secret[2] = {0x1122334455667788, 0x99aabbccddeeff00};

static struct shi_uid_link client, server;

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void connect_both(const uint64_t of_client[2], const uint64_t of_server[2])
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd))
        exit(99);
    if (shi_uid_link_open(&client, fd[0], 1, of_client) || shi_uid_link_open(&server, fd[1], 0, of_server))
        exit(99);
}

static void close_both(void)
{
    shi_uid_link_close(&client);
    shi_uid_link_close(&server);
}

/* Move bytes until nothing more comes. The first error of each end. */
static void pump(int *of_client, int *of_server)
{
    *of_client = *of_server = 0;
    for (int i = 0; i < 4; i++) {
        shi_uid_link_write(&client);
        if (!*of_server)
            *of_server = shi_uid_link_read(&server);
        shi_uid_link_write(&server);
        if (!*of_client)
            *of_client = shi_uid_link_read(&client);
    }
}

static void pump_well(void)
{
    int c, s;
    pump(&c, &s);
    CHECK(!c && !s);
}

static int got(struct shi_uid_link *l, uint32_t type, const char *payload, size_t bytes)
{
    struct shi_uid_frame f;
    for (int i = 0; i < 100; i++) {
        pump_well();
        if (shi_uid_link_next(l, &f) == 1)
            return f.type == type && f.bytes == bytes && memcmp(f.payload, payload, bytes) == 0;
    }
    return 0;
}

/* Catches: a proof that the right secret fails, frames cut, joined or out of order, a direction with the other's key. */
static void frames(void)
{
    static char payload[300000];
    static const size_t lengths[] = {0, 1, 7, 8, 4095, 65536, sizeof payload};
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (char)(i * 31 + (i >> 9));
    connect_both(secret, secret);
    pump_well();
    CHECK(client.state == SHI_UID_OPEN && server.state == SHI_UID_OPEN);
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        shi_uid_link_put(&client, i, payload, lengths[i]);
        shi_uid_link_put(&client, 100 + i, payload, 3);
        shi_uid_link_put(&server, 200 + i, payload, lengths[i]);
        CHECKF(got(&server, i, payload, lengths[i]), "%zu bytes to the server", lengths[i]);
        CHECK(got(&server, 100 + i, payload, 3));
        CHECKF(got(&client, 200 + i, payload, lengths[i]), "%zu bytes to the client", lengths[i]);
    }
    close_both();
}

/* Catches: a stranger who becomes a member, at either end; a secret that is sent. */
static void strangers(void)
{
    int c, s;
    char bytes[256];
    connect_both(other_secret, secret);
    pump(&c, &s);
    CHECK(c == -EACCES && server.state != SHI_UID_OPEN);
    CHECK(shi_uid_link_put(&client, 1, "x", 1) == 0);
    close_both();

    connect_both(secret, other_secret);
    pump(&c, &s);
    CHECK(c == -EACCES && client.state != SHI_UID_OPEN && server.state != SHI_UID_OPEN);
    close_both();

    connect_both(secret, secret); /* a client that sends another proof than the right one */
    shi_uid_link_write(&client);
    CHECK(shi_uid_link_read(&server) == 0);
    memset(bytes, 'x', sizeof bytes);
    CHECK(send(client.fd, bytes, 16, 0) == 16 && shi_uid_link_read(&server) == -EACCES && server.state != SHI_UID_OPEN);
    close_both();

    connect_both(secret, secret);
    size_t n = client.out.to - client.out.from;
    CHECK(n < sizeof bytes && !memmem(client.out.at + client.out.from, n, secret, 8) && !memmem(client.out.at, n, secret + 1, 8));
    shi_uid_link_write(&client);
    shi_uid_link_read(&server);
    n = server.out.to - server.out.from;
    CHECK(n == 32 && !memmem(server.out.at + server.out.from, n, secret, 8) && !memmem(server.out.at, n, secret + 1, 8));
    close_both();
}

/* Catches: a server that keeps what a stranger sends, or waits for more of what is no hello. */
static void garbage(void)
{
    char bytes[8192];
    connect_both(secret, secret);
    memset(bytes, 'F', sizeof bytes);
    CHECK(send(client.fd, bytes, sizeof bytes, 0) > 0);
    CHECK(shi_uid_link_read(&server) == -EACCES);
    CHECKF(server.in.to - server.in.from <= 24, "%zu bytes are kept", server.in.to - server.in.from);
    close_both();
}

/* Catches: a bit of a frame that the tag does not cover, a frame that counts twice. */
static void changed_frames(void)
{
    enum { FRAME = 24 + 16 };
    char kept[FRAME];
    struct shi_uid_frame f;
    for (int at = 0; at < FRAME; at++) {
        connect_both(secret, secret);
        pump_well();
        shi_uid_link_put(&client, 5, "0123456789abcdef", 16);
        client.out.at[client.out.from + (size_t)at] ^= 1 << at % 8;
        pump_well();
        CHECKF(shi_uid_link_next(&server, &f) != 1, "byte %d changed, and the frame is taken", at);
        close_both();
    }
    connect_both(secret, secret);
    pump_well();
    shi_uid_link_put(&client, 5, "0123456789abcdef", 16);
    CHECK(client.out.to - client.out.from == FRAME);
    memcpy(kept, client.out.at + client.out.from, FRAME);
    CHECK(got(&server, 5, "0123456789abcdef", 16));
    CHECK(send(client.fd, kept, FRAME, 0) == FRAME);
    pump_well();
    CHECK(shi_uid_link_next(&server, &f) == -EACCES);
    close_both();
}

/* Catches: a seat without a parent or with two, a parent that comes later, a tree that is not flat. */
static void tree(void)
{
    for (int n = 1; n < 700; n++) {
        int children = 0;
        for (int seat = 0; seat < n; seat++) {
            int depth = 0;
            children += shi_uid_children(seat, n);
            for (int at = seat; at; at = shi_uid_parent(at)) {
                int up = shi_uid_parent(at), i = at - shi_uid_first_child(up);
                CHECKF(up < at && i >= 0 && i < shi_uid_children(up, n), "seat %d of %d: parent %d", at, n, up);
                depth++;
            }
            CHECKF(depth <= 6, "seat %d of %d: depth %d", seat, n, depth);
        }
        CHECKF(children == n - 1, "%d: %d children", n, children);
    }
}

static struct shi_uid_meet comes(int pe, int n, const char *host)
{
    struct shi_uid_meet m = {.n_pes = n, .who = {.pe = pe, .pid = 100 + pe}};
    strcpy(m.who.host, host);
    memset(m.at, pe, sizeof m.at);
    return m;
}

/* Catches: two processes with one number, a number or a size that is wrong, a parent's address of another seat, a PE that is missing and not named. */
static void seats(void)
{
    struct shi_uid_seats s;
    struct shi_uid_who self = {.pe = 2, .pid = 102, .host = "h0"};
    struct shi_uid_seat seat;
    struct shi_uid_meet m;
    char why[400], text[64];
    CHECK(shi_uid_seats_up(&s, 5, &self) == 0);
    static const int order[] = {4, 0, 3};
    for (int i = 0; i < 3; i++) {
        m = comes(order[i], 5, "h1");
        CHECK(shi_uid_seats_give(&s, &m, &seat, why, sizeof why) == 0 && seat.seat == i + 1);
        CHECK(i == 0 || seat.parent_at[0] == 4); /* that of seat 1 */
    }
    shi_uid_seats_missing(&s, text, sizeof text);
    CHECKF(strcmp(text, "PE 1") == 0, "missing: %s", text);
    m = comes(3, 5, "h2");
    CHECK(shi_uid_seats_give(&s, &m, &seat, why, sizeof why) == -EPROTO);
    CHECKF(strcmp(why, "two processes have the number 3: pid 103 on h1 and pid 103 on h2") == 0, "%s", why);
    m = comes(1, 6, "h2");
    CHECK(shi_uid_seats_give(&s, &m, &seat, why, sizeof why) == -EPROTO && strstr(why, "has 6 PEs"));
    m = comes(5, 5, "h2");
    CHECK(shi_uid_seats_give(&s, &m, &seat, why, sizeof why) == -EPROTO);
    m = comes(-1, 5, "h2");
    CHECK(shi_uid_seats_give(&s, &m, &seat, why, sizeof why) == -EPROTO && s.n == 4);
    shi_uid_seats_down(&s);
    CHECK(shi_uid_seats_up(&s, 4000, &self) == 0);
    shi_uid_seats_missing(&s, text, sizeof text);
    CHECKF(strlen(text) < sizeof text && strstr(text, "..."), "missing: %s", text);
    shi_uid_seats_down(&s);
}

/* Catches: records that are cut and read all the same, a PE beyond the last one, data of another key or PE, an old value that stays. */
static void data(void)
{
    struct shi_uid_bytes all = {.at = NULL};
    char value[8];
    CHECK(shi_uid_data_up(1, 3) == 0);
    CHECK(shi_uid_data_publish("a", "one", 3) == 0 && shi_uid_data_publish("bb", "", 0) == 0 && shi_uid_data_publish("a", "two2", 4) == 0);
    CHECK(shi_uid_data_take_news(&all) == 0);
    size_t bytes = shi_uid_bytes_used(&all), whole = 0;
    CHECK(shi_uid_data_take_news(&all) == 0 && shi_uid_bytes_used(&all) == bytes); /* nothing new */
    for (size_t n = 0; n <= bytes; n++) {
        unsigned char *cut = malloc(n ? n : 1); /* so that a sanitizer sees a read beyond */
        memcpy(cut, all.at, n);
        whole += shi_uid_data_learn(cut, n) == 0;
        free(cut);
    }
    CHECKF(whole == 4, "%zu prefixes of 3 records are whole", whole);
    CHECK(shi_uid_data_lookup(1, "a", value, 4) == 0 && memcmp(value, "two2", 4) == 0);
    CHECK(shi_uid_data_lookup(1, "a", value, 3) == -EMSGSIZE && shi_uid_data_lookup(1, "bb", value, 0) == 0);
    CHECK(shi_uid_data_lookup(0, "a", value, 4) == -ENOENT && shi_uid_data_lookup(1, "b", value, 0) == -ENOENT);
    struct shi_uid_bytes table = {.at = NULL};
    CHECK(shi_uid_data_take_all(&table) == 0);
    shi_uid_data_down();
    CHECK(shi_uid_data_up(2, 3) == 0 && shi_uid_data_learn(table.at, shi_uid_bytes_used(&table)) == 0);
    CHECK(shi_uid_data_lookup(1, "a", value, 4) == 0 && memcmp(value, "two2", 4) == 0 && shi_uid_data_lookup(1, "bb", value, 0) == 0);
    shi_uid_bytes_free(&table);
    all.at[0] = 3; /* PE 3 of 3 */
    CHECK(shi_uid_data_learn(all.at, shi_uid_bytes_used(&all)) == -EPROTO);
    shi_uid_bytes_free(&all);
    shi_uid_data_down();
}

static int listens(const struct shi_tcp_end *a)
{
    struct sockaddr_storage at;
    socklen_t bytes = shi_tcp_end_to(a, &at);
    int fd = socket(at.ss_family, SOCK_STREAM, 0), is = connect(fd, (void *)&at, bytes) == 0;
    close(fd);
    return is;
}

static int is_loopback(const struct shi_tcp_end *a)
{
    return IN6_IS_ADDR_LOOPBACK(&a->address) || (IN6_IS_ADDR_V4MAPPED(&a->address) && a->address.s6_addr[12] == 127);
}

/* Catches: an address at which nobody listens, an interface that SHMEM_UID_INTERFACE does not name, an id that was changed and is used, sockets that stay
 * when ids are made in vain, an id that serves two jobs. */
static void ids(void)
{
    struct shi_uid id, first, again;
    struct shi_uid_own own;
    struct shi_tcp_end at[SHI_UID_ADDRS];
    int before = open_files();
    CHECK(shi_uid_make(NULL, &first) == 0 && shi_uid_check(&first) == 0);
    int n = shi_uid_addresses(&first, at), n_loopback = 0;
    for (int i = 0; i < n; i++) {
        CHECKF(listens(&at[i]), "address %d", i);
        n_loopback += is_loopback(&at[i]);
        CHECK(!n_loopback || is_loopback(&at[i])); /* last */
    }
    CHECK(n >= 1 && n_loopback >= 1);
    for (int i = 0; i < SHI_UID_BYTES; i++) {
        id = first;
        id.bytes[i] ^= 4;
        CHECKF(shi_uid_check(&id) == -EINVAL, "byte %d was changed", i);
    }
    CHECK(shi_uid_make("lo", &id) == 0);
    n = shi_uid_addresses(&id, at);
    for (int i = 0; i < n; i++)
        CHECK(is_loopback(&at[i]));
    CHECK(shi_uid_make("127.0.0.1", &again) == 0 && shi_uid_addresses(&again, at) == 1 && memcmp(&id, &again, sizeof id) != 0);
    CHECK(shi_uid_make("nonsense0", &again) == -EADDRNOTAVAIL);
    CHECK(shi_uid_take(&id, &own) == 1 && own.n == n);
    for (int i = 0; i < own.n; i++)
        close(own.fd[i]);
    CHECK(shi_uid_take(&id, &own) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(shi_uid_make("127.0.0.1", &id) == 0);
    CHECK(shi_uid_take(&first, &own) == 0);
    CHECKF(open_files() - before <= 16, "%d files more are open", open_files() - before);
}

int main(void)
{
    RUN(frames, "what one end puts the other gets");
    RUN(strangers, "an end without the secret is refused, and the secret is not sent");
    RUN(garbage, "a server keeps 24 bytes of what is no hello");
    RUN(changed_frames, "a frame with another bit, and one that is sent twice, are refused");
    RUN(tree, "each seat has one parent, which is earlier, and is near seat 0");
    RUN(seats, "who cannot be of the job is refused with the reason");
    RUN(data, "records, whole and cut");
    RUN(ids, "ids name addresses that listen");
    return tap_end();
}
