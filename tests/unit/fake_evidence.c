/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_evidence.h"

#include "support/test.h"

#include "base/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#define MINUTE_MS ((int64_t)60000)

static int64_t at_ms(int64_t minutes)
{
	return FAKE_EPOCH_MS + minutes * MINUTE_MS;
}

static void add_usage(const struct fake_pod *fake, struct evidence_batch *batch, struct pod *pod,
		      struct pod_container *container)
{
	const struct evidence_window *window = &batch->window;
	int64_t end_ms = fake->end_min ? at_ms(fake->end_min) : INT64_MAX;
	int64_t from_ms = MAX(at_ms(fake->start_min), window->start_ms), to_ms = MIN(end_ms, window->end_ms);
	int64_t peak_ms = at_ms(fake->start_min + fake->peak_after_min);
	struct evidence_usage *usage;

	if (from_ms >= to_ms || fake->has_no_samples)
		return;
	usage = evidence_usage_put(batch, container, fake->uid);
	assert_non_null(usage);
	for (int64_t ms = from_ms; ms < to_ms;) {
		int64_t hour_ms = MIN(ms - ms % (60 * MINUTE_MS) + 60 * MINUTE_MS, to_ms);

		evidence_usage_add_hour(usage, ms - ms % (60 * MINUTE_MS), ms - ms % (60 * MINUTE_MS) + 60 * MINUTE_MS,
					(hour_ms - ms + MINUTE_MS - 1) / MINUTE_MS);
		ms = hour_ms;
	}
	evidence_usage_settle(usage);
	usage->last_ms = MIN(usage->last_ms, window->end_ms);
	usage->peak_bytes = (peak_ms >= from_ms && peak_ms < to_ms ? fake->peak_mib : fake->usual_mib) * FAKE_MIB;
	usage->peak_rss_bytes = fake->rss_mib * FAKE_MIB;
	usage->peak_active_file_bytes = fake->active_file_mib * FAKE_MIB;
	for (int i = 0; i < EVIDENCE_LADDER; i++)
		usage->ladder_bytes[i] = fake->usual_mib * FAKE_MIB;
	usage->ladder_seen = (1u << EVIDENCE_LADDER) - 1;
	if (!fake->has_activity)
		return;
	pod->activity_samples = 2 * usage->samples;
	pod->activity_sum = pod->activity_samples * fake->active_permille;
}

static const char *namespace_of(const struct fake_pod *fake)
{
	return fake->namespace_name ? fake->namespace_name : "ml";
}

static void add_pod(const struct fake_pod *fake, struct evidence_batch *batch)
{
	struct pod *pod = evidence_pod_put(batch, namespace_of(fake), fake->name, fake->uid);
	bool has_ended = fake->end_min && at_ms(fake->end_min) < batch->window.end_ms;
	struct pod_container *container;

	assert_non_null(pod);
	container = pod_container_put(&batch->pods, pod, "main");
	assert_non_null(container);
	pod->owner_kind = fake->owner_kind ? fake->owner_kind : "";
	pod->owner_name = fake->owner_name ? fake->owner_name : "";
	pod->root_kind = fake->root_kind ? fake->root_kind : "";
	pod->root_name = fake->root_name ? fake->root_name : "";
	pod->start_ms = at_ms(fake->start_min);
	pod->is_training = true;
	pod->is_alive = batch->window.is_open && !has_ended;
	container->image = fake->image ? fake->image : "registry/train:1";
	container->limit_bytes = fake->limit_mib * FAKE_MIB;
	container->request_bytes = fake->request_mib * FAKE_MIB;
	container->accelerators_milli = 1000;
	if (has_ended && !fake->is_gone_silently) {
		pod->completion_ms = at_ms(fake->end_min);
		pod->ends = fake->ends;
		container->ends = fake->container_ends;
		container->restarts = fake->restarts;
	}
	add_usage(fake, batch, pod, container);
}

/* Whether a read of these namespaces, or of all if `n` is 0, is about this one. */
static bool is_asked(const char *const *namespaces, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (streq(namespaces[i], name))
			return true;
	return n == 0;
}

