/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/metrics.h"

#include "base/str.h"
#include "base/timefmt.h"
#include "metrics/metrics_process.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static const char *const type_names[] = {"counter", "counter", "gauge", "gauge", "gauge", "histogram"};

/* The values of one family; the type says which member is used. */
struct values {
	_Atomic uint64_t *counts; /* by slot; for a histogram by bucket; for states the value plus one, 0: absent */
	_Atomic uint64_t sum_ns;
	_Atomic double set;
};

struct metrics {
	const struct metric_table *table;
	struct values *values; /* by family */
	int64_t made_ms;
};

static size_t label_n(const struct metric_label *label)
{
	return label ? label->n : 1;
}

static const char *label_value(const struct metric_label *label, size_t i)
{
	return label->values ? label->values[i] : label->value(i);
}

static size_t family_slots(const struct metric_family *family)
{
	size_t n = 1;

	for (size_t i = 0; i < METRIC_LABELS; i++)
		n *= label_n(family->labels[i]);
	return n;
}

struct metrics *metrics_make(const struct metric_table *table)
{
	struct metrics *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->table = table;
	self->made_ms = time_now_ms();
	self->values = calloc(table->n, sizeof(*self->values));
	for (size_t i = 0; self->values && i < table->n; i++) {
		const struct metric_family *family = &table->families[i];
		size_t n = family->type == METRIC_TYPE_HISTOGRAM ? table->n_bounds + 1 : family_slots(family);

		atomic_init(&self->values[i].set, family->type == METRIC_TYPE_OPTIONAL ? (double)NAN : 0.0);
		self->values[i].counts = calloc(n, sizeof(*self->values[i].counts));
		if (!self->values[i].counts)
			break;
		if (i + 1 == table->n)
			return self;
	}
	metrics_free(self);
	return NULL;
}

void metrics_free(struct metrics *self)
{
	for (size_t i = 0; self && self->values && i < self->table->n; i++)
		free((void *)(uintptr_t)self->values[i].counts);
	if (self)
		free(self->values);
	free(self);
}

static size_t slot_of(const struct metric_family *family, size_t a, size_t b, size_t c)
{
	return (a * label_n(family->labels[1]) + b) * label_n(family->labels[2]) + c;
}

void metrics_add(struct metrics *self, size_t id, size_t a, size_t b, size_t c, uint64_t n)
{
	atomic_fetch_add_explicit(&self->values[id].counts[slot_of(&self->table->families[id], a, b, c)], n,
				  memory_order_relaxed);
}

void metrics_count(struct metrics *self, size_t id, size_t a, size_t b, size_t c)
{
	metrics_add(self, id, a, b, c, 1);
}

void metrics_set(struct metrics *self, size_t id, double value)
{
	atomic_store_explicit(&self->values[id].set, value, memory_order_relaxed);
}

void metrics_put(struct metrics *self, size_t id, size_t a, size_t b, size_t c, uint64_t value)
{
	atomic_store_explicit(&self->values[id].counts[slot_of(&self->table->families[id], a, b, c)], value + 1,
			      memory_order_relaxed);
}

void metrics_remove(struct metrics *self, size_t id)
{
	for (size_t i = 0; i < family_slots(&self->table->families[id]); i++)
		atomic_store_explicit(&self->values[id].counts[i], 0, memory_order_relaxed);
}

