/* SPDX-License-Identifier: Apache-2.0 */
/* No patch gets a pod refused: random pods in random namespaces with LimitRanges and ResourceQuotas, patched, and asked
 * of a second writing of the API server's rules (api_rules.c). Whatever it refuses of the patched pod it must have
 * refused of the pod as it came; and where all pods of an owner were let in, all patched ones are. So are pods that an
 * owner makes at once, of one kind or of two, however far the reports of them lag behind.
 *
 * property_limits FIRST-SEED COUNT; a failure names its seed: property_limits SEED 1 runs it again. */
#include "api_rules.h"
#include "random_pod.h"

#include "../golden/json_patch.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "policy/decide.h"
#include "policy/render.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPTH 64

enum { GANG_MAX = 8 };

struct trial {
	uint64_t seed;
	struct random_state random;
	struct random_world world;
	struct arena arena;
	struct strbuf text, patch, free_patch, second_patch;
	struct json_object *pod, *limit_ranges, *quotas;
	struct json_object *made[GANG_MAX]; /* pods of the owner that exist, for run_gang and make_roles */
	int64_t owner_pods, held_pods;	    /* 0: not known */
	struct k8s_declared declared;	    /* zeros: not known */
	struct queue_facts queue;	    /* that counts pods without an owner; name NULL: none */
	int64_t failures;
};

static struct json_object *parse(const char *text)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	if (json_parse(text, strlen(text), DEPTH, &object, &err)) {
		fprintf(stderr, "%s: %s\n", err.msg, text);
		abort();
	}
	return object;
}

static struct json_object *copy_of(struct json_object *object)
{
	struct json_object *copy = NULL;

	if (json_object_deep_copy(object, &copy, NULL))
		abort();
	return copy;
}

/* ---- random namespaces ---- */

static int64_t random_amount(struct random_state *random)
{
	/* One after the other: the order inside an expression is the compiler's. */
	int64_t bytes = (int64_t)MIB << random_below(random, 19);

	return bytes + (int64_t)random_below(random, 2) * 12345;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void add_bound(struct strbuf *ret, const char *bound, const char *resource, int64_t bytes)
{
	strbuf_addf(ret, ",\"%s\":{\"%s\":\"%lld\"}", bound, resource, (long long)bytes);
}

/* min <= defaultRequest <= default <= max, as the API server wants it; defaults filled in as it does. */
static void random_item(struct random_state *random, bool is_pod, struct strbuf *ret)
{
	const char *resource = random_chance(random, 75) ? "memory" : "ephemeral-storage";
	bool has_min = random_chance(random, 40), has_max = random_chance(random, 60);
	int64_t sizes[4];

	for (int i = 0; i < 4; i++)
		sizes[i] = random_amount(random);
	qsort(sizes, 4, sizeof(*sizes), by_value);
	strbuf_addf(ret, "{\"type\":\"%s\"", is_pod ? "Pod" : "Container");
	if (has_min)
		add_bound(ret, "min", resource, sizes[0]);
	if (has_max)
		add_bound(ret, "max", resource, sizes[3]);
	if (!is_pod && (has_max || random_chance(random, 30))) {
		add_bound(ret, "default", resource, has_max && random_chance(random, 50) ? sizes[3] : sizes[2]);
		add_bound(ret, "defaultRequest", resource, sizes[1]);
	} else if (!is_pod && has_min) {
		add_bound(ret, "defaultRequest", resource, sizes[0]);
	}
	if (random_chance(random, 30))
		strbuf_addf(ret, ",\"maxLimitRequestRatio\":{\"%s\":\"%lldm\"}", resource,
			    (long long)random_below(random, 80) * 100 + 1000);
	strbuf_adds(ret, "}");
}

static struct json_object *random_limit_ranges(struct random_state *random)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	size_t n = random_below(random, 3);

	strbuf_adds(&text, "[");
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(&text,
			    "%s{\"metadata\":{\"namespace\":\"ml\",\"name\":\"range-%zu\"},\"spec\":{\"limits\":[",
			    i ? "," : "", i);
		random_item(random, false, &text);
		if (random_chance(random, 50)) {
			strbuf_adds(&text, ",");
			random_item(random, true, &text);
		}
		strbuf_adds(&text, "]}}");
	}
	strbuf_adds(&text, "]");
	return parse(strbuf_text(&text));
}