static void read_some(const struct fake_pod *pods, size_t n, const char *const *namespaces, size_t n_namespaces,
		      struct evidence_batch *batch)
{
	for (size_t i = 0; i < n; i++) {
		int64_t seen_until_ms = pods[i].end_min ? at_ms(pods[i].end_min + 10) : INT64_MAX;

		if (at_ms(pods[i].start_min) < batch->window.end_ms && seen_until_ms > batch->window.start_ms &&
		    is_asked(namespaces, n_namespaces, namespace_of(&pods[i])))
			add_pod(&pods[i], batch);
	}
}

void fake_read(const struct fake_pod *pods, size_t n, struct evidence_batch *batch)
{
	read_some(pods, n, NULL, 0, batch);
}

static int detect(struct evidence_reader *base, int64_t from_ms, int64_t to_ms, struct err *err)
{
	struct fake_reader *self = (struct fake_reader *)base;

	(void)from_ms;
	(void)to_ms;
	return self->detect_status ? err_set(err, self->detect_status, "made up") : 0;
}

/* Whether a window takes longer than what is left. */
static bool is_stopped(struct fake_reader *self, const struct evidence_window *window)
{
	int64_t length_ms = window->end_ms - window->start_ms;

	if (!self->left_ms)
		return false;
	self->left_ms = MAX(self->left_ms - length_ms, 1);
	return self->left_ms == 1;
}

static int read_window(struct evidence_reader *base, const char *const *namespaces, size_t n_namespaces,
		       struct evidence_batch *batch, struct err *err)
{
	struct fake_reader *self = (struct fake_reader *)base;

	assert_true(self->n_reads < (int)ARRAY_LEN(self->read_ms));
	self->read_ms[self->n_reads++] = batch->window.start_ms;
	base->n_queries++;
	if (self->n_reads == self->kill_at_read)
		raise(SIGKILL);
	if (self->fail_from_read && self->n_reads >= self->fail_from_read)
		return err_set(err, self->fail_status, "made up");
	if (is_stopped(self, &batch->window))
		return err_set(err, EVIDENCE_STOPPED, "made up");
	if (self->heavy_above_ms && batch->window.end_ms - batch->window.start_ms > self->heavy_above_ms)
		return err_set(err, self->heavy_status ? self->heavy_status : EVIDENCE_TOO_HEAVY, "made up");
	if (self->full_above_ms && batch->window.end_ms - batch->window.start_ms > self->full_above_ms) {
		assert_null(arena_alloc(&batch->pods.arena, LIMIT_EVIDENCE_BYTES + 1));
		return err_set(err, -ENOMEM, "made up");
	}
	if (batch->window.start_ms < at_ms(self->bad_until_min) && batch->window.end_ms > at_ms(self->bad_from_min) &&
	    self->bad_until_min && (!self->bad_namespace || is_asked(namespaces, n_namespaces, self->bad_namespace)))
		return err_set(err, self->bad_status, "made up");
	read_some(self->pods, self->n_pods, namespaces, n_namespaces, batch);
	batch->is_partial = self->is_partial || batch->window.start_ms < self->warned_before_ms;
	if (batch->is_partial)
		snprintf(batch->warning, sizeof(batch->warning), "store-3 is away (try %d)", self->n_reads);
	return 0;
}

static int nodes(struct evidence_reader *base, const struct evidence_window *window, struct evidence_nodes *ret,
		 struct err *err)
{
	(void)base;
	(void)window;
	(void)err;
	evidence_nodes_release(ret);
	return 0;
}

void fake_reader_init(struct fake_reader *self, const struct fake_pod *pods, size_t n)
{
	static const char *const namespaces[] = {"ml"};

	*self = (struct fake_reader){
		.base = {.source = "query", .detect = detect, .read = read_window, .nodes = nodes},
		.pods = pods,
		.n_pods = n,
	};
	self->base.namespaces = namespaces;
	self->base.n_namespaces = 1;
}
