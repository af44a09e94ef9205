/* SPDX-License-Identifier: Apache-2.0 */
/* Which facts are kept. Facts of one key (signal, source, rank and what the line says) stand for each other: the first
 * and the last of them are kept. Where there is no more room, keys become wider: first those of lines that only
 * describe the run, then those of errors that follow the end of a rank. */
#include "triage/facts_internal.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>

enum width { WIDTH_RANK, WIDTH_SOURCE, WIDTH_GROUP };

/* By how often room was made. */
struct widths {
	enum width at[FACTS_CROWD_MAX + 1];
};

static const struct widths of_ends = {{WIDTH_RANK, WIDTH_RANK, WIDTH_RANK, WIDTH_RANK, WIDTH_SOURCE, WIDTH_GROUP}},
			   of_followers = {{WIDTH_RANK, WIDTH_RANK, WIDTH_SOURCE, WIDTH_GROUP, WIDTH_GROUP,
					    WIDTH_GROUP}},
			   of_checkpoints = {{WIDTH_SOURCE, WIDTH_SOURCE, WIDTH_GROUP, WIDTH_GROUP, WIDTH_GROUP,
					      WIDTH_GROUP}},
			   of_ways = {{WIDTH_RANK, WIDTH_SOURCE, WIDTH_SOURCE, WIDTH_GROUP, WIDTH_GROUP, WIDTH_GROUP}},
			   of_settings = {
				   {WIDTH_RANK, WIDTH_GROUP, WIDTH_GROUP, WIDTH_GROUP, WIDTH_GROUP, WIDTH_GROUP}};

static const struct widths *widths_of(enum signal_id signal)
{
	switch (signal) {
	/* What all ranks say alike. */
	case SIGNAL_GPU_FRACTION:
	case SIGNAL_STARTING:
	case SIGNAL_LOADING:
	case SIGNAL_OFFLOAD:
	case SIGNAL_SNAPSHOT:
	case SIGNAL_TORCH_VERSION:
	case SIGNAL_SETTING:
		return &of_settings;
	/* What matters behind a failure of the same file. */
	case SIGNAL_RETRY:
	case SIGNAL_TESTS_PASSED:
	case SIGNAL_DONE:
	case SIGNAL_SERVING:
	case SIGNAL_SEMAPHORE:
	case SIGNAL_PINNING:
	case SIGNAL_NO_FAILURE:
	case SIGNAL_EXIT_ZERO:
	case SIGNAL_COMPLETED:
	case SIGNAL_GPU_ECC_PAST:
	case SIGNAL_DCGM_MEMORY:
	case SIGNAL_RECORDED:
	case SIGNAL_KERNEL_STATS:
	case SIGNAL_CLIMB:
	case SIGNAL_MEMORY_VOLUME:
	case SIGNAL_DATASET:
		return &of_ways;
	case SIGNAL_CHECKPOINT:
		return &of_checkpoints;
	/* What the other ranks say when one has died. */
	case SIGNAL_COLLECTIVE_TIMEOUT:
	case SIGNAL_TERMINATED:
	case SIGNAL_PREEMPTED:
	case SIGNAL_CHILD_KILLED:
	case SIGNAL_CHILD_BUS:
	case SIGNAL_WORKER_LOST:
	case SIGNAL_LIBRARY:
	case SIGNAL_EXCEPTION:
		return &of_followers;
	default:
		return &of_ends;
	}
}

bool facts_is_end(enum signal_id signal)
{
	return widths_of(signal) == &of_ends;
}

struct key {
	int64_t value; /* what must be the same in the line, too */
	uint64_t pod;  /* the hash of the uid of the pod that the line names; 0: none, or whatever */
	size_t place;  /* the source or the group */
	enum signal_id signal;
	enum scope scope;
	enum width width;
	int rank;
};
static_assert(sizeof(struct key) == 40, "a key is hashed as bytes, so it has no padding");

static int64_t value_of(const struct fact *fact)
{
	switch (fact->signal) {
	case SIGNAL_SETTING:
	case SIGNAL_XID:
	case SIGNAL_MEMORY_VOLUME:
	case SIGNAL_DATASET:
		return fact->reading.value;
	case SIGNAL_EXCEPTION:
	case SIGNAL_RETRY:
	case SIGNAL_CHECKPOINT:
	case SIGNAL_LOW_MEMORY:
	case SIGNAL_COMPLETED:
	case SIGNAL_MEMORY_ERROR:
		return fact->reading.is_exact;
	default:
		return 0;
	}
}

static struct key make_key(const struct facts *self, const struct fact *fact)
{
	struct key key;

	key.value = value_of(fact);
	key.signal = fact->signal;
	key.scope = fact->reading.scope;
	key.width = widths_of(fact->signal)->at[self->crowd];
	key.pod = key.width != WIDTH_GROUP && fact->reading.uid[0]
			  ? hash_seeded(fact->reading.uid, strlen(fact->reading.uid))
			  : 0;
	key.place = key.width == WIDTH_GROUP ? self->sources.items[fact->source].origin.group : fact->source;
	key.rank = key.width == WIDTH_RANK ? fact->rank : RANK_NONE;
	return key;
}

