/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: each query has a stream parser that is fed as its answer arrives. The worst result is the result of the
 * set. A busy engine (429, 502 or 503 without an explanation) is asked again, at most twice. Once one query is too
 * heavy, the set has to be split, so the others are cancelled. */
#include "evidence/query_internal.h"

#include "base/timefmt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ASK_TRIES = 3, RETRY_WAIT_MAX_S = 5 };

struct task;

/* All queries of one call of query_ask. */
struct task_set {
	struct task *tasks;
	size_t n;
	const struct task *refused; /* the first that was too heavy, or could not be sent */
};

struct task {
	struct query_reader *reader;
	struct task_set *set;
	const struct query *query;
	struct metric_sink sink;
	struct prom_stream stream;
	struct json_object *labels; /* labels of the current series */
	struct err err;
	int status;
	bool is_done, wants_retry;
	int64_t retry_after_s;
};

static int on_series(void *context, struct json_object *labels, struct err *err)
{
	struct task *task = context;

	(void)err;
	task->labels = labels;
	return 0;
}

static int on_sample(void *context, int64_t time_ms, double value, struct err *err)
{
	struct task *task = context;

	task->sink.time_ms = time_ms;
	return task->query->row->take(&task->sink, task->labels, value, err);
}

static int on_body(void *context, const char *bytes, size_t n)
{
	struct task *task = context;

	return prom_stream_feed(&task->stream, bytes, n, &task->err);
}

/* Whether the body of an error says that the query took too long or that its data is more than a component passes on:
 * "query timed out", "context deadline exceeded", "received message larger than max". */
static bool says_too_heavy(const char *body)
{
	static const char *const words[] = {"timed out", "deadline exceeded", "larger than max", "too large"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(body, words[i]))
			return true;
	return false;
}

/* Whether the body is an error of the query API: not that of a gateway, and not of a server that does not run. */
static bool says_query_failed(const char *body)
{
	return strstr(body, "\"errorType\"") != NULL;
}

/* 422: the engine gave up during the query; 413: the answer is too long; 504: a gateway did not wait for the end of the
 * query. 500 and 503 say in the body if the query was the reason; Prometheus answers 500 if it cannot read a block. */
int query_condition(const struct http_result *result)
{
	switch (result->outcome) {
	case HTTP_DONE:
		return 0;
	case HTTP_TIMED_OUT:
		return EVIDENCE_TOO_HEAVY;
	case HTTP_CANCELLED:
		return EVIDENCE_STOPPED;
	case HTTP_ABORTED:
	case HTTP_FAILED_LOCALLY:
		return result->err.code;
	case HTTP_STATUS:
		if (result->status == 422 || result->status == 413 || result->status == 504)
			return EVIDENCE_TOO_HEAVY;
		if (result->status == 500 && says_query_failed(result->error_body))
			return EVIDENCE_TOO_HEAVY;
		if ((result->status == 500 || result->status == 503) && says_too_heavy(result->error_body))
			return EVIDENCE_TOO_HEAVY;
		return EVIDENCE_UNREACHABLE;
	default:
		return EVIDENCE_UNREACHABLE;
	}
}

static bool is_worth_a_retry(const struct http_result *result)
{
	if (result->outcome == HTTP_BROKEN)
		return true;
	return result->outcome == HTTP_STATUS &&
	       (result->status == 429 || result->status == 502 || result->status == 503);
}

/* Counts and sums are added while samples arrive, so a retry after half an answer would add them twice. */
static bool is_half_added(const struct task *task)
{
	const struct metric_row *row = task->query->row;

	return task->stream.n_samples > 0 && (row->phase == PHASE_HOURS || row->family == FAMILY_DCGM);
}

/* Prometheus' own explanation of a refusal is better than the HTTP status. */
static void explain_refusal(struct task *task, const struct http_result *result)
{
	struct prom_stream stream;

	prom_stream_init(&stream, &(struct prom_handler){0});
	if (prom_stream_feed(&stream, result->error_body, result->error_body_bytes, NULL) == 0 &&
	    prom_stream_finish(&stream, NULL) == 0 && stream.error.len > 0)
		err_set(&task->err, task->err.code, "%s: HTTP %ld %s: %.300s", task->query->row->metric, result->status,
			strbuf_text(&stream.error_type), strbuf_text(&stream.error));
	prom_stream_release(&stream);
}

