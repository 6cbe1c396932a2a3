/* A RemyCC whose table is in a map, which can be exchanged while connections live. exm-kernel loads it. */

#include "operations.h"

/* As it was called before Linux 6.10. */
SEC("struct_ops/cong_control_2")
void remy_cong_control_2(__u64 *ctx)
{
	on_ack((void *)ctx[0], (void *)ctx[1]);
}

/* A connection, for `exm kernel show`. */
struct connection {
	char algorithm[16];
	/* Of this end and the other, IPv4 in the first four bytes. */
	__u8 addresses[2][16];
	/* This one in the machine's order, the other in the network's. */
	__u16 ports[2];
	__u16 family;
	__u16 unused;
	__u32 mss;
	__u32 snd_cwnd;
	__u64 pacing_rate;
	struct flow flow;
};

SEC("iter/tcp")
int remy_connections(struct bpf_iter__tcp *ctx)
{
	struct connection connection = {};
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp = common ? to_tcp_sock(common) : 0;

	if (!tp)
		return 0;
	common = &((struct sock *)tp)->__sk_common;
	connection.family = common->skc_family;
	connection.ports[0] = common->skc_num;
	connection.ports[1] = common->skc_dport;
	if (connection.family == FAMILY_IPV4) {
		probe_read_kernel(connection.addresses[0], 4, &common->skc_rcv_saddr);
		probe_read_kernel(connection.addresses[1], 4, &common->skc_daddr);
	} else {
		probe_read_kernel(connection.addresses[0], 16, &common->skc_v6_rcv_saddr);
		probe_read_kernel(connection.addresses[1], 16, &common->skc_v6_daddr);
	}
	connection.mss = tp->mss_cache;
	connection.snd_cwnd = tp->snd_cwnd;
	connection.pacing_rate = ((struct sock *)tp)->sk_pacing_rate;
	probe_read_kernel(connection.algorithm, sizeof(connection.algorithm), tp->inet_conn.icsk_ca_ops->name);
	probe_read_kernel(&connection.flow, sizeof(connection.flow), tp->inet_conn.icsk_ca_priv);
	seq_write(ctx->meta->seq, &connection, sizeof(connection));
	return 0;
}
