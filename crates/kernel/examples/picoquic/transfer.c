/* Sends bytes by picoquic over a link of 15 Mbps, 150 ms and a queue of 200 ms, both ends in this process and in
 * simulated time, by a RemyCC.
 *
 * transfer MEGABYTES CERTIFICATES */

#include "picoquic_internal.h"
#include <stdio.h>
#include <stdlib.h>

extern const picoquic_congestion_algorithm_t remy_algorithm;

/* Times are in microseconds. */
#define MBPS 15.0
#define DELAY 75000
#define QUEUE 200000
/* The longest time that is simulated. */
#define END (600 * 1000000ull)

struct packet {
    struct packet* next;
    uint64_t arrives;
    size_t length;
    uint8_t bytes[PICOQUIC_MAX_PACKET_SIZE];
};

struct way {
    double mbps, free_at, waited;
    uint64_t sent, dropped;
    struct packet *first, **last;
};

static void submit(struct way* way, struct packet* packet, uint64_t now)
{
    double wait = way->free_at > (double)now ? way->free_at - (double)now : 0;
    if (wait > QUEUE) {
        way->dropped++;
        free(packet);
        return;
    }
    way->free_at = (double)now + wait + 8 * (double)packet->length / way->mbps;
    way->waited += wait;
    way->sent++;
    packet->next = NULL;
    packet->arrives = (uint64_t)way->free_at + DELAY;
    *way->last = packet;
    way->last = &packet->next;
}

/* Sends all that `cnx` may send now: picoquic keeps to its pace by the time at which it wants to be asked. */
static void send_all(picoquic_cnx_t* cnx, struct way* way, uint64_t now)
{
    while (cnx != NULL && cnx->next_wake_time <= now && cnx->cnx_state != picoquic_state_disconnected) {
        picoquic_packet* kept = picoquic_create_packet();
        struct packet* packet = calloc(1, sizeof *packet);
        if (picoquic_prepare_packet(cnx, kept, now, packet->bytes, sizeof packet->bytes, &packet->length) != 0
            || packet->length == 0) {
            free(kept);
            free(packet);
            return;
        }
        submit(way, packet, now);
    }
}

/* Gives `quic` what arrived. */
static void receive_all(picoquic_quic_t* quic, struct way* way, uint64_t now, struct sockaddr* ends[2])
{
    picoquic_stateless_packet_t* reply;
    while (way->first != NULL && way->first->arrives <= now) {
        struct packet* packet = way->first;
        way->first = packet->next;
        if (way->first == NULL)
            way->last = &way->first;
        picoquic_incoming_packet(quic, packet->bytes, (uint32_t)packet->length, ends[0], ends[1], 0, now);
        free(packet);
    }
    while ((reply = picoquic_dequeue_stateless_packet(quic)) != NULL)
        picoquic_delete_stateless_packet(reply);
}

static void count(picoquic_cnx_t* cnx, uint64_t stream, uint8_t* bytes, size_t length, picoquic_call_back_event_t event,
    void* received)
{
    (void)cnx, (void)stream, (void)bytes, (void)event;
    *(uint64_t*)received += length;
}

static uint64_t next_time(picoquic_quic_t* quic, struct way* way, uint64_t now)
{
    uint64_t next = now + (uint64_t)picoquic_get_next_wake_delay(quic, now, 1000000);
    return way->first != NULL && way->first->arrives < next ? way->first->arrives : next;
}

int main(int count_of, char** words)
{
    if (count_of != 3) {
        fprintf(stderr, "usage: %s MEGABYTES CERTIFICATES\n", words[0]);
        return 2;
    }
    char certificate[4096], key[4096];
    snprintf(certificate, sizeof certificate, "%s/cert.pem", words[2]);
    snprintf(key, sizeof key, "%s/key.pem", words[2]);
    uint64_t bytes = strtoull(words[1], NULL, 10) * 1000000, received = 0, ignored = 0, now = 0;
    struct sockaddr_in near = { .sin_family = AF_INET, .sin_port = 1 }, far = { .sin_family = AF_INET, .sin_port = 2 };
    struct sockaddr* there[2] = { (struct sockaddr*)&near, (struct sockaddr*)&far };
    struct sockaddr* back[2] = { there[1], there[0] };

    picoquic_quic_t* client = picoquic_create(
        1, NULL, NULL, NULL, count, &ignored, NULL, NULL, NULL, now, &now, NULL, NULL, 0);
    picoquic_quic_t* server = picoquic_create(
        1, certificate, key, "transfer", count, &received, NULL, NULL, NULL, now, &now, NULL, NULL, 0);
    if (client == NULL || server == NULL) {
        fprintf(stderr, "no certificate in %s\n", words[2]);
        return 1;
    }
    picoquic_cnx_t* cnx = picoquic_create_cnx(client, 0, there[1], now, 0, "example.org", "transfer", 1);
    /* Not as the default of `client`: a new connection forgets the pace of the algorithm that it begins with. */
    picoquic_set_congestion_algorithm(cnx, &remy_algorithm);
    /* Nor does it look for a larger MTU: while a probe waits, this version keeps to no pace. */
    cnx->send_mtu_max_tried = cnx->send_mtu;
    uint8_t* data = calloc(1, bytes);

    struct way up = { .mbps = MBPS }, down = { .mbps = MBPS };
    up.last = &up.first, down.last = &down.first;
    while (received < bytes && now < END) {
        if (data != NULL && cnx->cnx_state == picoquic_state_client_ready) {
            picoquic_add_to_stream(cnx, 4, data, bytes, 1);
            free(data);
            data = NULL;
        }
        send_all(cnx, &up, now);
        send_all(picoquic_get_first_cnx(server), &down, now);
        uint64_t one = next_time(server, &up, now), other = next_time(client, &down, now);
        uint64_t next = one < other ? one : other;
        now = next > now ? next : now + 1;
        receive_all(server, &up, now, there);
        receive_all(client, &down, now, back);
    }
    printf("%llu bytes in %.2f s, %.2f Mbps; mean queueing %.1f ms; %llu packets, %llu dropped\n",
        (unsigned long long)received, (double)now * 1e-6, (double)received * 8 / (double)now,
        up.waited * 1e-3 / (double)up.sent, (unsigned long long)up.sent, (unsigned long long)up.dropped);
    return received < bytes;
}