static void cancel_others(struct task *refused)
{
	struct task_set *set = refused->set;

	set->refused = refused;
	for (size_t i = 0; i < set->n; i++)
		if (!set->tasks[i].is_done)
			http_client_cancel(refused->reader->client, &set->tasks[i]);
}

/* Remembers the first refusal. @return whether this query was cancelled because of it. */
static bool note_refusal(struct task *task, const struct http_result *result)
{
	if (task->set->refused)
		return result->outcome == HTTP_CANCELLED;
	if (task->status == EVIDENCE_TOO_HEAVY)
		cancel_others(task);
	return false;
}

static void on_done(void *context, const struct http_result *result)
{
	struct task *task = context;

	task->is_done = true;
	task->status = query_condition(result);
	if (note_refusal(task, result)) {
		task->status = 0; /* the set has the status of the refused one */
		return;
	}
	if (task->status == 0) {
		task->status = prom_stream_finish(&task->stream, &task->err);
		if (!task->status && task->stream.status == PROM_STATUS_ERROR)
			task->status = err_set(&task->err, -EPROTO, "%s: %s: %.300s", task->query->row->metric,
					       strbuf_text(&task->stream.error_type), strbuf_text(&task->stream.error));
		return;
	}
	task->wants_retry = task->status != EVIDENCE_TOO_HEAVY && is_worth_a_retry(result) && !is_half_added(task);
	task->retry_after_s = result->retry_after_s;
	if (result->outcome != HTTP_ABORTED)
		task->err = result->err;
	if (result->outcome == HTTP_STATUS)
		explain_refusal(task, result);
}

static void add_time(struct strbuf *form, const char *name, int64_t time_ms)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64 ".%03" PRId64, time_ms / 1000, time_ms % 1000);
	http_form_add(form, name, text);
}

/* Times are the last millisecond of the wanted range, so that engines with left-open and with closed ranges see the
 * same samples. */
static int task_form(struct task *task, const char *const *namespaces, size_t n_namespaces, struct strbuf *form,
		     struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_PROM_QUERY_BYTES);
	const struct query *query = task->query;
	char timeout[TIME_TEXT_BYTES];
	int r = query_expression(task->reader, query, namespaces, n_namespaces, &text, err);

	if (r)
		return r;
	http_form_add(form, "query", strbuf_text(&text));
	http_form_add(form, "timeout", duration_render(task->reader->config.prometheus->timeout_ms, timeout));
	if (query->step_ms) {
		add_time(form, "start", query->start_ms - 1);
		add_time(form, "end", query->end_ms - 1);
		http_form_add(form, "step", duration_render(query->step_ms, timeout));
	} else {
		add_time(form, "time", query->end_ms - 1);
	}
	return form->status ? err_set(err, form->status, "no memory left for a query") : 0;
}

static int task_submit(struct task *task, const char *const *namespaces, size_t n_namespaces, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf form = STRBUF_INIT(4 * LIMIT_PROM_QUERY_BYTES);
	struct http_request request = {.path = task->query->step_ms ? "/api/v1/query_range" : "/api/v1/query",
				       .body_piece = on_body,
				       .done = on_done,
				       .context = task};
	int r = task_form(task, namespaces, n_namespaces, &form, err);

	if (r)
		return r;
	request.body = strbuf_text(&form);
	request.body_bytes = form.len;
	prom_stream_release(&task->stream);
	prom_stream_init(&task->stream, &(struct prom_handler){task, on_series, on_sample});
	task->is_done = task->wants_retry = false;
	task->status = EVIDENCE_STOPPED;
	task->err = (struct err)ERR_INIT;
	task->reader->base.n_queries++;
	return http_client_submit(task->reader->client, &request, err);
}

/* Informational notes of PromQL ("metric might not be a counter") do not mean a loss of data. */
static void note_warnings(const struct prom_stream *stream, struct query_result *ret)
{
	const char *line = strbuf_text(&stream->warnings);

	while (*line) {
		size_t n = strcspn(line, "\n");

		if (!strstarts(line, "PromQL ") && !ret->is_partial) {
			ret->is_partial = true;
			snprintf(ret->warning, sizeof(ret->warning), "%.*s", (int)MIN(n, (size_t)150), line);
		}
		line += n + (line[n] == '\n');
	}
}

