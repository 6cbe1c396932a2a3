/* The parts of the kernel that remy.bpf.c looks at. The kernel finds where the fields lie when it loads the program,
 * so that one object serves every version (preserve_access_index). */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))
#define __uint(name, value) int(*name)[value]
#define __array(name, value) typeof(value) *name[]

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__u16 skc_family;
	__u16 skc_num;
	__u16 skc_dport;
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	__u32 sk_pacing_status;
} KERNEL;

struct rate_sample;

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, int event);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	void (*init)(struct sock *sk);
	__u32 flags;
} KERNEL;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u64 icsk_ca_priv[13];
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 mss_cache;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 srtt_us;
	__u32 rttvar_us;
	__u64 tcp_mstamp;
	__u64 first_tx_mstamp;
	__u64 bytes_acked;
} KERNEL;

struct rate_sample {
	long rtt_us;
	int losses;
	__u32 acked_sacked;
} KERNEL;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} KERNEL;

/* Kinds of maps (enum bpf_map_type). */
enum { MAP_ARRAY = 2, MAP_ARRAY_OF_MAPS = 12 };
/* The address family of IPv4 (AF_INET). */
enum { FAMILY_IPV4 = 2 };
/* States of congestion control (enum tcp_ca_state), and an event (enum tcp_ca_event). */
enum { CA_RECOVERY = 3, CA_LOSS = 4 };
enum { EVENT_TX_START = 0 };
/* The connection spaces its packets by a timer (enum sk_pacing). */
enum { PACING_NEEDED = 1 };
/* Users without rights may choose it (TCP_CONG_NON_RESTRICTED). */
enum { NON_RESTRICTED = 1 };

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*probe_read_kernel)(void *to, __u32 size, const void *from) = (void *)113;
static long (*seq_write)(struct seq_file *seq, const void *data, __u32 size) = (void *)127;
static struct tcp_sock *(*to_tcp_sock)(void *sk) = (void *)137;
static long (*loop)(__u32 iterations, void *body, void *context, __u64 flags) = (void *)181;