static void random_hard(struct random_state *random, struct strbuf *hard, struct strbuf *used)
{
	static const char *const keys[] = {
		"requests.memory",	    "limits.memory", "memory", "requests.cpu", "requests.ephemeral-storage",
		"limits.ephemeral-storage", "pods"};
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		int64_t taken = random_amount(random), room = random_amount(random);
		bool is_small = streq(keys[i], "pods") || streq(keys[i], "requests.cpu");

		if (!random_chance(random, is_small ? 20 : 40))
			continue;
		if (is_small) {
			taken = (int64_t)random_below(random, 10);
			room = (int64_t)random_below(random, 20);
		}
		strbuf_addf(hard, "%s\"%s\":\"%lld\"", comma, keys[i], (long long)(taken + room));
		strbuf_addf(used, "%s\"%s\":\"%lld\"", comma, keys[i], (long long)taken);
		comma = ",";
	}
}

static struct json_object *random_quotas(struct random_state *random)
{
	static const char *const scopes[] = {"NotBestEffort", "Terminating", "NotTerminating", "PriorityClass"};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	size_t n = random_below(random, 3);

	strbuf_adds(&text, "[");
	for (size_t i = 0; i < n; i++) {
		CLEANUP(strbuf_release) struct strbuf hard = STRBUF_INIT(4 * KIB), used = STRBUF_INIT(4 * KIB);

		random_hard(random, &hard, &used);
		strbuf_addf(&text, "%s{\"metadata\":{\"namespace\":\"ml\",\"name\":\"quota-%zu\"},\"spec\":{",
			    i ? "," : "", i);
		if (random_chance(random, 50))
			strbuf_addf(&text, "\"scopes\":[\"%s\"],", scopes[random_below(random, ARRAY_LEN(scopes))]);
		strbuf_addf(&text, "\"hard\":{%s}},\"status\":{\"hard\":{%s},\"used\":{%s}}}", strbuf_text(&hard),
			    strbuf_text(&hard), strbuf_text(&used));
	}
	strbuf_adds(&text, "]");
	return parse(strbuf_text(&text));
}

/* ---- the trial ---- */

/* Pods of the owner that are there already, at the size they came with: charged to the quotas. */
static void random_owner(struct trial *self, struct json_object *defaulted)
{
	if (random_chance(&self->random, 40))
		return;
	self->owner_pods = (int64_t)random_below(&self->random, 5) + 1;
	self->held_pods = (int64_t)random_below(&self->random, (uint64_t)self->owner_pods);
	for (int64_t i = 0; i < self->held_pods; i++)
		api_charge(defaulted, self->quotas);
}

/* `defaulted`: what each of the pods looks like that the owner has already, if `made` does not have it. */
static void put_owner(struct trial *self, struct json_object *defaulted, struct snapshot_builder *builder)
{
	static const char *const resources[K8S_RESOURCE_COUNT_] = {"cpu", "memory", "ephemeral-storage"};
	static const char *const maps[K8S_QUOTA_FIELDS_] = {"requests", "limits"};
	struct owner_facts owner = {
		.uid = "1", .pods = self->owner_pods, .held_pods = self->held_pods, .declared = self->declared};

	for (int64_t i = 0; i < self->held_pods; i++)
		for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
			for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
				owner.held[f][r] += api_pod_amount(self->made[i] ? self->made[i] : defaulted, maps[f],
								   resources[r]);
	if (self->owner_pods && snapshot_builder_put_owner(builder, &owner))
		abort();
}

static struct snapshot *snapshot_with_rules(struct trial *self, struct json_object *defaulted)
{
	struct snapshot_builder *builder = snapshot_builder_new(self->world.snapshot);
	struct snapshot *snapshot;
	struct k8s_limit_range range;
	struct k8s_quota quota;

	if (!builder)
		abort();
	for (size_t i = 0; i < json_object_array_length(self->limit_ranges); i++)
		if (k8s_limit_range_decode(json_object_array_get_idx(self->limit_ranges, i), &self->arena, &range,
					   NULL) ||
		    snapshot_builder_put_limit_range(builder, &range))
			abort();
	for (size_t i = 0; i < json_object_array_length(self->quotas); i++)
		if (k8s_quota_decode(json_object_array_get_idx(self->quotas, i), &self->arena, &quota, NULL) ||
		    snapshot_builder_put_quota(builder, &quota))
			abort();
	put_owner(self, defaulted, builder);
	if (self->queue.name && (snapshot_builder_put_queue(builder, &self->queue) ||
				 snapshot_builder_put_local_queue(builder, "ml", "default", self->queue.name)))
		abort();
	snapshot = snapshot_builder_finish(builder, 1);
	if (!snapshot)
		abort();
	return snapshot;
}