/* The rank of a status; a higher rank is worse. */
static int severity(int status)
{
	if (status == 0)
		return 0;
	if (status < 0)
		return 2;
	return status == EVIDENCE_TOO_HEAVY ? 1 : status == EVIDENCE_UNREACHABLE ? 3 : 4;
}

static void collect(struct task *tasks, size_t n, struct query_result *ret)
{
	for (size_t i = 0; i < n; i++) {
		struct task *task = &tasks[i];

		ret->n_series += task->stream.n_series;
		ret->n_samples += task->stream.n_samples;
		note_warnings(&task->stream, ret);
		if (severity(task->status) <= severity(ret->status))
			continue;
		ret->status = task->status;
		ret->err = task->err;
		if (!ret->err.msg[0])
			err_set(&ret->err, task->status, "%s: not answered", task->query->row->metric);
	}
}

static int run(struct query_reader *self, struct err *err)
{
	int r = http_client_run(self->client, self->deadline_ms, err);

	return r == 1 ? EVIDENCE_STOPPED : r;
}

/* Submits all unfinished tasks. If one fails, the others are cancelled, so that a later run does not end them when they
 * are gone. */
static int submit_all(struct task *tasks, size_t n, const char *const *namespaces, size_t n_namespaces, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		if (tasks[i].is_done && !tasks[i].wants_retry)
			continue;
		r = task_submit(&tasks[i], namespaces, n_namespaces, err);
		if (!r)
			continue;
		tasks[i].status = r;
		tasks[i].is_done = true;
		cancel_others(&tasks[i]);
	}
	return r;
}

/* Runs all unfinished tasks once, and sleeps if some need a retry; `ret_again` is their number. @return 0;
 * EVIDENCE_STOPPED; -errno. */
static int try_all(struct query_reader *self, struct task *tasks, size_t n, const char *const *namespaces,
		   size_t n_namespaces, size_t *ret_again, struct err *err)
{
	int64_t wait_s = 0;
	int r = submit_all(tasks, n, namespaces, n_namespaces, err), ran = run(self, r ? NULL : err);

	r = r ? r : ran;
	*ret_again = 0;
	for (size_t i = 0; i < n && !tasks[i].set->refused; i++) {
		*ret_again += tasks[i].wants_retry;
		wait_s = MAX(wait_s, tasks[i].retry_after_s);
	}
	if (!r && *ret_again)
		sleep((unsigned int)MIN(MAX(wait_s, 1), RETRY_WAIT_MAX_S));
	return r;
}

int query_ask(struct query_reader *self, const struct query *queries, size_t n, const char *const *namespaces,
	      size_t n_namespaces, struct query_result *ret, struct err *err)
{
	struct task *tasks = calloc(n ? n : 1, sizeof(*tasks));
	struct task_set set = {.tasks = tasks, .n = n};
	size_t again = 1;
	int r = 0;

	*ret = (struct query_result){0};
	if (!tasks)
		return ret->status = err_set(err, -ENOMEM, "no memory left for %zu queries", n);
	for (size_t i = 0; i < n; i++) {
		tasks[i] = (struct task){.reader = self, .set = &set, .query = &queries[i], .sink = queries[i].sink};
		tasks[i].sink.labels = &self->labels[queries[i].row->family];
		tasks[i].sink.argument = queries[i].row->argument;
		tasks[i].sink.hour_ms = queries[i].range_ms;
		prom_stream_init(&tasks[i].stream, &(struct prom_handler){0});
	}
	for (int try = 0; try < ASK_TRIES && again && !r; try++)
		r = try_all(self, tasks, n, namespaces, n_namespaces, &again, &ret->err);
	if (r)
		ret->status = r;
	collect(tasks, n, ret);
	for (size_t i = 0; i < n; i++)
		prom_stream_release(&tasks[i].stream);
	free(tasks);
	if (ret->status && err)
		*err = ret->err;
	return ret->status;
}

int query_ask_at_once(struct evidence_reader *base, const struct query *queries, size_t n,
		      const char *const *namespaces, size_t n_namespaces, struct err *err)
{
	struct query_reader *self = (struct query_reader *)base;
	struct query_result result;

	if (!self->labels[FAMILY_CADVISOR].namespace_label)
		self->labels[FAMILY_CADVISOR] = (struct metric_labels){"namespace", "pod", "container"};
	return query_ask(self, queries, n, namespaces, n_namespaces, &result, err);
}
