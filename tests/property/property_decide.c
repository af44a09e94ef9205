/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every pod: random pods, profiles and policies through decide() and render, the patch applied, the
 * result held against rules that need no knowledge of how a size is found.
 *
 * property_decide FIRST-SEED COUNT; a failure names its seed: property_decide SEED 1 runs it again. */
#include "random_pod.h"

#include "../golden/json_patch.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "policy/decide.h"
#include "policy/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64

struct trial {
	uint64_t seed;
	struct strbuf text, patch, again;
	struct random_world world;
	struct arena arena;
	struct json_object *before_json, *after_json;
	struct k8s_pod before, after;
	struct decision decision;
	size_t failures;
};

static void fail(struct trial *self, const char *rule, const char *detail)
{
	self->failures++;
	fprintf(stderr, "seed %llu: %s: %s\n  mode %s (%s)\n  pod   %s\n  patch %s\n", (unsigned long long)self->seed,
		rule, detail, mode_names[self->decision.mode], self->decision.mode_why, strbuf_text(&self->text),
		strbuf_text(&self->patch));
}

static void expect(struct trial *self, bool holds, const char *rule, const char *detail)
{
	if (!holds)
		fail(self, rule, detail);
}

/* Decide about a pod and render the patch into `ret`. */
static bool decide_and_render(struct trial *self, struct k8s_pod *pod, struct decision *decision, struct strbuf *ret)
{
	struct decide_input input = {.pod = pod,
				     .subject = SUBJECT_POD,
				     .namespace_name = "ml",
				     .replicas = 1,
				     .snapshot = self->world.snapshot,
				     .policy = &self->world.policy,
				     .now_ms = 1793607300000};
	const char *const *warnings;
	size_t n;

	if (decide(&input, &self->arena, decision, NULL) || render_patch(&input, decision, &self->arena, ret) ||
	    render_warnings(&input, decision, &self->arena, &warnings, &n)) {
		fail(self, "decides", "error");
		return false;
	}
	expect(self, n <= LIMIT_WARNINGS, "at most 10 warnings", "");
	for (size_t i = 0; i < n; i++) {
		bool is_plain = strlen(warnings[i]) <= LIMIT_WARNING_CHARS;

		for (const char *c = warnings[i]; *c; c++)
			is_plain &= *c >= ' ' && *c <= '~';
		expect(self, is_plain, "warnings are short plain ASCII", warnings[i]);
	}
	return true;
}

static bool is_our_path(const char *path)
{
	const char *rest;

	if (strstarts(path, "/metadata/labels"))
		return streq(path, "/metadata/labels") || strstarts(path, "/metadata/labels/memtamer.io~1");
	if (strstarts(path, "/metadata/annotations"))
		return streq(path, "/metadata/annotations") || strstarts(path, "/metadata/annotations/memtamer.io~1");
	if (!strstarts(path, "/spec/containers/") && !strstarts(path, "/spec/initContainers/"))
		return false;
	rest = strstr(path, "/resources");
	return rest &&
	       (streq(rest, "/resources") || streq(rest, "/resources/requests") || streq(rest, "/resources/limits") ||
		strstr(rest, "/memory") || strstr(rest, "/ephemeral-storage"));
}

static void check_operations(struct trial *self)
{
	struct json_object *patch = NULL;

	if (!self->patch.len)
		return;
	if (json_parse(self->patch.text, self->patch.len, DEPTH, &patch, NULL)) {
		fail(self, "the patch is JSON", "");
		return;
	}
	for (size_t i = 0; i < json_object_array_length(patch); i++) {
		struct json_object *op = json_object_array_get_idx(patch, i);
		const char *name = json_object_get_string(json_member(op, "op"));
		const char *path = json_object_get_string(json_member(op, "path"));

		expect(self, streq(name, "add") || streq(name, "replace"), "only add and replace", name);
		expect(self, is_our_path(path), "only our paths", path);
		expect(self, self->decision.mode > MODE_OBSERVE || !strstarts(path, "/spec"),
		       "observe leaves resources alone", path);
	}
	expect(self, json_patch_apply(self->after_json, patch) == 0, "the patch applies", "");
	json_object_put(patch);
}

/* What a person has said is done, whatever runs have shown. */
static bool has_pin(const struct profile_spec *spec)
{
	return spec->pin_limit_bytes > 0 || spec->pin_request_bytes > 0;
}

static void check_change(struct trial *self, const struct k8s_amount *was, const struct k8s_amount *is, bool is_limit,
			 bool is_memory_of_main)
{
	enum mode mode = self->decision.mode;
	const struct recommendation *rec = &self->world.parent;
	const struct profile_spec *spec = &self->world.spec;

	expect(self, is->text && !is->is_invalid, "nothing is removed", was->text);
	if (is->value == was->value)
		return;
	expect(self, mode >= MODE_RAISE, "fill changes nothing that is there", was->text);
	if (is_memory_of_main && !is_limit && self->decision.profile)
		expect(self, is->value < was->value || !(rec->flags & REC_NO_RAISE) || has_pin(spec),
		       "no request is raised that found no room", was->text);
	if (is->value > was->value)
		return;
	if (is_memory_of_main && self->decision.profile)
		expect(self, !(rec->flags & REC_HARM) || spec->pin_limit_bytes, "nothing is lowered after harm",
		       was->text);
	expect(self, mode == MODE_ENFORCE, "only enforce lowers", was->text);
	expect(self, (__int128)is->value * 1000 >= (__int128)was->value * 750 || has_pin(spec),
	       "at most 25 % a run, unless pinned", was->text);
	if (is_limit && is_memory_of_main)
		expect(self, self->world.has_profile && (is->value >= rec->peak_bytes || spec->pin_limit_bytes),
		       "never below the peak", was->text);
}

