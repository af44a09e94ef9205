/* SPDX-License-Identifier: Apache-2.0 */
#include "service/hung_gangs.h"

#include "base/hash.h"
#include "base/strbuf.h"
#include "k8s/kinds.h"
#include "model/identity.h"
#include "postmortem/owner.h"

#include <stdio.h>
#include <string.h>

/* A dead rank; of those with the same slot only the last one, which the others are continued by. Sorted by gang and
 * slot. */
struct dead_rank {
	uint64_t gang, slot;
	int64_t died_ms;
	const char *kind; /* of its end, as in struct hung_gang; borrowed from the search */
	int64_t since_ms; /* a pod of this slot that was created at this time or later does its work */
	bool is_back;
	/* Of the siblings; only in the first entry of each gang. started_ms: when the last of them began to run. */
	int64_t n_pods, accelerators_milli, started_ms;
};

struct search {
	int64_t now_ms;
	const struct pods_found_end *ends; /* from logs and Events */
	size_t n_ends;
	VEC(struct dead_rank) dead;
	bool has_failed; /* no memory */
};

/* The entries of one gang, and the one that is named. */
struct found {
	const struct dead_rank *first, *named;
	int64_t n_dead;
};

/* ---- one pod ---- */

static bool is_gang_kind(const struct sighting_owner *owner)
{
	const struct kind *kind = *owner->kind ? kind_find_api_version(owner->api_version, owner->kind) : NULL;

	return kind && !kind->is_recurring && kind->template_paths &&
	       (kind->class_ == KIND_TRAINING || streq(kind->name, "Job"));
}

/* The object whose pods need each other. NULL: none, or not known yet. */
static const struct sighting_owner *gang_owner(const struct sighting *pod)
{
	if (!pod->is_root_known || pod->is_independent)
		return NULL;
	return is_gang_kind(&pod->root) ? &pod->root : is_gang_kind(&pod->owner) ? &pod->owner : NULL;
}

static uint64_t hash_gang(const struct sighting_owner *owner)
{
	return hash_stable_text(HASH_STABLE_INIT, owner->uid);
}

/* What pods of one rank and role have in common, apart from the attempt. @return whether the rank is known. */
static bool find_slot(const struct sighting *pod, uint64_t *ret)
{
	struct identity identity;

	sighting_identity(pod, &identity);
	*ret = hash_stable(hash_stable_text(HASH_STABLE_INIT, identity.role), &identity.rank, sizeof(identity.rank));
	return identity.rank >= 0;
}

static int64_t accelerators_of(const struct sighting *pod)
{
	int64_t sum = 0;

	for (size_t i = 0; i < pod->containers.n; i++)
		sum += pod->containers.items[i].accelerators_milli;
	return sum;
}

/* The container that runs and has the accelerators; in a pod without any, one that runs. NULL: none. */
static const struct sighting_container *find_working(const struct sighting *pod, int64_t accelerators_milli)
{
	for (size_t i = 0; i < pod->containers.n; i++)
		if (pod->containers.items[i].is_running &&
		    (!accelerators_milli || pod->containers.items[i].accelerators_milli))
			return &pod->containers.items[i];
	return NULL;
}

static const char *kind_of_eviction(const struct sighting *pod)
{
	return pod->ends & END_EVICTED_MEMORY	   ? HUNG_EVICTED_MEMORY
	       : pod->ends & END_EVICTED_EPHEMERAL ? HUNG_EVICTED_STORAGE
						   : NULL;
}

/* Whether an OOM kill ended the work of the pod; of several containers the last kill counts. */
static bool find_kill(const struct sighting *pod, struct dead_rank *ret)
{
	ret->died_ms = 0;
	ret->kind = "";
	for (size_t i = 0; i < pod->containers.n; i++)
		if (pod->containers.items[i].ends & END_OOM_KILLED)
			ret->died_ms = MAX(ret->died_ms, pod->containers.items[i].last_oom_ms);
	return ret->died_ms != 0;
}

/* When a container of the accelerators, in a pod without any one of all, ended with an error until then. 0: none has.
 */
static int64_t failed_until(const struct sighting *pod, int64_t end_ms)
{
	bool has_accelerators = accelerators_of(pod) > 0;

	for (size_t i = 0; i < pod->containers.n; i++) {
		const struct sighting_container *container = &pod->containers.items[i];

		if (container->ends & END_ERROR && container->failed_ms <= end_ms &&
		    (container->accelerators_milli || !has_accelerators))
			return container->failed_ms;
	}
	return 0;
}

/* Whether an error ended it that was found to be for memory. A later error, after a restart, is another one. */
static bool find_error(const struct search *self, const struct sighting *pod, struct dead_rank *ret)
{
	for (size_t i = 0; i < self->n_ends; i++)
		if (streq(self->ends[i].uid, pod->uid)) {
			ret->died_ms = failed_until(pod, self->ends[i].end_ms);
			ret->kind = self->ends[i].kind;
			return ret->died_ms != 0;
		}
	return false;
}

