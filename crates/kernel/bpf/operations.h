/* A RemyCC as congestion control of the Linux kernel (struct_ops). `make kernel-object` builds the programs that
 * include this. */

#include "table.h"

/* A connection, in its icsk_ca_priv: 104 bytes at most. */
struct flow {
	struct remy_sender sender;
	/* The RTT of the last packet that was not sent twice, us. */
	__u32 rtt;
	__u8 ca_state;
	/* The window is still below the table's after a loss. */
	__u8 recovering;
	/* A full packet was acknowledged. */
	__u8 is_bulk;
	__u8 unused;
	__u64 acks;
	__u64 bytes_acked;
};

REMY_INLINE void pace(struct sock *sk, __u64 intersend)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	/* The kernel counts the bytes of segments against this rate. */
	sk->sk_pacing_rate = intersend ? tp->mss_cache * 1000000000ULL / intersend : ~0UL;
}

REMY_INLINE __u32 bounded(struct tcp_sock *tp, __u32 window)
{
	/* The kernel knows no window of zero. */
	window = window ? window : 1;
	return window < tp->snd_cwnd_clamp ? window : tp->snd_cwnd_clamp;
}

/* A flow begins: nothing is remembered. */
REMY_INLINE void begin(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = (void *)tp->inet_conn.icsk_ca_priv;
	const struct remy_table *table = current_table();
	struct remy_sender sender = {};

	if (!table)
		return;
	pace(sk, remy_apply(table, &sender));
	flow->sender = sender;
	tp->snd_cwnd = bounded(tp, sender.window);
}

SEC("struct_ops/init")
void remy_init(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = (void *)tp->inet_conn.icsk_ca_priv;

	flow->rtt = 0;
	flow->ca_state = 0;
	flow->recovering = 0;
	flow->is_bulk = 0;
	flow->acks = 0;
	flow->bytes_acked = tp->bytes_acked;
	sk->sk_pacing_status = PACING_NEEDED;
	begin(sk);
}

/* The packets of one ACK, one after the other. */
struct acked {
	const struct remy_table *table;
	struct remy_sender sender;
	__s64 sent_step;
	__s64 received_step;
	__u64 rtt;
	__u64 intersend;
	__u32 gap;
};

static long on_packet(__u32 index, struct acked *acked)
{
	struct remy_memory *memory = &acked->sender.memory;

	remy_remember(memory, memory->last_sent + acked->sent_step, memory->last_received + acked->received_step,
		      acked->rtt, acked->gap);
	acked->gap = 1;
	acked->intersend = remy_apply(acked->table, &acked->sender);
	return 0;
}

/* The `packets`-th part of the time from `before` to `after`. */
REMY_INLINE __s64 step(__s64 after, __s64 before, __u32 packets)
{
	return after < before ? -(__s64)((__u64)(before - after) / packets) : (__u64)(after - before) / packets;
}

/* Spreads the ACK of `packets` packets over the time since the one before, as if each had had its own: of the
 * packets, the kernel says only when the last one left. */
REMY_INLINE __u64 follow(struct tcp_sock *tp, struct flow *flow, __u32 packets, int losses)
{
	__s64 sent = tp->first_tx_mstamp * 1000, received = tp->tcp_mstamp * 1000;
	struct acked acked = { .table = current_table(), .sender = flow->sender };
	struct remy_memory *memory = &acked.sender.memory;

	if (!acked.table)
		return 0;
	if (memory->min_rtt == 0) {
		memory->last_sent = sent;
		memory->last_received = received;
	}
	acked.sent_step = step(sent, memory->last_sent, packets);
	acked.received_step = step(received, memory->last_received, packets);
	acked.rtt = flow->rtt * 1000ULL;
	acked.gap = losses > 0 ? 1 + losses : 1;
	loop(packets, on_packet, &acked, 0);
	memory->last_sent = sent;
	memory->last_received = received;
	flow->sender = acked.sender;
	flow->acks++;
	return acked.intersend;
}

