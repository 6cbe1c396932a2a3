/* A RemyCC in integers: what the crate exm-remy computes in `fixed`, to the bit. It depends on nothing.
 *
 * REMY_CUTS and REMY_RULES, the room for comparisons and rules of a table, are defined before this file is
 * included. Times are in nanoseconds unless said; no pointer may be null. */

#ifndef REMY_INTEGERS
#include <stdint.h>
typedef uint8_t remy_u8;
typedef int32_t remy_s32;
typedef uint32_t remy_u32;
typedef int64_t remy_s64;
typedef uint64_t remy_u64;
#define REMY_INLINE static inline
#endif

/* The largest window of any table, in packets. */
#define REMY_MAX_WINDOW 1000000
/* The most comparisons that lead to a rule. */
#define REMY_STEPS 64
/* The bits behind the point of times, of the ratio of RTTs, of the low part of a multiple; the bits of a double's
 * significand. */
#define REMY_TIME_BITS 16
#define REMY_RATIO_BITS 46
#define REMY_LOW_BITS 26
#define REMY_LOW_MASK ((1ULL << REMY_LOW_BITS) - 1)
#define REMY_SIGNIFICAND 53

/* Whether the signal of number `axis` is at least `bound` decides what follows: a comparison, or the complement of
 * a rule's number. */
struct remy_cut {
	remy_s64 bound;
	remy_s32 next[2];
	remy_u32 axis;
	remy_u32 unused;
};

/* The multiple is (high 2^26 + low) / 2^(26 + shift). */
struct remy_action {
	remy_u32 high;
	remy_u32 low;
	remy_u32 shift;
	remy_s32 increment;
	remy_u64 intersend;
};

struct remy_table {
	remy_s32 root;
	/* The largest window that this table may reach, in packets. */
	remy_u32 max_window;
	remy_u32 cuts_used;
	remy_u32 rules_used;
	struct remy_cut cuts[REMY_CUTS];
	struct remy_action actions[REMY_RULES];
};

/* Averages in 2^-16 ns. The RTT is zero before the second ACK, the least RTT before the first. */
struct remy_memory {
	remy_s64 send;
	remy_s64 ack;
	remy_s64 slow;
	remy_s64 queueing;
	remy_u64 rtt;
	remy_u64 min_rtt;
	remy_s64 last_sent;
	remy_s64 last_received;
};

/* A flow: its memory, its window in packets, and the rule applied last. */
struct remy_sender {
	struct remy_memory memory;
	remy_u32 window;
	remy_u32 rule;
};

REMY_INLINE remy_s64 remy_clamp(remy_s64 value, remy_s64 least, remy_s64 most)
{
	return value < least ? least : value > most ? most : value;
}

/* The time between two packets, in 2^-16 ns: ten hours at most. */
REMY_INLINE remy_s64 remy_apart(remy_s64 after, remy_s64 before)
{
	remy_s64 apart = (remy_s64)((remy_u64)after - (remy_u64)before);

	return remy_clamp(apart, -(1LL << 45), 1LL << 45) * (1 << REMY_TIME_BITS);
}

/* The moving average after one more sample, of weight 2^-bits. */
REMY_INLINE remy_s64 remy_average(remy_s64 average, remy_s64 sample, int bits)
{
	return average + ((sample - average + (1 << (bits - 1))) >> bits);
}

/* Updates the memory with an ACK of a packet sent at `sent`, that came at `received`. `gap` is 1, and 1 more for
 * each packet lost before this one. */
REMY_INLINE void remy_remember(struct remy_memory *memory, remy_s64 sent, remy_s64 received, remy_u64 rtt,
				 remy_u32 gap)
{
	rtt = rtt == 0 ? 1 : rtt > 1ULL << 41 ? 1ULL << 41 : rtt;
	gap = gap == 0 ? 1 : gap > 65535 ? 65535 : gap;
	if (memory->min_rtt == 0) {
		memory->min_rtt = rtt;
	} else {
		remy_s64 sent_apart = remy_apart(sent, memory->last_sent);
		remy_s64 received_apart = remy_apart(received, memory->last_received);

		if (rtt < memory->min_rtt)
			memory->min_rtt = rtt;
		memory->rtt = rtt;
		memory->send = remy_average(memory->send, sent_apart, 3);
		memory->ack = remy_average(memory->ack, received_apart, 3);
		memory->slow = remy_average(memory->slow, received_apart, 8);
		memory->queueing = remy_clamp(memory->ack, -(1LL << 47) + 1, (1LL << 47) - 1) * gap;
	}
	memory->last_sent = sent;
	memory->last_received = received;
}

