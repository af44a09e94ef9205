/* SPDX-License-Identifier: Apache-2.0 */
#include "random_pod.h"

#include "base/limits.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <stdio.h>

#define GI ((int64_t)GIB)
#define MI ((int64_t)MIB)

uint64_t random_below(struct random_state *self, uint64_t n)
{
	/* splitmix64 */
	uint64_t z = (self->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

bool random_chance(struct random_state *self, unsigned percent)
{
	return random_below(self, 100) < percent;
}

/* Sizes of all magnitudes, round and odd ones. */
static int64_t random_bytes(struct random_state *self)
{
	int64_t bytes = MI << random_below(self, 19);

	if (random_chance(self, 50))
		bytes += (int64_t)random_below(self, (uint64_t)bytes);
	if (random_chance(self, 30))
		bytes = bytes / MI * MI;
	return bytes;
}

static void add_amount(struct strbuf *ret, const char **separator, const char *name, const char *text)
{
	strbuf_addf(ret, "%s\"%s\":\"%s\"", *separator, name, text);
	*separator = ",";
}

/* The two maps of one container: every limit has a request that is not above it. */
static void random_resources(struct random_state *self, bool has_gpu, struct strbuf *ret)
{
	static const char *const names[] = {"memory", "ephemeral-storage"};
	bool is_guaranteed = random_chance(self, 15), has_cpu = is_guaranteed || random_chance(self, 40);
	const char *a = "", *b = "";
	CLEANUP(strbuf_release) struct strbuf limits = STRBUF_INIT(4 * KIB);
	CLEANUP(strbuf_release) struct strbuf requests = STRBUF_INIT(4 * KIB);
	char text[QUANTITY_TEXT_BYTES];

	if (has_cpu)
		add_amount(&requests, &a, "cpu", "2");
	if (is_guaranteed)
		add_amount(&limits, &b, "cpu", "2");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int64_t limit = random_bytes(self), request = limit;
		bool has_limit = (is_guaranteed && i == 0) || random_chance(self, 50);

		if (!(is_guaranteed && i == 0) && random_chance(self, 60))
			request = limit - (int64_t)random_below(self, (uint64_t)limit);
		if (has_limit)
			add_amount(&limits, &b, names[i], quantity_render_bytes(limit, text));
		if (has_limit || random_chance(self, 30))
			add_amount(&requests, &a, names[i], quantity_render_bytes(request, text));
	}
	if (has_gpu) {
		add_amount(&requests, &a, "nvidia.com/gpu", "2");
		add_amount(&limits, &b, "nvidia.com/gpu", "2");
	}
	strbuf_adds(ret, "\"resources\":{");
	if (requests.len)
		strbuf_addf(ret, "\"requests\":{%s}%s", strbuf_text(&requests), limits.len ? "," : "");
	if (limits.len)
		strbuf_addf(ret, "\"limits\":{%s}", strbuf_text(&limits));
	strbuf_adds(ret, "}");
}

static void random_container(struct random_state *self, const char *name, bool has_gpu, bool is_init,
			     struct strbuf *ret)
{
	strbuf_addf(ret, "{\"name\":\"%s\",\"image\":\"train:1\"", name);
	if (is_init && random_chance(self, 40))
		strbuf_adds(ret, ",\"restartPolicy\":\"Always\"");
	else if (random_chance(self, 20))
		strbuf_addf(ret,
			    ",\"restartPolicy\":\"Never\",\"restartPolicyRules\":[{\"action\":\"Restart\","
			    "\"exitCodes\":{\"operator\":\"%s\",\"values\":[137]}}]",
			    random_chance(self, 50) ? "In" : "NotIn");
	if (has_gpu || random_chance(self, 80)) {
		strbuf_adds(ret, ",");
		random_resources(self, has_gpu, ret);
	}
	strbuf_adds(ret, "}");
}

static void random_metadata(struct random_state *self, struct strbuf *ret)
{
	static const char *const modes[] = {"off", "observe", "fill", "raise", "enforce", "nonsense"};
	bool is_bare = random_chance(self, 25);

	strbuf_addf(ret, "\"metadata\":{\"namespace\":\"ml\",\"%s\":\"bert-x7k2p\"", is_bare ? "name" : "generateName");
	strbuf_adds(ret, ",\"labels\":{\"app\":\"bert\"");
	if (!is_bare)
		strbuf_adds(ret, ",\"job-name\":\"bert\",\"batch.kubernetes.io/job-name\":\"bert\"");
	else if (random_chance(self, 50))
		strbuf_adds(ret, ",\"memtamer.io/workload\":\"bert\"");
	if (random_chance(self, 10))
		strbuf_adds(ret, ",\"kueue.x-k8s.io/queue-name\":\"q\"");
	if (random_chance(self, 10))
		strbuf_adds(ret, ",\"memtamer.io/critical\":\"true\"");
	strbuf_adds(ret, "}");
	if (random_chance(self, 20))
		strbuf_addf(ret, ",\"annotations\":{\"memtamer.io/mode\":\"%s\"}",
			    modes[random_below(self, ARRAY_LEN(modes))]);
	if (!is_bare)
		strbuf_adds(ret, ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
				 "\"bert\",\"uid\":\"1\",\"controller\":true}]");
	strbuf_adds(ret, "}");
}

void random_pod(struct random_state *self, struct strbuf *ret)
{
	size_t n_init = random_below(self, 3), n_helpers = random_below(self, 3);
	bool has_gpu = random_chance(self, 90);

	strbuf_clear(ret);
	strbuf_adds(ret, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",");
	random_metadata(self, ret);
	strbuf_adds(ret, ",\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[");
	random_container(self, "pytorch", has_gpu, false, ret);
	for (size_t i = 0; i < n_helpers; i++) {
		strbuf_adds(ret, ",");
		random_container(self, i ? "proxy" : "logger", false, false, ret);
	}
	strbuf_adds(ret, "]");
	for (size_t i = 0; i < n_init; i++) {
		strbuf_adds(ret, i ? "," : ",\"initContainers\":[");
		random_container(self, i ? "init-b" : "init-a", false, true, ret);
	}
	strbuf_adds(ret, n_init ? "]" : "");
	if (random_chance(self, 30))
		strbuf_adds(ret, ",\"volumes\":[{\"name\":\"shm\",\"emptyDir\":{\"medium\":\"Memory\"}}]");
	strbuf_adds(ret, "}}");
}

static struct recommendation random_recommendation(struct random_state *self)
{
	int64_t peak = random_bytes(self), median = peak - (int64_t)random_below(self, (uint64_t)peak);
	struct recommendation rec = {.request_bytes = MAX(median, 32 * MI),
				     .limit_bytes = MAX(peak + peak / 10, 100 * MI),
				     .median_bytes = median,
				     .p95_bytes = peak,
				     .peak_bytes = peak,
				     .buffer_permille = 100,
				     .confidence = CONFIDENCE_HIGH};

	rec.limit_bytes = MAX(rec.limit_bytes, rec.request_bytes);
	rec.runs = (int32_t)random_below(self, 20) + 1;
	rec.whole_runs = (int32_t)random_below(self, (uint64_t)rec.runs + 1);
	if (random_chance(self, 40)) {
		rec.ephemeral_peak_bytes = random_bytes(self);
		rec.ephemeral_request_bytes = rec.ephemeral_peak_bytes;
		rec.ephemeral_limit_bytes = rec.ephemeral_peak_bytes + rec.ephemeral_peak_bytes / 5;
	}
	if (random_chance(self, 20)) {
		rec.proven_bytes = peak + peak / 20;
		rec.oom_kills = 1;
		rec.limit_bytes = MAX(rec.limit_bytes, rec.proven_bytes + rec.proven_bytes / 5);
	}
	if (random_chance(self, 20))
		rec.flags = (uint8_t)random_below(self, 128);
	rec.gpu = (struct gpu_memory){peak, peak + peak / 100};
	rec.is_gpu_full = rec.runs % 8 == 0;
	return rec;
}

/* What people write, in any combination that is valid. */
static void random_words(struct random_state *self, struct profile_spec *spec)
{
	if (random_chance(self, 50))
		spec->pin_limit_bytes = random_bytes(self);
	if (random_chance(self, 50))
		spec->pin_request_bytes = random_bytes(self);
	if (spec->pin_limit_bytes)
		spec->pin_request_bytes = MIN(spec->pin_request_bytes, spec->pin_limit_bytes);
	if (random_chance(self, 30))
		spec->ceiling_bytes = random_bytes(self);
	if (random_chance(self, 30))
		spec->floor_bytes = random_bytes(self);
	if (spec->ceiling_bytes)
		spec->floor_bytes = MIN(spec->floor_bytes, spec->ceiling_bytes);
	if (random_chance(self, 20))
		snprintf(spec->size_class, sizeof(spec->size_class), "guaranteed");
}

static int put_profile(struct random_state *self, struct snapshot_builder *builder, struct random_world *world)
{
	static const char *const aliases[] = {"Job/bert", "memtamer.io/workload:bert"};
	struct profile draft = {.namespace_name = "ml",
				.name = "bert-0123456789",
				.workload = "Job/bert",
				.role = "",
				.container = "pytorch",
				.aliases = aliases,
				.n_aliases = 2,
				.revision = 3,
				.spec = &world->spec};
	struct profile *profile;

	world->spec = profile_spec_none;
	world->parent = random_recommendation(self);
	if (random_chance(self, 20))
		random_words(self, &world->spec);
	if (random_chance(self, 5))
		world->parent = (struct recommendation){.confidence = CONFIDENCE_NONE};
	draft.parent = world->parent;
	world->has_profile = true;
	profile = profile_dup(&draft);
	return profile ? snapshot_builder_put(builder, profile) : -ENOMEM;
}

static int put_shapes(struct random_state *self, struct snapshot_builder *builder, struct random_world *world)
{
	size_t n = random_below(self, 3);
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct node_shape shape = {.resource = "nvidia.com/gpu",
					   .accelerators = 2 << random_below(self, 3),
					   .memory_bytes = 16 * GI << random_below(self, 7),
					   .ephemeral_bytes = 100 * GI,
					   .is_declared = true};

		snprintf(shape.name, sizeof(shape.name), "shape-%zu", i);
		world->largest_node_bytes = MAX(world->largest_node_bytes, shape.memory_bytes);
		r = snapshot_builder_put_shape(builder, &shape);
	}
	return r;
}

int random_world(struct random_state *self, struct random_world *ret)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	int r = builder ? 0 : -ENOMEM;

	*ret = (struct random_world){.has_profile = false};
	policy_default(&ret->policy);
	ret->policy.mode = (enum mode)random_below(self, MODE_COUNT_);
	ret->policy.sizing.no_history = (enum no_history)random_below(self, 3);
	if (!r && random_chance(self, 75))
		r = put_profile(self, builder, ret);
	if (!r)
		r = put_shapes(self, builder, ret);
	if (r) {
		snapshot_builder_free(builder);
		return r;
	}
	ret->snapshot = snapshot_builder_finish(builder, 1);
	return ret->snapshot ? 0 : -ENOMEM;
}

void random_world_release(struct random_world *self)
{
	self->snapshot = snapshot_unref(self->snapshot);
}
