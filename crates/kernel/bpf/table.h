/* The table of a program for the kernel. */

#include "kernel.h"

#define REMY_INTEGERS
typedef __u8 remy_u8;
typedef __s32 remy_s32;
typedef __u32 remy_u32;
typedef __s64 remy_s64;
typedef __u64 remy_u64;
#define REMY_INLINE static inline __attribute__((always_inline))
#define REMY_CUTS 32768
#define REMY_RULES 16384
#include "remy.h"

/* A name for people, and the table. */
struct image {
	char label[64];
	struct remy_table table;
};

#ifdef REMY_ALONE
/* In the object itself. */
const volatile struct image image SEC(".rodata.image");

REMY_INLINE const struct remy_table *current_table(void)
{
	return (const struct remy_table *)&image.table;
}
#else
/* In a map of maps: to exchange the inner map is to exchange the table. */
struct table_map {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct image));
};

struct {
	__uint(type, MAP_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__array(values, struct table_map);
} tables SEC(".maps");

REMY_INLINE const struct remy_table *current_table(void)
{
	__u32 key = 0;
	void *map = map_lookup(&tables, &key);
	struct image *image;

	if (!map)
		return 0;
	image = map_lookup(map, &key);
	return image ? &image->table : 0;
}
#endif

char remy_license[] SEC("license") = "Dual MIT/GPL";
