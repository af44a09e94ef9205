/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/query_internal.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct query_reader *of(struct evidence_reader *base)
{
	return (struct query_reader *)base;
}

/* Appends a row's queries for a window: one, or for hours a range query and an instant query for the rest of an
 * hour. */
static size_t add_row(const struct metric_row *row, const struct evidence_window *window,
		      const struct metric_sink *sink, struct query *ret)
{
	int64_t length_ms = window->end_ms - window->start_ms, rest_ms = length_ms % TIME_HOUR_MS;
	int64_t hours_end_ms = window->end_ms - rest_ms;
	size_t n = 0;

	if (row->phase != PHASE_HOURS) {
		ret[n++] = (struct query){.row = row, .end_ms = window->end_ms, .range_ms = length_ms, .sink = *sink};
		return n;
	}
	if (length_ms >= TIME_HOUR_MS)
		ret[n++] = (struct query){.row = row,
					  .start_ms = window->start_ms + TIME_HOUR_MS,
					  .end_ms = hours_end_ms,
					  .step_ms = TIME_HOUR_MS,
					  .range_ms = TIME_HOUR_MS,
					  .sink = *sink};
	if (rest_ms)
		ret[n++] = (struct query){.row = row, .end_ms = window->end_ms, .range_ms = rest_ms, .sink = *sink};
	return n;
}

static int ask_phases(struct query_reader *self, unsigned int phases, const struct evidence_window *window,
		      const struct metric_sink *sink, const char *const *namespaces, size_t n_namespaces,
		      struct query_result *ret, struct err *err)
{
	struct query queries[64];
	size_t n = 0;

	for (size_t i = 0; i < metric_row_count; i++)
		if (phases & 1u << metric_rows[i].phase && self->is_present[i])
			n += add_row(&metric_rows[i], window, sink, &queries[n]);
	return query_ask(self, queries, n, namespaces, n_namespaces, ret, err);
}

static void link_jobs(struct evidence_batch *batch, const struct strmap *job_owners)
{
	char key[2 * LIMIT_NAME_BYTES];

	for (size_t i = 0; i < batch->pods.n; i++) {
		struct pod *pod = batch->pods.items[i];
		const struct metric_owner *owner;

		if (!streq(pod->owner_kind, "Job"))
			continue;
		snprintf(key, sizeof(key), "%s/%s", pod->namespace_name, pod->owner_name);
		owner = strmap_get(job_owners, key);
		if (owner) {
			pod->root_kind = owner->kind;
			pod->root_name = owner->name;
		}
	}
}

static void note(struct evidence_batch *batch, const struct query_result *result)
{
	batch->n_series += result->n_series;
	if (!result->is_partial || batch->is_partial)
		return;
	batch->is_partial = true;
	snprintf(batch->warning, sizeof(batch->warning), "%s", result->warning);
}

void query_drop_copy(struct pod_container *container)
{
	struct evidence_usage *items = container->usage.items;
	size_t n = container->usage.n, copy = 0;

	while (copy < n && *items[copy].cgroup)
		copy++;
	if (copy == n || n < 2)
		return;
	if (!items[copy].is_doubtful)
		items[copy ? 0 : n - 1].peak_bytes = MAX(items[copy ? 0 : n - 1].peak_bytes, items[copy].peak_bytes);
	items[copy] = items[--container->usage.n];
}

static void settle(const struct query_reader *self, struct evidence_batch *batch)
{
	bool knows_phases = query_has_metric(self, "kube_pod_status_phase");

	for (size_t i = 0; i < batch->pods.n; i++) {
		struct pod *pod = batch->pods.items[i];

		/* kube-state-metrics reports a completion time as soon as one container has ended, even if it is
		 * restarted (createPodCompletionTimeFamilyGenerator in internal/store/pod.go). */
		if (knows_phases && !pod->is_watched && !(pod->ends & (END_SUCCEEDED | END_FAILED)))
			pod->completion_ms = 0;
		for (size_t k = 0; k < pod->containers.n; k++) {
			query_drop_copy(&pod->containers.items[k]);
			for (size_t u = 0; u < pod->containers.items[k].usage.n; u++) {
				struct evidence_usage *usage = &pod->containers.items[k].usage.items[u];

				evidence_usage_settle(usage);
				usage->last_ms = MIN(usage->last_ms, batch->window.end_ms);
				batch->n_samples += usage->samples;
			}
		}
	}
}

/* The namespaces with training pods, which alone are asked for use. The list is in the batch's arena. NULL: out of
 * memory. */
