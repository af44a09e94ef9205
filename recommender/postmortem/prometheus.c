/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/prometheus.h"

#include "base/timefmt.h"
#include "evidence/query.h"
#include "evidence/query_node.h"
#include "postmortem/postmortem.h"

#include <stdio.h>

#define QUERY_MS (10 * TIME_SECOND_MS) /* of one query */
#define NODE	 "node/"

int prometheus_open(const char *config_path, struct prometheus *ret, struct err *err)
{
	const struct query_config query = {.prometheus = &ret->settings};
	int r;

	*ret = (struct prometheus){.config = NULL};
	r = config_load(config_path, &ret->config, err);
	if (r)
		return r;
	ret->settings = ret->config->prometheus;
	ret->settings.timeout_ms = MIN(ret->settings.timeout_ms, QUERY_MS);
	return query_reader_new(&query, &ret->reader, err);
}

void prometheus_close(struct prometheus *self)
{
	query_reader_freep(&self->reader);
	config_freep(&self->config);
}

bool prometheus_is_node(const char *text)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
	size_t n;

	if (!strstarts(text, NODE))
		return false;
	text += strlen(NODE);
	n = strspn(text, chars);
	return n && !text[n] && n <= LIMIT_NAME_BYTES;
}

static void note_missing(struct triage *triage, const char *name, const struct node_lines *found)
{
	if (found->other[0])
		triage_note(&triage->unseen,
			    "Prometheus has several nodes %s (instances %s and %s); choose one: --node node/%s, or "
			    "prometheus.extraMatchers in the configuration.",
			    name, found->instance, found->other, found->instance);
	else if (!found->instance[0])
		triage_note(&triage->unseen,
			    "Prometheus has no series of node_exporter for node %s: neither nodename of "
			    "node_uname_info nor its labels node, kubernetes_node and instance are that.",
			    name);
	else
		triage_note(&triage->unseen,
			    "node_exporter does not say which tasks the OOM killer may not choose, or for which it is "
			    "turned off, nor what the kubelet reserves: --node FILE, kubectl describe node %s",
			    name);
}

int prometheus_read_node(struct prometheus *self, struct triage *triage, const char *node)
{
	CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT(LIMIT_TRIAGE_NODE_BYTES);
	struct node_lines found = {.lines = &lines};
	const char *name = node + strlen(NODE);
	struct err err = ERR_INIT;
	int r;

	query_reader_deadline(self->reader, time_monotonic_ms() + PROMETHEUS_ALL_MS);
	r = query_node(self->reader, name, time_now_ms(), &found, &err);
	if (r == -ENOMEM)
		return r;
	if (r)
		triage_note(&triage->unseen, "Prometheus was not read for node %s: %s.", name, err.msg);
	else
		note_missing(triage, name, &found);
	if (found.other[0])
		strbuf_clear(&lines);
	snprintf(self->source, sizeof(self->source), "series of node/%s", name);
	return facts_read_bytes(&triage->facts, self->source, INPUT_NODE, strbuf_text(&lines), lines.len);
}
