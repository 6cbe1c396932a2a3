/* A congestion controller: additive increase, multiplicative decrease. Change it into your own. */
#include "exm.h"

struct exm_block exm = {.wake_at = EXM_NONE};

static double increase = 1; /* a parameter: --cc 'mine.wasm increase=2' sets it */
static double cwnd = 10;    /* packets */
static double ssthresh = __builtin_inf();
static uint64_t recovered_at; /* losses of packets sent before were responded to */

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static void decide(void) {
    exm.cwnd = cwnd < 1e9 ? (uint64_t)cwnd : 1000000000;
    exm.intersend = 0;
    exm.wake_at = EXM_NONE;
}

/* The address of the block. Say here what you need: exm.needs = EXM_NEEDS_DELIVERY; */
struct exm_block *EXM_EXPORT(exm_abi_1)(void) {
    return &exm;
}

void EXM_EXPORT(set_increase)(double value) {
    increase = value;
}

/* A flow starts. */
void EXM_EXPORT(on_start)(void) {
    cwnd = (double)exm.initial_window;
    ssthresh = __builtin_inf();
    recovered_at = 0;
    decide();
}

/* An acknowledgement arrived. */
void EXM_EXPORT(on_ack)(void) {
    if (!(exm.flags & (EXM_STALE | EXM_RECOVERING))) {
        double acked = (double)exm.acked;
        cwnd += cwnd < ssthresh ? acked : increase * acked / cwnd;
    }
    decide();
}

/* The host inferred congestion. */
void EXM_EXPORT(on_congestion)(void) {
    switch (exm.kind) {
    case EXM_SPURIOUS:
        break;
    case EXM_IDLE:
        ssthresh = larger(ssthresh, 0.75 * cwnd);
        cwnd = smaller(cwnd, (double)exm.packets);
        break;
    case EXM_TIMEOUT:
        ssthresh = larger(cwnd / 2, 2);
        cwnd = 1;
        recovered_at = exm.now;
        break;
    default: /* lost, or marked by a router: once a round trip */
        if (exm.sent_at >= recovered_at) {
            ssthresh = larger(cwnd / 2, 2);
            cwnd = ssthresh;
            recovered_at = exm.now;
        }
    }
    decide();
}

/* The time that it asked for by wake_at has come. */
void EXM_EXPORT(on_tick)(void) {
    decide();
}
