/* For tests and benchmarks: follows a script of ACKs with the functions of the congestion control. */

#include "table.h"

#define EVENTS 65536

/* An ACK, and what came of it. */
struct event {
	__s64 sent;
	__s64 received;
	__u64 rtt;
	__u64 intersend;
	__u32 gap;
	__u32 window;
	__u32 rule;
	__u32 unused;
};

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, EVENTS * sizeof(struct event));
} events SEC(".maps");

/* What goes in and comes out: the sender, before the script and after it. */
struct script {
	struct remy_sender sender;
	__u32 count;
	__u32 begins;
};

struct following {
	const struct remy_table *table;
	struct event *events;
	struct remy_sender sender;
};

static long on_event(__u32 index, struct following *following)
{
	struct event *event = &following->events[index & (EVENTS - 1)];

	remy_remember(&following->sender.memory, event->sent, event->received, event->rtt, event->gap);
	event->intersend = remy_apply(following->table, &following->sender);
	event->window = following->sender.window;
	event->rule = following->sender.rule;
	return 0;
}

SEC("syscall")
int remy_script(struct script *script)
{
	struct following following = { .table = current_table(), .sender = script->sender };
	__u32 key = 0;

	following.events = map_lookup(&events, &key);
	if (!following.table || !following.events)
		return 1;
	if (script->begins)
		remy_apply(following.table, &following.sender);
	loop(script->count, on_event, &following, 0);
	script->sender = following.sender;
	return 0;
}