/* The slot of a key: that of its first fact, or the free one where it belongs. */
static uint16_t *find_slot(struct facts *self, const struct key *key)
{
	size_t i = hash_seeded(key, sizeof(*key)) % ARRAY_LEN(self->slots);

	while (self->slots[i]) {
		struct key other = make_key(self, &self->items.items[self->slots[i] - 1]);

		if (memcmp(&other, key, sizeof(other)) == 0)
			break;
		i = (i + 1) % ARRAY_LEN(self->slots);
	}
	return &self->slots[i];
}

/* Whether the fact is of the source that is being read, and names a pod. */
static bool is_of_pod(const struct facts *self, const struct fact *fact)
{
	return fact->reading.uid[0] && fact->source == facts_current_index(self);
}

/* Appends a fact whose key has less than two. @return its index; SIZE_MAX: no room or no memory. */
static size_t append(struct facts *self, const struct fact *fact)
{
	if (self->items.n >= LIMIT_TRIAGE_FACTS)
		return SIZE_MAX;
	if (vec_push(&self->items, *fact)) {
		self->status = -ENOMEM;
		return SIZE_MAX;
	}
	self->items.items[self->items.n - 1].last = self->items.n - 1;
	self->n_pod_facts += is_of_pod(self, fact);
	return self->items.n - 1;
}

/* Puts a fact where it belongs. @return its index; SIZE_MAX: there is no room, or a later one stands for it
 * (`ret_is_merged`). */
static size_t put(struct facts *self, struct fact *fact, bool *ret_is_merged)
{
	struct key key = make_key(self, fact);
	uint16_t *slot = find_slot(self, &key);
	struct fact *items = self->items.items, *last;
	size_t first = *slot ? (size_t)*slot - 1 : SIZE_MAX, added;

	*ret_is_merged = first != SIZE_MAX && items[first].last != first;
	if (*ret_is_merged) {
		last = &items[items[first].last];
		if (fact->order < last->order)
			return SIZE_MAX;
		fact->last = items[first].last;
		*last = *fact;
		return fact->last;
	}
	added = append(self, fact);
	if (added == SIZE_MAX)
		return added;
	if (first == SIZE_MAX)
		*slot = (uint16_t)(added + 1);
	else
		self->items.items[first].last = added;
	return added;
}

static void move_index(size_t *index, size_t from, size_t to)
{
	if (*index == from)
		*index = to;
}

/* Puts all facts anew, but for those that name a pod in the current source and are older than `oldest`. */
static void keep_from(struct facts *self, uint64_t oldest)
{
	size_t *const indices[] = {&self->open_oom, &self->open_checkpoint, &self->open_slurm, &self->kernel.open,
				   &self->kernel.limited};
	size_t old[ARRAY_LEN(indices)], n = self->items.n;
	bool is_merged = false;

	for (size_t k = 0; k < ARRAY_LEN(indices); k++) {
		old[k] = *indices[k];
		*indices[k] = SIZE_MAX;
	}
	self->items.n = self->n_pod_facts = 0;
	memset(self->slots, 0, sizeof(self->slots));
	for (size_t i = 0; i < n; i++) {
		struct fact fact = self->items.items[i];
		size_t now;

		if (is_of_pod(self, &fact) && fact.order < oldest)
			continue;
		now = put(self, &fact, &is_merged);
		self->n_left_out += is_merged;
		for (size_t k = 0; k < ARRAY_LEN(indices); k++) {
			/* The fact that was there has been written over. */
			if (is_merged)
				move_index(indices[k], now, SIZE_MAX);
			if (old[k] == i)
				*indices[k] = now;
		}
	}
}

void facts_keep_again(struct facts *self)
{
	keep_from(self, 0);
}

int facts_compare_orders(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* The log of a node may tell of any number of pods: of those that it names, the older half goes. */
static void drop_old_pods(struct facts *self)
{
	uint64_t orders[LIMIT_TRIAGE_POD_FACTS];
	size_t n = 0;

	for (size_t i = 0; i < self->items.n && n < ARRAY_LEN(orders); i++)
		if (is_of_pod(self, &self->items.items[i]))
			orders[n++] = self->items.items[i].order;
	qsort(orders, n, sizeof(orders[0]), facts_compare_orders);
	keep_from(self, n ? orders[n / 2] : 0);
}

size_t facts_keep(struct facts *self, struct fact *fact)
{
	bool is_merged;
	size_t at;

	if (is_of_pod(self, fact) && self->n_pod_facts >= LIMIT_TRIAGE_POD_FACTS)
		drop_old_pods(self);
	at = put(self, fact, &is_merged);
	while (at == SIZE_MAX && !is_merged && !self->status && self->crowd < FACTS_CROWD_MAX) {
		self->crowd++;
		facts_keep_again(self);
		at = put(self, fact, &is_merged);
	}
	self->n_left_out += at == SIZE_MAX && !is_merged && !self->status;
	return at;
}
