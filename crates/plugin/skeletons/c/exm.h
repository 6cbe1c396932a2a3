/* The interface of Ex Machina's controllers, version 1, for C: you need not change this file.
 *
 * Host and module share one block of 256 bytes. Times are in nanoseconds, windows in packets, sizes in bytes. */
#ifndef EXM_H
#define EXM_H

#include <stdint.h>

#define EXM_NONE UINT64_MAX /* a time or a number that is absent */

struct exm_block {
    uint64_t now;
    uint64_t sent_at;         /* when the packet was sent */
    uint64_t received_at;     /* when the receiver got it, by its clock, or EXM_NONE */
    uint64_t sequence;
    uint64_t largest_acked;   /* before this ACK, or EXM_NONE */
    uint64_t acked;           /* packets acknowledged for the first time */
    uint64_t acked_bytes;
    uint64_t marked;          /* how many of them routers marked */
    uint64_t in_flight;
    uint64_t in_flight_bytes;
    uint32_t flags;           /* EXM_STALE and others */
    uint32_t kind;            /* of congestion: EXM_LOST and others */
    uint64_t packets;         /* that the congestion is about; EXM_IDLE: the window to restart with */
    uint64_t bytes;
    uint64_t initial_window;  /* on_start */
    uint64_t handshake_rtt;   /* on_start; or EXM_NONE */
    uint64_t mtu;
    uint64_t delivered;       /* these six: if EXM_HAS_DELIVERY */
    uint64_t delivered_at_send;
    uint64_t delivery_interval;
    uint64_t lost;
    uint64_t lost_at_send;
    uint64_t in_flight_at_send;
    double feedback;          /* of routers (XCP), or not a number */
    uint64_t seed;            /* of the controller's random choices */
    uint32_t needs;           /* write it in exm_abi_1: EXM_NEEDS_DELIVERY and others */
    uint32_t unused;
    uint64_t cwnd;            /* write these three: packets that may be in flight, */
    uint64_t intersend;       /* the least time between two sends, */
    uint64_t wake_at;         /* and when on_tick is to be called, or EXM_NONE */
    uint64_t reserved[4];
};

_Static_assert(sizeof(struct exm_block) == 256, "the block has 256 bytes");

enum { EXM_STALE = 1, EXM_RECOVERING = 2, EXM_APP_LIMITED = 4, EXM_HAS_DELIVERY = 8,
       EXM_DELIVERY_APP_LIMITED = 16, EXM_RETRANSMISSION = 32 };
enum { EXM_LOST = 0, EXM_MARKED = 1, EXM_TIMEOUT = 2, EXM_SPURIOUS = 3, EXM_IDLE = 4 };
enum { EXM_NEEDS_OWN_RECOVERY = 1, EXM_NEEDS_DELIVERY = 2, EXM_NEEDS_SENT = 4, EXM_NEEDS_MARKS = 8,
       EXM_NEEDS_FEEDBACK = 16, EXM_NEEDS_RESTART = 32 };

#ifdef __wasm__
#define EXM_EXPORT(name) __attribute__((export_name(#name))) name
#else
#define EXM_EXPORT(name) name
#endif

extern struct exm_block exm;

static inline uint64_t exm_rtt(void) {
    return exm.now - exm.sent_at;
}

#endif
