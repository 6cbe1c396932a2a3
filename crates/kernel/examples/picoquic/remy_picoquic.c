/* A RemyCC as congestion control of picoquic, in the 60 lines that it takes. `remycc.h` is what
 * `exm table compile TABLE -o remycc.h` writes.
 *
 * picoquic tells of an ACK frame in several calls: one with the RTT of its newest packet, then one for each packet.
 * A RemyCC follows an ACK for each packet, with the times since the frame before spread over them; so this applies a
 * frame when the next one comes. Windows are in packets in the table and in bytes in picoquic; times are in
 * nanoseconds and in microseconds. */

#include "picoquic_internal.h"
#include "remycc.h"
#include <stdlib.h>

/* An ACK frame: when its newest packet was sent, and when it came. */
struct frame {
    int64_t sent, received;
    uint64_t rtt, bytes;
};

struct remy_state {
    struct remy_sender flow;
    struct frame before, now;
    /* Losses until then were sent before the window was cut. */
    uint64_t repaired_at;
};

static void follow(picoquic_cnx_t* cnx, uint64_t pace)
{
    /* picoquic counts 1024 of these to a microsecond. */
    cnx->packet_time_nano_sec = pace * 1024 / 1000;
    cnx->pacing_margin_micros = 1;
}

static uint64_t table_window(picoquic_cnx_t* cnx, const struct remy_state* state)
{
    uint64_t bytes = (uint64_t)state->flow.window * cnx->send_mtu;
    return bytes > PICOQUIC_CWIN_MINIMUM ? bytes : PICOQUIC_CWIN_MINIMUM;
}

static void remy_init(picoquic_cnx_t* cnx)
{
    struct remy_state* state = calloc(1, sizeof *state);
    cnx->congestion_alg_state = state;
    if (state != NULL) {
        follow(cnx, remycc_begin(&state->flow));
        cnx->cwin = table_window(cnx, state);
    }
}

/* Applies a rule for each packet of the frame. A packet of the table is one of the MTU: small ones, as those of the
 * handshake, are in the network for a shorter time, which would make a queue of that of full ones. */
static void apply(picoquic_cnx_t* cnx, struct remy_state* state)
{
    struct frame before = state->before, now = state->now;
    int64_t packets = (int64_t)((now.bytes + cnx->send_mtu / 2) / cnx->send_mtu);
    uint64_t pace = 0;
    for (int64_t i = 1; i <= packets; i++) {
        int64_t sent = now.sent, received = now.received;
        if (before.rtt != 0) {
            sent = before.sent + (now.sent - before.sent) * i / packets;
            received = before.received + (now.received - before.received) * i / packets;
        }
        pace = remycc_on_ack(&state->flow, sent, received, now.rtt, 1);
    }
    if (packets > 0) {
        state->before = now;
        follow(cnx, pace);
    }
}

static void remy_notify(picoquic_cnx_t* cnx, picoquic_congestion_notification_t what, uint64_t rtt,
    uint64_t bytes, uint64_t lost, uint64_t now)
{
    struct remy_state* state = cnx->congestion_alg_state;
    uint64_t least = PICOQUIC_CWIN_MINIMUM;
    (void)lost;
    if (state == NULL)
        return;
    int is_whole = cnx->cwin >= table_window(cnx, state);
    switch (what) {
    case picoquic_congestion_notification_rtt_measurement:
        apply(cnx, state);
        state->now = (struct frame) { (int64_t)(now - rtt) * 1000, (int64_t)now * 1000, rtt * 1000, 0 };
        break;
    case picoquic_congestion_notification_acknowledgement:
        state->now.bytes += bytes;
        /* After losses the window grows by what arrives, until it is the table's again. */
        if (!is_whole && now >= state->repaired_at)
            cnx->cwin += bytes;
        break;
    case picoquic_congestion_notification_repeat:
    case picoquic_congestion_notification_timeout:
        /* While losses are repaired, one packet leaves for each that arrives. */
        if (now >= state->repaired_at) {
            int is_timeout = what == picoquic_congestion_notification_timeout;
            cnx->cwin = is_timeout || cnx->bytes_in_transit < least ? least : cnx->bytes_in_transit;
            state->repaired_at = now + cnx->smoothed_rtt;
        }
        return;
    default:
        return;
    }
    if (is_whole || cnx->cwin > table_window(cnx, state))
        cnx->cwin = table_window(cnx, state);
}

static void remy_delete(picoquic_cnx_t* cnx)
{
    free(cnx->congestion_alg_state);
    cnx->congestion_alg_state = NULL;
}

const picoquic_congestion_algorithm_t remy_algorithm = { 0x52454d59, remy_init, remy_notify, remy_delete };