/* The pod after decide() and the API server's defaulting. */
static struct json_object *patched(struct trial *self, struct json_object *from, const struct snapshot *snapshot,
				   struct strbuf *patch)
{
	struct json_object *after = copy_of(from), *operations;
	struct k8s_pod pod;
	struct decision decision;
	struct decide_input input = {.pod = &pod,
				     .subject = SUBJECT_POD,
				     .namespace_name = "ml",
				     .replicas = 1,
				     .snapshot = snapshot,
				     .policy = &self->world.policy,
				     .now_ms = 1793607300000};

	if (k8s_pod_decode(from, &self->arena, &pod, NULL) || decide(&input, &self->arena, &decision, NULL) ||
	    render_patch(&input, &decision, &self->arena, patch))
		abort();
	if (patch->len) {
		operations = parse(patch->text);
		if (json_patch_apply(after, operations))
			abort();
		json_object_put(operations);
	}
	api_default(after, self->limit_ranges);
	return after;
}

static const char *new_refusal(struct trial *self, struct json_object *before, struct json_object *after)
{
	struct json_object *was = api_refusals(before, self->limit_ranges, self->quotas);
	struct json_object *is = api_refusals(after, self->limit_ranges, self->quotas);
	static char found[256];
	const char *ret = NULL;

	json_object_object_foreach(is, key, ignored)
	{
		(void)ignored;
		if (!json_member(was, key) && !ret) {
			snprintf(found, sizeof(found), "%s", key);
			ret = found;
		}
	}
	json_object_put(was);
	json_object_put(is);
	return ret;
}

/* How many of n pods, one after the other, are let in. */
static int64_t let_in(struct trial *self, struct json_object *pod, int64_t n)
{
	struct json_object *quotas = copy_of(self->quotas);
	int64_t in = 0;

	for (; in < n; in++) {
		struct json_object *refusals = api_refusals(pod, self->limit_ranges, quotas);
		bool is_refused = json_object_object_length(refusals) > 0;

		json_object_put(refusals);
		if (is_refused)
			break;
		api_charge(pod, quotas);
	}
	json_object_put(quotas);
	return in;
}

static void fail(struct trial *self, const char *what, const char *detail)
{
	self->failures++;
	fprintf(stderr,
		"seed %llu: %s: %s\n  owner  %lld pods, %lld held\n  pod    %s\n  ranges %s\n  quotas %s\n  patch  "
		"%s\n",
		(unsigned long long)self->seed, what, detail, (long long)self->owner_pods, (long long)self->held_pods,
		json_object_to_json_string(self->pod), json_object_to_json_string(self->limit_ranges),
		json_object_to_json_string(self->quotas), strbuf_text(&self->patch));
}

/* The states of the quotas after each pod of a gang, and how many pods there are. */
struct gang {
	struct json_object *states[GANG_MAX + 1];
	size_t n;
};

static void start_gang(struct trial *self, struct json_object *quotas, struct gang *ret)
{
	*ret = (struct gang){.states = {copy_of(quotas)}};
	self->held_pods = 0;
}

/* Makes one more pod. The webhook has seen some charges of the quotas, and some of the pods: the use of the quotas is
 * the larger one. If `must_fit`, the API server must let it in. */
static void make_pod(struct trial *self, struct gang *gang, struct json_object *before, bool must_fit)
{
	CLEANUP(strbuf_release) struct strbuf patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	struct json_object *quotas = self->quotas, *after;
	size_t charged = random_below(&self->random, gang->n + 1), seen = random_below(&self->random, gang->n + 1);
	struct snapshot *snapshot;

	self->quotas = gang->states[MAX(charged, seen)];
	self->held_pods = (int64_t)seen;
	snapshot = snapshot_with_rules(self, before);
	after = patched(self, self->pod, snapshot, &patch);
	snapshot_unref(snapshot);
	self->quotas = gang->states[gang->n];
	if (must_fit && !let_in(self, after, 1))
		fail(self, "a pod of a gang is refused because of the patch", json_object_to_json_string(after));
	self->quotas = quotas;
	gang->states[gang->n + 1] = copy_of(gang->states[gang->n]);
	api_charge(after, gang->states[gang->n + 1]);
	self->made[gang->n++] = after;
}

static void end_gang(struct trial *self, struct gang *gang)
{
	for (size_t i = 0; i <= gang->n; i++)
		json_object_put(gang->states[i]);
	for (size_t i = 0; i < gang->n; i++) {
		json_object_put(self->made[i]);
		self->made[i] = NULL;
	}
}

static void random_queue(struct trial *self)
{
	if (random_below(&self->random, 3))
		return;
	self->queue.name = "research";
	for (int r = K8S_MEMORY; r < K8S_RESOURCE_COUNT_; r++) {
		self->queue.is_covered[r] = random_below(&self->random, 3) > 0;
		self->queue.most[r] = (int64_t)random_below(&self->random, 64) * (int64_t)GIB;
	}
}