/* Sets died_ms and kind if the pod has died for memory and no container does its work. */
static bool find_death(const struct search *self, const struct sighting *pod, struct dead_rank *ret)
{
	if (pod->ends & (END_SUCCEEDED | END_PREEMPTED) || find_working(pod, accelerators_of(pod)))
		return false;
	if (pod->ends & END_EVICTED) {
		ret->died_ms = pod->end_ms;
		ret->kind = kind_of_eviction(pod);
		return ret->kind && ret->died_ms;
	}
	return find_kill(pod, ret) || find_error(self, pod, ret);
}

/* @return false: the pod is no dead rank. */
static bool read_dead(const struct search *self, const struct sighting *pod, struct dead_rank *ret)
{
	const struct sighting_owner *owner;

	*ret = (struct dead_rank){.kind = ""};
	if (!find_death(self, pod, ret) || ret->died_ms > self->now_ms - HUNG_AFTER_MS || !(owner = gang_owner(pod)))
		return false;
	ret->gang = hash_gang(owner);
	/* The rank of a retry is often not known: then whatever was created after the death counts as one. */
	ret->since_ms = find_slot(pod, &ret->slot) ? pod->created_ms + 1 : ret->died_ms;
	return true;
}

/* ---- the passes ---- */

static bool collect_dead(void *context, const struct sighting *pod)
{
	struct search *self = context;
	struct dead_rank dead;

	if (read_dead(self, pod, &dead))
		self->has_failed |= vec_push(&self->dead, dead) != 0;
	return !self->has_failed;
}

static int compare_slots(const struct dead_rank *a, const struct dead_rank *b)
{
	if (a->gang != b->gang)
		return a->gang < b->gang ? -1 : 1;
	return a->slot == b->slot ? 0 : a->slot < b->slot ? -1 : 1;
}

/* Of the same slot the last one comes first. */
static int compare_dead(const void *left, const void *right)
{
	const struct dead_rank *a = left, *b = right;
	int order = compare_slots(a, b);

	return order ? order : a->since_ms == b->since_ms ? 0 : a->since_ms > b->since_ms ? -1 : 1;
}

static void keep_last(struct search *self)
{
	size_t n = 0;

	if (self->dead.n)
		qsort(self->dead.items, self->dead.n, sizeof(*self->dead.items), compare_dead);
	for (size_t i = 0; i < self->dead.n; i++)
		if (!n || compare_slots(&self->dead.items[n - 1], &self->dead.items[i]))
			self->dead.items[n++] = self->dead.items[i];
	self->dead.n = n;
}

