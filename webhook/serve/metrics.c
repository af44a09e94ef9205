/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/metrics.h"

#include "policy/policy.h"

#include <stdatomic.h>
#include <stdlib.h>

#ifndef MEMTAMER_VERSION
#error "MEMTAMER_VERSION comes from the build"
#endif

enum metric_type { COUNTER, GAUGE, HISTOGRAM };
static const char *const type_names[] = {"counter", "gauge", "histogram"};

struct label_set {
	const char *name;
	const char *const *values;
	size_t n;
};

enum label_id { NONE, RESULT, MODE, DRY_RUN, SKIP, ERROR, CHECK, ACTION, RELOAD, PATH, CODE };

static const char *const result_values[] = {"patched", "unchanged", "skipped", "denied", "warned", "error"};
static const char *const bool_values[] = {"false", "true"};
static const char *const skip_values[] = {
	"accelerator", "framework",	 "label",	 "serving",	   "interactive",	 "mirror",
	"ignored",     "kube-system",	 "no-sign",	 "own-namespace",  "excluded-namespace", "mode-off",
	"not-a-pod",   "not-create",	 "sub-resource", "not-a-workload", "no-template",	 "not-create-or-update",
	"controlled",  "spec-unchanged", "other"};
static const char *const error_values[] = {"unreadable-review", "bad-pod", "internal"};
static const char *const reload_values[] = {"ok", "failed"};
static const char *const path_values[] = {"/mutate", "/validate", "/healthz", "/readyz", "/metrics", "other"};
static const char *const code_values[] = {"200", "400", "404", "405", "413", "415", "500", "501", "503", "other"};

static const struct label_set label_sets[] = {
	[NONE] = {NULL, NULL, 1},
	[RESULT] = {"result", result_values, ARRAY_LEN(result_values)},
	[MODE] = {"mode", mode_names, MODE_COUNT_},
	[DRY_RUN] = {"dry_run", bool_values, ARRAY_LEN(bool_values)},
	[SKIP] = {"reason", skip_values, ARRAY_LEN(skip_values)},
	[ERROR] = {"reason", error_values, ARRAY_LEN(error_values)},
	[CHECK] = {"check", NULL, CHECK_COUNT_},
	[ACTION] = {"action", check_action_names, ACTION_COUNT_},
	[RELOAD] = {"result", reload_values, ARRAY_LEN(reload_values)},
	[PATH] = {"path", path_values, ARRAY_LEN(path_values)},
	[CODE] = {"code", code_values, ARRAY_LEN(code_values)},
};

static const struct family {
	enum metric_type type;
	const char *name, *help;
	enum label_id labels[3];
} families[METRIC_COUNT_] = {
#define METRIC(id, type, name, help, a, b, c) {type, name, help, {a, b, c}},
#include "serve/metrics.def"
#undef METRIC
};

/* Upper bounds in ns: a decision takes some 20 us, the goal is p99 < 1 ms, the API server gives up at 2 s. */
static const int64_t bucket_bounds_ns[] = {25000,   50000,   100000,   250000,	 500000,    1000000,
					   2500000, 5000000, 10000000, 50000000, 250000000, 1000000000};

struct histogram {
	_Atomic uint64_t buckets[ARRAY_LEN(bucket_bounds_ns) + 1], sum_ns;
};

struct metrics {
	_Atomic uint64_t *counters[METRIC_COUNT_];
	_Atomic double gauges[METRIC_COUNT_];
	struct histogram histograms[METRIC_COUNT_];
};

/* Names of checks come from their own table. */
static const char *label_value(enum label_id id, size_t i)
{
	return id == CHECK ? check_table[i].name : label_sets[id].values[i];
}

static size_t family_slots(const struct family *family)
{
	size_t n = 1;

	for (size_t i = 0; i < ARRAY_LEN(family->labels); i++)
		n *= label_sets[family->labels[i]].n;
	return n;
}

struct metrics *metrics_new(void)
{
	struct metrics *self = calloc(1, sizeof(*self));

	for (size_t i = 0; self && i < METRIC_COUNT_; i++) {
		self->counters[i] = calloc(family_slots(&families[i]), sizeof(*self->counters[i]));
		if (!self->counters[i]) {
			metrics_free(self);
			return NULL;
		}
	}
	return self;
}

void metrics_free(struct metrics *self)
{
	for (size_t i = 0; self && i < METRIC_COUNT_; i++)
		free((void *)(uintptr_t)self->counters[i]);
	free(self);
}