void metrics_observe_ns(struct metrics *self, size_t id, int64_t duration_ns)
{
	const struct metric_table *table = self->table;
	struct values *values = &self->values[id];
	size_t i = 0;

	while (i < table->n_bounds && duration_ns > table->bounds_ns[i])
		i++;
	atomic_fetch_add_explicit(&values->counts[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&values->sum_ns, (uint64_t)MAX(duration_ns, 0), memory_order_relaxed);
}

static bool is_set(enum metric_type type)
{
	return type == METRIC_TYPE_GAUGE || type == METRIC_TYPE_OPTIONAL || type == METRIC_TYPE_TOTAL;
}

double metrics_value(struct metrics *self, size_t id, size_t a, size_t b, size_t c)
{
	const struct metric_family *family = &self->table->families[id];
	struct values *values = &self->values[id];
	uint64_t count;

	if (is_set(family->type))
		return atomic_load_explicit(&values->set, memory_order_relaxed);
	count = atomic_load_explicit(&values->counts[slot_of(family, a, b, c)], memory_order_relaxed);
	return (double)(family->type == METRIC_TYPE_STATES && count ? count - 1 : count);
}

static void render_labels(struct strbuf *buf, const struct metric_family *family, size_t slot)
{
	size_t indexes[METRIC_LABELS];
	const char *open = "{";

	for (size_t i = METRIC_LABELS; i-- > 0;) {
		size_t n = label_n(family->labels[i]);

		indexes[i] = slot % n;
		slot /= n;
	}
	for (size_t i = 0; i < METRIC_LABELS; i++) {
		if (!family->labels[i])
			continue;
		strbuf_addf(buf, "%s%s=\"%s\"", open, family->labels[i]->name,
			    label_value(family->labels[i], indexes[i]));
		open = ",";
	}
	strbuf_adds(buf, *open == ',' ? "} " : " ");
}

static void render_counter(struct values *values, const struct metric_family *family, struct strbuf *buf)
{
	size_t n = family_slots(family);

	for (size_t i = 0; i < n; i++) {
		uint64_t value = atomic_load_explicit(&values->counts[i], memory_order_relaxed);

		if (!value && (n > 1 || family->type == METRIC_TYPE_STATES))
			continue;
		if (family->type == METRIC_TYPE_STATES)
			value--;
		strbuf_adds(buf, family->name);
		render_labels(buf, family, i);
		strbuf_addf(buf, "%llu\n", (unsigned long long)value);
	}
}

static void render_histogram(struct values *values, const struct metric_table *table, const char *name,
			     struct strbuf *buf)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= table->n_bounds; i++) {
		count += atomic_load_explicit(&values->counts[i], memory_order_relaxed);
		if (i < table->n_bounds)
			strbuf_addf(buf, "%s_bucket{le=\"%g\"} %llu\n", name, (double)table->bounds_ns[i] / 1e9,
				    (unsigned long long)count);
		else
			strbuf_addf(buf, "%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)count);
	}
	strbuf_addf(buf, "%s_sum %.9f\n%s_count %llu\n", name,
		    (double)atomic_load_explicit(&values->sum_ns, memory_order_relaxed) / 1e9, name,
		    (unsigned long long)count);
}

static void render_family(struct metrics *self, size_t id, struct strbuf *buf)
{
	const struct metric_family *family = &self->table->families[id];
	struct values *values = &self->values[id];
	double value = atomic_load_explicit(&values->set, memory_order_relaxed);

	if (isnan(value))
		return;
	strbuf_addf(buf, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
		    type_names[family->type]);
	if (family->type == METRIC_TYPE_COUNTER || family->type == METRIC_TYPE_STATES)
		render_counter(values, family, buf);
	else if (family->type == METRIC_TYPE_HISTOGRAM)
		render_histogram(values, self->table, family->name, buf);
	else
		strbuf_addf(buf, "%s %.17g\n", family->name, value);
}

int metrics_render(struct metrics *self, struct strbuf *buf)
{
	for (size_t i = 0; i < self->table->n; i++)
		render_family(self, i, buf);
	metrics_render_process(self->made_ms, buf);
	return buf->status;
}

size_t metric_table_label(const struct metric_table *table, size_t id, size_t position, const char *value)
{
	const struct metric_label *label = table->families[id].labels[position];
	size_t n = label_n(label);

	for (size_t i = 0; value && label && i < n; i++)
		if (streq(label_value(label, i), value))
			return i;
	return n - 1;
}