/* The first entry that is not below `key`, if it is of the same gang. */
static struct dead_rank *find_from(struct search *self, const struct dead_rank *key)
{
	size_t low = 0, high = self->dead.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_slots(&self->dead.items[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < self->dead.n && self->dead.items[low].gang == key->gang ? &self->dead.items[low] : NULL;
}

static bool weigh_sibling(void *context, const struct sighting *pod)
{
	struct search *self = context;
	const struct sighting_owner *owner = gang_owner(pod);
	struct dead_rank key = {.gang = owner ? hash_gang(owner) : 0}, *first, *dead;
	int64_t accelerators_milli = accelerators_of(pod);
	const struct sighting_container *working = find_working(pod, accelerators_milli);
	bool is_queue;

	if (!owner || !(first = find_from(self, &key)))
		return true;
	/* A pod without a rank that has succeeded did not wait for the others: they share a queue of work. */
	is_queue = !find_slot(pod, &key.slot) && pod->ends & END_SUCCEEDED;
	dead = find_from(self, &key);
	if (dead && dead->slot == key.slot)
		dead->is_back |= is_queue || pod->created_ms >= dead->since_ms;
	if (accelerators_milli && working && !sighting_is_over(pod) && !pod->deleted_ms) {
		first->started_ms = MAX(first->started_ms, MAX(working->started_ms, pod->created_ms));
		first->n_pods++;
		first->accelerators_milli += accelerators_milli;
	}
	return true;
}

/* ---- the list ---- */

/* A sibling that began to run after the death was started without the dead rank, and does not wait for it. */
static struct found judge_gang(const struct dead_rank *first, const struct dead_rank *end)
{
	struct found found = {.first = first};

	for (const struct dead_rank *dead = first; dead < end && dead->gang == first->gang; dead++) {
		if (dead->is_back || first->started_ms > dead->died_ms)
			continue;
		found.n_dead++;
		if (!found.named || dead->died_ms < found.named->died_ms)
			found.named = dead;
	}
	return found;
}

static bool hangs_longer(const struct found *a, const struct found *b)
{
	return a->named->died_ms < b->named->died_ms ||
	       (a->named->died_ms == b->named->died_ms && a->named->gang < b->named->gang);
}

/* Those that hang for longest, in this order. */
static void list_gang(struct found items[HUNG_LISTED], size_t *n, const struct found *found)
{
	size_t i = *n < HUNG_LISTED ? (*n)++ : HUNG_LISTED;

	if (i == HUNG_LISTED && !hangs_longer(found, &items[--i]))
		return;
	for (; i > 0 && hangs_longer(found, &items[i - 1]); i--)
		items[i] = items[i - 1];
	items[i] = *found;
}

static size_t find_hung(const struct search *self, struct found items[HUNG_LISTED], struct hung_list *ret)
{
	const struct dead_rank *end = self->dead.items + self->dead.n;
	uint64_t before = 0;
	size_t n = 0;

	for (const struct dead_rank *first = self->dead.items; first < end; before = first->gang, first++) {
		struct found found;

		if (first > self->dead.items && first->gang == before)
			continue;
		found = judge_gang(first, end);
		if (!found.named || !first->n_pods)
			continue;
		ret->n++;
		ret->accelerators_milli += first->accelerators_milli;
		list_gang(items, &n, &found);
	}
	return n;
}

/* ---- names ---- */

struct naming {
	const struct search *search;
	const struct found *items;
	struct hung_list *ret;
};

static void render_command(const struct sighting_owner *of, const char *namespace_name, char *ret, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * KIB);
	const char *slash = strchr(of->api_version, '/');
	char group[LIMIT_NAME_BYTES + 1] = "";
	struct owner owner = {.group = group, .kind = of->kind};

	if (slash)
		snprintf(group, sizeof(group), "%.*s", (int)MIN(slash - of->api_version, LIMIT_NAME_BYTES),
			 of->api_version);
	snprintf(owner.name, sizeof(owner.name), "%s", of->name);
	owner_render_stop(&owner, namespace_name, &text);
	/* A command that is cut would do something else. */
	snprintf(ret, size, "%s", text.len < size ? strbuf_text(&text) : "");
}

static bool name_gang(void *context, const struct sighting *pod)
{
	struct naming *self = context;
	struct dead_rank dead;

	if (!read_dead(self->search, pod, &dead))
		return true;
	for (size_t i = 0; i < self->ret->n_items; i++) {
		const struct found *found = &self->items[i];
		const struct sighting_owner *owner = gang_owner(pod);
		struct hung_gang *gang = &self->ret->items[i];

		if (compare_slots(found->named, &dead) || found->named->since_ms != dead.since_ms)
			continue;
		*gang = (struct hung_gang){.died_ms = dead.died_ms,
					   .n_dead = found->n_dead,
					   .n_pods = found->first->n_pods,
					   .accelerators_milli = found->first->accelerators_milli};
		snprintf(gang->namespace_name, sizeof(gang->namespace_name), "%s", pod->namespace_name);
		snprintf(gang->owner, sizeof(gang->owner), "%.60s/%s", owner->kind, owner->name);
		snprintf(gang->pod, sizeof(gang->pod), "%s", pod->name);
		snprintf(gang->kind, sizeof(gang->kind), "%s", dead.kind);
		render_command(owner, pod->namespace_name, gang->command, sizeof(gang->command));
	}
	return true;
}

bool hung_gangs_turn(struct hung_gangs *self, struct pods *pods, int64_t monotonic_ms, int64_t now_ms)
{
	struct search search = {.now_ms = now_ms, .ends = self->ends, .dead = VEC_INIT};
	struct found items[HUNG_LISTED];
	struct naming naming = {.search = &search, .items = items, .ret = &self->list};

	if ((self->searched_ms && monotonic_ms < self->searched_ms + HUNG_TURN_MS) || !pods_is_synced(pods))
		return false;
	self->searched_ms = monotonic_ms;
	search.n_ends = pods_found_ends(pods, self->ends);
	pods_visit(pods, collect_dead, &search);
	keep_last(&search);
	if (search.dead.n)
		pods_visit(pods, weigh_sibling, &search);
	self->list = (struct hung_list){.n = 0};
	self->list.n_items = find_hung(&search, items, &self->list);
	if (self->list.n_items)
		pods_visit(pods, name_gang, &naming);
	vec_release(&search.dead);
	return true;
}

bool hung_gangs_next(struct hung_gangs *self, struct notice *ret)
{
	for (size_t i = 0; i < self->list.n_items; i++) {
		const struct hung_gang *gang = &self->list.items[i];
		uint64_t hash = hash_stable_text(HASH_STABLE_INIT, gang->namespace_name);

		hash = hash_stable_text(hash_stable_text(hash, gang->owner), gang->pod);
		if (!reported_add(&self->reported, hash_stable(hash, &gang->died_ms, sizeof(gang->died_ms))))
			continue;
		notice_of_hung_gang(gang, ret);
		return true;
	}
	return false;
}