static const char **find_training(struct evidence_batch *batch, size_t *ret_n)
{
	const char **names = arena_array(&batch->pods.arena, batch->pods.n + 1, sizeof(*names));
	struct strmap seen = STRMAP_INIT;

	*ret_n = 0;
	for (size_t i = 0; names && i < batch->pods.n; i++) {
		struct pod *pod = batch->pods.items[i];

		evidence_pod_classify(pod);
		if (!pod->is_training || strmap_has(&seen, pod->namespace_name))
			continue;
		names[(*ret_n)++] = pod->namespace_name;
		if (strmap_put(&seen, pod->namespace_name, pod))
			names = NULL;
	}
	strmap_release(&seen);
	return names;
}

static int read_window(struct evidence_reader *base, const char *const *namespaces, size_t n_namespaces,
		       struct evidence_batch *batch, struct err *err)
{
	struct query_reader *self = of(base);
	struct strmap job_owners = STRMAP_INIT;
	struct metric_sink sink = {.batch = batch, .job_owners = &job_owners};
	unsigned int phases = 1u << PHASE_FACTS | 1u << PHASE_HOURS;
	struct query_result result;
	const char **training = NULL;
	size_t n_training = 0;
	int r = ask_phases(self, 1u << PHASE_PODS, &batch->window, &sink, namespaces, n_namespaces, &result, err);

	note(batch, &result);
	if (!r) {
		link_jobs(batch, &job_owners);
		training = find_training(batch, &n_training);
		r = training ? 0 : err_set(err, -ENOMEM, "no memory left for namespaces");
	}
	if (!r && n_training) {
		if (batch->window.is_open)
			phases |= 1u << PHASE_OPEN;
		r = ask_phases(self, phases, &batch->window, &sink, training, n_training, &result, err);
		note(batch, &result);
		settle(self, batch);
	}
	strmap_release(&job_owners);
	return r;
}

static int read_nodes(struct evidence_reader *base, const struct evidence_window *window, struct evidence_nodes *ret,
		      struct err *err)
{
	struct metric_sink sink = {.nodes = ret};
	struct query_result result;

	evidence_nodes_release(ret);
	return ask_phases(of(base), 1u << PHASE_NODES, window, &sink, NULL, 0, &result, err);
}

static void reader_free(struct evidence_reader *base)
{
	struct query_reader *self = of(base);

	http_client_free(self->client);
	vec_release(&self->findings);
	vec_release(&self->namespaces);
	arena_release(&self->arena);
	free(self);
}

void query_reader_freep(struct evidence_reader **reader)
{
	if (*reader)
		(*reader)->free(*reader);
	*reader = NULL;
}

static int client_new(const struct prometheus_config *config, struct http_client **ret, struct err *err)
{
	struct http_client_header headers[64];
	struct http_client_config http = {
		.base_url = config->url,
		.bearer_token_file = config->bearer_token_file,
		.basic_user = config->basic_user,
		.basic_password_file = config->basic_password_file,
		.ca_file = config->ca_file,
		.cert_file = config->cert_file,
		.key_file = config->key_file,
		.insecure_skip_verify = config->insecure_skip_verify,
		.headers = headers,
		.user_agent = "memtamer-recommender",
		.timeout_ms = config->timeout_ms,
		.concurrency = (size_t)MAX(config->concurrency, 1),
	};

	if (config->n_headers > ARRAY_LEN(headers))
		return err_set(err, -EINVAL, "prometheus.headers: more than %zu", ARRAY_LEN(headers));
	for (; http.n_headers < config->n_headers; http.n_headers++)
		headers[http.n_headers] = (struct http_client_header){config->headers[http.n_headers].name,
								      config->headers[http.n_headers].value};
	return http_client_new(&http, ret, err);
}

int query_reader_new(const struct query_config *config, struct evidence_reader **ret, struct err *err)
{
	struct query_reader *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "no memory left");
	self->base = (struct evidence_reader){.source = "query",
					      .detect = query_detect,
					      .read = read_window,
					      .nodes = read_nodes,
					      .curves = query_curves,
					      .free = reader_free};
	self->config = *config;
	self->arena = (struct arena)ARENA_INIT(LIMIT_EVIDENCE_BYTES);
	r = client_new(config->prometheus, &self->client, err);
	if (r) {
		free(self);
		return r;
	}
	*ret = &self->base;
	return 0;
}

void query_reader_deadline(struct evidence_reader *reader, int64_t deadline_ms)
{
	of(reader)->deadline_ms = deadline_ms;
}

void query_reader_interrupt(struct evidence_reader *reader)
{
	http_client_interrupt(of(reader)->client);
}