static size_t slot_of(const struct family *family, size_t a, size_t b, size_t c)
{
	return (a * label_sets[family->labels[1]].n + b) * label_sets[family->labels[2]].n + c;
}

void metrics_count(struct metrics *self, enum metric_id id, size_t a, size_t b, size_t c)
{
	atomic_fetch_add_explicit(&self->counters[id][slot_of(&families[id], a, b, c)], 1, memory_order_relaxed);
}

size_t metrics_label(enum metric_id id, size_t position, const char *value)
{
	enum label_id set = families[id].labels[position];
	size_t n = label_sets[set].n;

	for (size_t i = 0; value && i < n; i++)
		if (streq(label_value(set, i), value))
			return i;
	return n - 1;
}

void metrics_set(struct metrics *self, enum metric_id id, double value)
{
	atomic_store_explicit(&self->gauges[id], value, memory_order_relaxed);
}

void metrics_observe_ns(struct metrics *self, enum metric_id id, int64_t duration_ns)
{
	struct histogram *histogram = &self->histograms[id];
	size_t i = 0;

	while (i < ARRAY_LEN(bucket_bounds_ns) && duration_ns > bucket_bounds_ns[i])
		i++;
	atomic_fetch_add_explicit(&histogram->buckets[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&histogram->sum_ns, (uint64_t)MAX(duration_ns, 0), memory_order_relaxed);
}

double metrics_value(struct metrics *self, enum metric_id id, size_t a, size_t b, size_t c)
{
	if (families[id].type == GAUGE)
		return atomic_load_explicit(&self->gauges[id], memory_order_relaxed);
	return (double)atomic_load_explicit(&self->counters[id][slot_of(&families[id], a, b, c)], memory_order_relaxed);
}

static void render_labels(struct strbuf *buf, const struct family *family, size_t slot)
{
	size_t indexes[3];
	const char *open = "{";

	for (size_t i = ARRAY_LEN(indexes); i-- > 0;) {
		size_t n = label_sets[family->labels[i]].n;

		indexes[i] = slot % n;
		slot /= n;
	}
	for (size_t i = 0; i < ARRAY_LEN(indexes); i++) {
		if (family->labels[i] == NONE)
			continue;
		strbuf_addf(buf, "%s%s=\"%s\"", open, label_sets[family->labels[i]].name,
			    label_value(family->labels[i], indexes[i]));
		open = ",";
	}
	strbuf_adds(buf, *open == ',' ? "} " : " ");
}

static void render_counter(struct metrics *self, struct strbuf *buf, size_t id)
{
	const struct family *family = &families[id];
	size_t n = family_slots(family);

	for (size_t i = 0; i < n; i++) {
		uint64_t value = atomic_load_explicit(&self->counters[id][i], memory_order_relaxed);

		if (!value && n > 1)
			continue;
		strbuf_adds(buf, family->name);
		render_labels(buf, family, i);
		strbuf_addf(buf, "%llu\n", (unsigned long long)value);
	}
}

static void render_histogram(const struct histogram *histogram, struct strbuf *buf, const char *name)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= ARRAY_LEN(bucket_bounds_ns); i++) {
		count += atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
		if (i < ARRAY_LEN(bucket_bounds_ns))
			strbuf_addf(buf, "%s_bucket{le=\"%g\"} %llu\n", name, (double)bucket_bounds_ns[i] / 1e9,
				    (unsigned long long)count);
		else
			strbuf_addf(buf, "%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)count);
	}
	strbuf_addf(buf, "%s_sum %.9f\n%s_count %llu\n", name,
		    (double)atomic_load_explicit(&histogram->sum_ns, memory_order_relaxed) / 1e9, name,
		    (unsigned long long)count);
}

int metrics_render(struct metrics *self, struct strbuf *buf)
{
	for (size_t i = 0; i < METRIC_COUNT_; i++) {
		const struct family *family = &families[i];

		strbuf_addf(buf, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
			    type_names[family->type]);
		if (family->type == COUNTER)
			render_counter(self, buf, i);
		else if (family->type == HISTOGRAM)
			render_histogram(&self->histograms[i], buf, family->name);
		else
			strbuf_addf(buf, "%s %.17g\n", family->name,
				    atomic_load_explicit(&self->gauges[i], memory_order_relaxed));
	}
	return strbuf_adds(buf, "# HELP memtamer_build_info The version that runs.\n# TYPE memtamer_build_info gauge\n"
				"memtamer_build_info{version=\"" MEMTAMER_VERSION "\"} 1\n");
}