REMY_INLINE __u32 in_flight(struct tcp_sock *tp)
{
	return tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;
}

/* The window of the kernel. While packets are lost, one leaves for each that arrives; then the window grows by what
 * arrives until it is the table's again. */
REMY_INLINE void set_window(struct tcp_sock *tp, struct flow *flow, __u32 packets)
{
	__u32 window = bounded(tp, flow->sender.window), conserved;

	if (flow->ca_state == CA_RECOVERY)
		conserved = in_flight(tp) + packets;
	else
		conserved = tp->snd_cwnd + packets;
	if (flow->ca_state >= CA_RECOVERY)
		flow->recovering = 1;
	else if (conserved >= window)
		flow->recovering = 0;
	if (flow->recovering && conserved < window)
		window = conserved ? conserved : 1;
	tp->snd_cwnd = window;
}

/* Whether the RTT of an ACK is one of full packets. Small ones, such as a request, are in the network for a shorter
 * time, and a table would take the difference for a queue: they tell the RTT only of flows that sent no full packet. */
REMY_INLINE int is_typical(struct tcp_sock *tp, struct flow *flow, __u32 packets)
{
	struct remy_memory nothing = {};
	__u64 bytes = tp->bytes_acked - flow->bytes_acked;
	int is_full = bytes >= (__u64)packets * tp->mss_cache / 2;

	flow->bytes_acked = tp->bytes_acked;
	/* It does not advance while packets are missing. */
	if (flow->ca_state >= CA_RECOVERY || bytes == 0)
		return 1;
	if (is_full && !flow->is_bulk) {
		flow->sender.memory = nothing;
		flow->is_bulk = 1;
	}
	return is_full || !flow->is_bulk;
}

REMY_INLINE void on_ack(struct sock *sk, struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = (void *)tp->inet_conn.icsk_ca_priv;
	__u32 packets = rs->acked_sacked;

	/* Packets sent twice give no RTT: it is not known which copy arrived. */
	if (is_typical(tp, flow, packets) && rs->rtt_us > 0)
		flow->rtt = rs->rtt_us;
	if (flow->rtt && packets - 1 < REMY_MAX_WINDOW)
		pace(sk, follow(tp, flow, packets, rs->losses));
	else
		packets = 0;
	set_window(tp, flow, packets);
}

SEC("struct_ops/cong_control")
void remy_cong_control(__u64 *ctx)
{
	on_ack((void *)ctx[0], (void *)ctx[3]);
}

SEC("struct_ops/set_state")
void remy_set_state(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *flow = (void *)tp->inet_conn.icsk_ca_priv;

	flow->ca_state = ctx[1];
}

/* After a pause longer than a retransmission timeout, what was remembered is of another time. */
SEC("struct_ops/cwnd_event")
void remy_cwnd_event(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = (void *)tp->inet_conn.icsk_ca_priv;
	__s64 idle = tp->tcp_mstamp - (__u64)flow->sender.memory.last_received / 1000;
	__u32 variation = tp->rttvar_us > 200000 ? tp->rttvar_us : 200000;

	if ((__u32)ctx[1] == EVENT_TX_START && flow->acks && idle > (tp->srtt_us >> 3) + variation)
		begin(sk);
}

/* The table's window says all: there is no threshold, and nothing to undo. */
SEC("struct_ops/ssthresh")
__u32 remy_ssthresh(__u64 *ctx)
{
	return ((struct tcp_sock *)ctx[0])->snd_ssthresh;
}

SEC("struct_ops/undo_cwnd")
__u32 remy_undo_cwnd(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *flow = (void *)tp->inet_conn.icsk_ca_priv;

	return bounded(tp, flow->sender.window);
}

/* Packets leave one by one where the pace is slow, not two at once. */
SEC("struct_ops/min_tso_segs")
__u32 remy_min_tso_segs(__u64 *ctx)
{
	return 1;
}