/* The latest RTT over the least, in 2^-46: by long division, 23 bits at a time. */
REMY_INLINE remy_s64 remy_ratio(const struct remy_memory *memory)
{
	const int digit = REMY_RATIO_BITS / 2;
	remy_u64 least = memory->min_rtt, whole, rest, high, low;

	if (memory->rtt == 0 || least == 0)
		return 0;
	whole = memory->rtt / least;
	whole = whole > 1 << 16 ? 1 << 16 : whole;
	rest = (memory->rtt % least) << digit;
	high = rest / least;
	low = ((rest % least) << digit) / least;
	return (remy_s64)(whole << REMY_RATIO_BITS | high << digit | low);
}

/* The number of the rule for what a flow remembers, below `rules_used`. */
REMY_INLINE remy_u32 remy_find(const struct remy_table *table, const struct remy_memory *memory)
{
	remy_s64 signals[8] = {
		memory->send,
		memory->ack,
		remy_ratio(memory),
		memory->slow,
		memory->rtt > memory->min_rtt ? (remy_s64)((memory->rtt - memory->min_rtt) << REMY_TIME_BITS) : 0,
		memory->queueing,
		0,
		0,
	};
	remy_s32 next = table->root;
	int step;

	for (step = 0; step < REMY_STEPS && next >= 0 && next < REMY_CUTS; step++) {
		const struct remy_cut *cut = &table->cuts[next];

		next = cut->next[signals[cut->axis & 7] >= cut->bound];
	}
	return (remy_u32)~next;
}

/* The number of bits of `number`. */
REMY_INLINE int remy_bits(remy_u64 number)
{
	int bits = 0, half;

	for (half = 32; half > 0; half /= 2) {
		if (number >> half) {
			number >>= half;
			bits += half;
		}
	}
	return bits + (number != 0);
}

/* The window after `action` on one of `window` packets: to the bit what doubles give, which round the product, ties
 * to even, and then the sum. */
REMY_INLINE remy_u32 remy_window(const struct remy_action *action, remy_u32 window, remy_u32 most)
{
	remy_u64 low, high, unit, half, tie, below;
	remy_s64 whole;
	int dropped, shift = action->shift & 63, place;

	window = window > REMY_MAX_WINDOW ? REMY_MAX_WINDOW : window;
	low = (remy_u64)action->low * window;
	high = (remy_u64)action->high * window + (low >> REMY_LOW_BITS);
	low &= REMY_LOW_MASK;

	dropped = remy_bits(high) + REMY_LOW_BITS - REMY_SIGNIFICAND;
	if (dropped > 0) {
		unit = 1ULL << dropped;
		half = unit >> 1;
		tie = (low & (unit - 1)) == half ? unit : 0;
		low += half;
		high += low >> REMY_LOW_BITS;
		low &= REMY_LOW_MASK & ~(unit - 1) & ~tie;
	}

	whole = (remy_s64)(high >> shift) + action->increment;
	if (whole < 0)
		return 0;
	/* Adding rounds up to the next whole number from half a unit in the sum's last place below it. */
	place = shift + REMY_LOW_BITS + remy_bits((remy_u64)whole) - REMY_SIGNIFICAND - 1;
	below = (1ULL << (shift + REMY_LOW_BITS)) - ((high & ((1ULL << shift) - 1)) << REMY_LOW_BITS | low);
	if (action->increment > 0 && place >= 0 && below <= 1ULL << place)
		whole++;
	return whole > most ? most : (remy_u32)whole;
}

/* Applies the rule for what a flow remembers, and returns its minimum time between packets. */
REMY_INLINE remy_u64 remy_apply(const struct remy_table *table, struct remy_sender *sender)
{
	remy_u32 rule = remy_find(table, &sender->memory);

	if (rule >= REMY_RULES)
		return 0;
	sender->rule = rule;
	sender->window = remy_window(&table->actions[rule], sender->window, table->max_window);
	return table->actions[rule].intersend;
}