/* Kueue never admits more than the queue has; what the pod asks for itself is its own matter. */
static void check_queue(struct trial *self, struct json_object *before, struct json_object *after)
{
	if (!self->queue.name || json_member(json_member(self->pod, "metadata"), "ownerReferences"))
		return;
	for (int r = K8S_MEMORY; r < K8S_RESOURCE_COUNT_; r++) {
		int64_t was = api_pod_amount(before, "requests", k8s_resource_names[r]);
		int64_t most = self->queue.is_covered[r] ? self->queue.most[r] : 0;

		if (api_pod_amount(after, "requests", k8s_resource_names[r]) > MAX(was, most))
			fail(self, "never admitted because of the patch", k8s_resource_names[r]);
	}
}

/* Pods that an owner makes at once. */
static void run_gang(struct trial *self, struct json_object *before, struct json_object *untouched)
{
	bool is_owned = json_member(json_member(self->pod, "metadata"), "ownerReferences");
	size_t n = is_owned ? (size_t)MIN(self->owner_pods, GANG_MAX) : 0;
	struct json_object *quotas = self->quotas;
	struct gang gang;
	bool must_fit;

	self->quotas = untouched;
	must_fit = let_in(self, before, (int64_t)n) == (int64_t)n;
	start_gang(self, untouched, &gang);
	while (gang.n < n)
		make_pod(self, &gang, before, must_fit);
	end_gang(self, &gang);
	self->quotas = quotas;
}

/* ---- two kinds of pods ---- */

struct roles {
	struct json_object *pods[2], *before[2];
	size_t n[2];
};

static bool are_let_in(struct trial *self, struct json_object *const *pods, const size_t *n)
{
	struct json_object *quotas = self->quotas;
	bool is_in = true;

	self->quotas = copy_of(quotas);
	for (int role = 0; role < 2 && is_in; role++) {
		is_in = let_in(self, pods[role], (int64_t)n[role]) == (int64_t)n[role];
		for (size_t i = 0; i < n[role]; i++)
			api_charge(pods[role], self->quotas);
	}
	json_object_put(self->quotas);
	self->quotas = quotas;
	return is_in;
}

/* Another webhook before us: a proxy for each pod. */
static void inject(struct json_object *pod, int64_t mi)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB);

	strbuf_addf(&text,
		    "{\"name\":\"istio-proxy\",\"image\":\"i\",\"resources\":{\"requests\":{\"memory\":\"%lldMi\"},"
		    "\"limits\":{\"memory\":\"%lldMi\"}}}",
		    (long long)mi, (long long)mi);
	json_object_array_add(json_member(json_member(pod, "spec"), "containers"), parse(strbuf_text(&text)));
}

/* Another pod of the same owner, and what both are declared with. */
static void random_roles(struct trial *self, struct roles *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	struct json_object *metadata = json_member(self->pod, "metadata");
	int64_t injected = random_chance(&self->random, 30) ? (int64_t)random_below(&self->random, 2048) + 1 : 0;

	random_pod(&self->random, &text);
	ret->pods[0] = copy_of(self->pod);
	ret->pods[1] = parse(strbuf_text(&text));
	json_object_object_add(ret->pods[1], "metadata", copy_of(metadata));
	self->declared = (struct k8s_declared){.pods = 0};
	for (int role = 0; role < 2; role++) {
		struct k8s_pod pod;

		ret->n[role] = (size_t)random_below(&self->random, GANG_MAX / 2) + 1;
		if (k8s_pod_decode(ret->pods[role], &self->arena, &pod, NULL) ||
		    k8s_declared_add(&self->declared, &pod, (int64_t)ret->n[role], &self->arena))
			abort();
		if (injected)
			inject(ret->pods[role], injected);
		ret->before[role] = copy_of(ret->pods[role]);
		api_default(ret->before[role], self->limit_ranges);
	}
	self->owner_pods = (int64_t)(ret->n[0] + ret->n[1]);
	self->held_pods = 0;
}

/* They come in any order. */
static void make_roles(struct trial *self, const struct roles *roles)
{
	struct json_object *pod = self->pod;
	size_t n = (size_t)self->owner_pods, left[2] = {roles->n[0], roles->n[1]};
	struct gang gang;

	start_gang(self, self->quotas, &gang);
	while (gang.n < n) {
		int role = random_below(&self->random, n - gang.n) < left[0] ? 0 : 1;

		left[role]--;
		self->pod = roles->pods[role];
		make_pod(self, &gang, roles->before[role], true);
	}
	self->pod = pod;
	end_gang(self, &gang);
}