static void check_container(struct trial *self, size_t index)
{
	const struct k8s_container *was = &self->before.containers[index], *is = &self->after.containers[index];
	bool is_main = index == 0;

	expect(self,
	       streq(was->resources.requests[K8S_CPU].text ? was->resources.requests[K8S_CPU].text : "",
		     is->resources.requests[K8S_CPU].text ? is->resources.requests[K8S_CPU].text : "") &&
		       !was->resources.limits[K8S_CPU].text == !is->resources.limits[K8S_CPU].text,
	       "cpu is not touched", was->name);
	for (size_t r = K8S_MEMORY; r < K8S_RESOURCE_COUNT_; r++) {
		const struct k8s_amount *request = &is->resources.requests[r], *limit = &is->resources.limits[r];
		bool is_new = limit->text && !was->resources.limits[r].text;

		if (was->resources.requests[r].text)
			check_change(self, &was->resources.requests[r], request, false, is_main && r == K8S_MEMORY);
		if (was->resources.limits[r].text)
			check_change(self, &was->resources.limits[r], limit, true, is_main && r == K8S_MEMORY);
		if (limit->text)
			expect(self, request->text && request->value <= limit->value, "request <= limit, both set",
			       k8s_resource_names[r]);
		expect(self,
		       !is_new || !is_main || r != K8S_MEMORY || !self->decision.profile ||
			       !(self->world.parent.flags & (REC_NO_LIMIT | REC_CACHE_BOUND)) ||
			       has_pin(&self->world.spec),
		       "no limit is added that may kill", k8s_resource_names[r]);
		expect(self,
		       !is_new || self->world.has_profile || self->world.policy.sizing.no_history == NO_HISTORY_SHARE,
		       "no limit without history", k8s_resource_names[r]);
	}
}

static void check_pod(struct trial *self)
{
	int64_t was = k8s_pod_effective_request(&self->before, K8S_MEMORY);
	int64_t is = k8s_pod_effective_request(&self->after, K8S_MEMORY), largest = self->world.largest_node_bytes;

	expect(self, k8s_pod_qos(&self->after) >= k8s_pod_qos(&self->before), "QoS never falls", "");
	expect(self, self->after.n_containers == self->before.n_containers, "containers stay", "");
	expect(self, !largest || is <= MAX(largest, was), "still fits a node", "");
	for (size_t i = 0; i < self->before.n_containers && i < self->after.n_containers; i++)
		check_container(self, i);
}

static bool decode(struct trial *self, struct json_object *json, struct k8s_pod *ret)
{
	if (!k8s_pod_decode(json, &self->arena, ret, NULL))
		return true;
	fail(self, "decodes", "");
	return false;
}

static bool run_trial(struct trial *self)
{
	struct random_state random = {self->seed * 0x2545f4914f6cdd1du};
	struct decision again;

	random_pod(&random, &self->text);
	if (self->text.status || random_world(&random, &self->world) ||
	    json_parse(self->text.text, self->text.len, DEPTH, &self->before_json, NULL) ||
	    json_parse(self->text.text, self->text.len, DEPTH, &self->after_json, NULL))
		abort();
	if (!decode(self, self->before_json, &self->before) ||
	    !decide_and_render(self, &self->before, &self->decision, &self->patch) ||
	    !decide_and_render(self, &self->before, &again, &self->again))
		return false;
	expect(self, streq(strbuf_text(&self->patch), strbuf_text(&self->again)), "same input, same patch", "");
	check_operations(self);
	if (!decode(self, self->after_json, &self->after))
		return false;
	check_pod(self);
	if (decide_and_render(self, &self->after, &again, &self->again))
		expect(self, !self->again.len, "applying twice changes nothing", strbuf_text(&self->again));
	return self->patch.len > 0;
}

static void release(struct trial *self)
{
	random_world_release(&self->world);
	json_putp(&self->before_json);
	json_putp(&self->after_json);
	strbuf_release(&self->text);
	strbuf_release(&self->patch);
	strbuf_release(&self->again);
	arena_release(&self->arena);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint64_t patched = 0, failures = 0;

	for (uint64_t seed = first; seed < first + count && failures < 5; seed++) {
		struct trial trial = {.seed = seed,
				      .text = STRBUF_INIT(64 * KIB),
				      .patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
				      .again = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
				      .arena = ARENA_INIT(4 * MIB)};

		patched += run_trial(&trial);
		failures += trial.failures;
		release(&trial);
	}
	printf("%llu pods, %llu of them patched, %llu failures\n", (unsigned long long)count,
	       (unsigned long long)patched, (unsigned long long)failures);
	/* If hardly any pod were patched, the rules above would hold for want of anything to break them. */
	return failures || patched * 3 < count ? 1 : 0;
}
