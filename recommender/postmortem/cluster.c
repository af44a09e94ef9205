/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/cluster.h"

#include "base/timefmt.h"
#include "kube/kube_client.h"

#define REQUEST_MS (20 * TIME_SECOND_MS) /* of a request; an API server waits as long for a kubelet that is gone */
#define POLL_MS	   TIME_SECOND_MS

/* A request under way. */
struct fetching {
	struct strbuf *body;
	size_t max_bytes;
	bool keeps_end, has_ended;
	int code;
	struct err err;
};

/* The body has room for twice what is kept. */
static void drop_start(struct strbuf *body, size_t max_bytes)
{
	memmove(body->text, body->text + body->len - max_bytes, max_bytes + 1);
	body->len = max_bytes;
}

static int take_piece(void *context, const char *bytes, size_t n)
{
	struct fetching *self = context;

	if (self->keeps_end && self->body->len > self->max_bytes && self->body->len + n > self->body->max)
		drop_start(self->body, self->max_bytes);
	return strbuf_add(self->body, bytes, n);
}

static void take_result(void *context, const struct kube_result *result)
{
	struct fetching *self = context;

	self->has_ended = true;
	self->code = result->code;
	self->err = result->err;
}

static int fetch(void *context, const char *path, size_t max_bytes, bool keeps_end, struct strbuf *body,
		 struct err *err)
{
	const struct cluster_source *self = context;
	int64_t left_ms = self->deadline_ms ? self->deadline_ms - time_monotonic_ms() : REQUEST_MS;
	struct fetching fetching = {.body = body, .max_bytes = max_bytes, .keeps_end = keeps_end};
	const struct kube_request request = {.verb = KUBE_GET,
					     .raw_path = path,
					     .timeout_ms = MIN(left_ms, REQUEST_MS),
					     .total_timeout_ms = MIN(left_ms, REQUEST_MS),
					     .piece = take_piece,
					     .done = take_result,
					     .context = &fetching};
	struct kube_call *call;
	int r;

	if (left_ms <= 0)
		return err_set(err, -ETIMEDOUT, "no time was left for it");
	r = kube_client_submit(self->client, &request, &call, err);

	while (!r && !fetching.has_ended)
		r = kube_client_poll(self->client, NULL, 0, POLL_MS, err);
	if (r && !fetching.has_ended)
		kube_client_cancel(self->client, call);
	if (!r && fetching.code && err)
		*err = fetching.err;
	return r ? r : fetching.code;
}

void cluster_source_init(struct cluster_source *ret, struct kube_client *client, int64_t deadline_ms)
{
	*ret = (struct cluster_source){.client = client, .deadline_ms = deadline_ms};
	ret->source = (struct postmortem_source){.fetch = fetch, .context = ret};
}

int cluster_open(const char *kubeconfig, const char *context, struct cluster *ret, struct err *err)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	int r;

	*ret = (struct cluster){.access = KUBE_ACCESS_INIT};
	r = kube_access_open(kubeconfig, context, "memtamer-triage", &ret->access, err);
	if (r)
		return r;
	ret->has_pipe_action = sigaction(SIGPIPE, &ignore, &ret->pipe_action) == 0;
	cluster_source_init(&ret->requests, ret->access.client, 0);
	return 0;
}

void cluster_close(struct cluster *self)
{
	kube_access_release(&self->access);
	if (self->has_pipe_action)
		sigaction(SIGPIPE, &self->pipe_action, NULL);
	self->has_pipe_action = false;
}