static void run_roles(struct trial *self, struct json_object *untouched)
{
	struct roles roles = {.n = {0}};
	struct json_object *quotas = self->quotas;

	self->quotas = untouched;
	if (json_member(json_member(self->pod, "metadata"), "ownerReferences")) {
		random_roles(self, &roles);
		if (are_let_in(self, roles.before, roles.n))
			make_roles(self, &roles);
	}
	self->quotas = quotas;
	for (int role = 0; role < 2; role++) {
		json_object_put(roles.pods[role]);
		json_object_put(roles.before[role]);
	}
}

static void random_spec(struct trial *self)
{
	struct json_object *spec;

	random_pod(&self->random, &self->text);
	self->pod = parse(strbuf_text(&self->text));
	spec = json_member(self->pod, "spec");
	if (random_chance(&self->random, 30))
		json_object_object_add(spec, "activeDeadlineSeconds", json_object_new_int(3600));
	if (random_chance(&self->random, 30))
		json_object_object_add(spec, "priorityClassName", json_object_new_string("high"));
}

enum outcome { KEPT, PATCHED, WOULD_HAVE_BEEN_REFUSED };

static enum outcome run_trial(struct trial *self)
{
	struct json_object *before, *after, *unbound, *again, *untouched;
	struct snapshot *snapshot;
	const char *refusal;
	bool would_be_refused;
	int64_t n;

	if (random_world(&self->random, &self->world))
		abort();
	random_spec(self);
	self->limit_ranges = random_limit_ranges(&self->random);
	self->quotas = random_quotas(&self->random);
	before = copy_of(self->pod);
	api_default(before, self->limit_ranges);
	untouched = copy_of(self->quotas);
	random_owner(self, before);
	random_queue(self);
	snapshot = snapshot_with_rules(self, before);
	after = patched(self, self->pod, snapshot, &self->patch);
	unbound = patched(self, self->pod, self->world.snapshot, &self->free_patch);
	again = patched(self, after, snapshot, &self->second_patch);
	if (self->second_patch.len)
		fail(self, "applying twice changes something", strbuf_text(&self->second_patch));
	check_queue(self, before, after);
	would_be_refused = new_refusal(self, before, unbound) != NULL;
	refusal = new_refusal(self, before, after);
	if (refusal)
		fail(self, "refused because of the patch", refusal);
	/* The rest of the owner's pods; where their number is not known, some. */
	n = self->owner_pods ? self->owner_pods - self->held_pods : 3;
	if (let_in(self, before, n) == n && let_in(self, after, n) < n &&
	    json_member(json_member(self->pod, "metadata"), "ownerReferences"))
		fail(self, "siblings refused because of the patch", "quota");
	run_gang(self, before, untouched);
	run_roles(self, untouched);
	json_object_put(untouched);
	json_object_put(before);
	json_object_put(after);
	json_object_put(unbound);
	json_object_put(again);
	snapshot_unref(snapshot);
	if (would_be_refused)
		return WOULD_HAVE_BEEN_REFUSED;
	return self->patch.len ? PATCHED : KEPT;
}

static void release(struct trial *self)
{
	random_world_release(&self->world);
	json_object_put(self->pod);
	json_object_put(self->limit_ranges);
	json_object_put(self->quotas);
	strbuf_release(&self->text);
	strbuf_release(&self->patch);
	strbuf_release(&self->free_patch);
	strbuf_release(&self->second_patch);
	arena_release(&self->arena);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint64_t outcomes[3] = {0};
	int64_t failures = 0;

	for (uint64_t seed = first; seed < first + count && failures < 5; seed++) {
		struct trial trial = {.seed = seed,
				      .random = {seed * 0x2545f4914f6cdd1du},
				      .text = STRBUF_INIT(64 * KIB),
				      .patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
				      .free_patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
				      .second_patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
				      .arena = ARENA_INIT(4 * MIB)};

		outcomes[run_trial(&trial)]++;
		failures += trial.failures;
		release(&trial);
	}
	printf("%llu pods: %llu patched, %llu more would have been refused without these rules, %lld failures\n",
	       (unsigned long long)count, (unsigned long long)outcomes[PATCHED],
	       (unsigned long long)outcomes[WOULD_HAVE_BEEN_REFUSED], (long long)failures);
	/* Namespaces that refuse nothing would prove nothing. */
	return failures || outcomes[WOULD_HAVE_BEEN_REFUSED] * 40 < count || outcomes[PATCHED] * 10 < count;
}
