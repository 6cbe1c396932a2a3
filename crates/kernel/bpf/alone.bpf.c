/* A RemyCC with its table, for the loaders of others, such as `bpftool struct_ops register`: exm-kernel writes a
 * table and a name into it. */

#define REMY_ALONE
#include "operations.h"

SEC(".struct_ops")
struct tcp_congestion_ops remycc = {
	.init = (void *)remy_init,
	.set_state = (void *)remy_set_state,
	.cwnd_event = (void *)remy_cwnd_event,
	.ssthresh = (void *)remy_ssthresh,
	.undo_cwnd = (void *)remy_undo_cwnd,
	.min_tso_segs = (void *)remy_min_tso_segs,
	.cong_control = (void *)remy_cong_control,
	.flags = NON_RESTRICTED,
	.name = "remy",
};
