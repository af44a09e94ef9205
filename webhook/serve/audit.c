/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/audit.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/strbuf.h"

#include <stdio.h>

/* Escaped twice (logfmt), and with every other field at its longest, the line stays under LIMIT_LOG_LINE_BYTES. */
#define CHANGES_BYTES (2 * KIB)
#define CHANGE_BYTES  288
#define TEXT_BYTES    256

struct text {
	char p[TEXT_BYTES];
};

/* Names are short and plain where an API server has checked them. */
static const char *cut(struct text *ret, const char *first, const char *second)
{
	snprintf(ret->p, sizeof(ret->p), "%.253s%s%.253s", first, *first && *second ? "/" : "", second);
	for (char *p = ret->p; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return ret->p;
}

static void add_change(const struct size_change *change, struct strbuf *buf)
{
	char text[QUANTITY_TEXT_BYTES];
	struct text name;

	cut(&name, change->container->name, "");
	name.p[LIMIT_NAMESPACE_BYTES] = '\0'; /* a container's name is a label too */
	strbuf_adds(buf, "{\"container\":");
	strbuf_add_json_string(buf, name.p);
	strbuf_addf(buf, ",\"resource\":\"%s\",\"field\":\"%s\"", k8s_resource_names[change->resource],
		    change->field == SIZE_LIMIT ? "limit" : "request");
	if (change->has_from)
		strbuf_addf(buf, ",\"from\":\"%s\"", quantity_render_bytes(change->from_bytes, text));
	strbuf_addf(buf, ",\"to\":\"%s\",\"rule\":\"%s\"}", quantity_render_bytes(change->to_bytes, text),
		    change->rule);
}

/* @return how many are in it. */
static size_t add_changes(const struct decision *decision, struct strbuf *buf)
{
	size_t i = 0;

	strbuf_addc(buf, '[');
	for (; i < decision->n_sizes && buf->len + CHANGE_BYTES < CHANGES_BYTES; i++) {
		strbuf_adds(buf, i ? "," : "");
		add_change(&decision->sizes[i], buf);
	}
	strbuf_addc(buf, ']');
	return i;
}

void audit_pod(const struct review *review, const struct k8s_pod *pod, const struct decision *decision)
{
	CLEANUP(strbuf_release) struct strbuf changes = STRBUF_INIT(CHANGES_BYTES);
	const struct k8s_owner *owner = k8s_pod_controller(pod);
	const struct profile *profile = decision->profile;
	struct text uid, namespace_name, name, owner_name;
	size_t n;

	if (!log_is_on(LOG_INFO))
		return;
	n = add_changes(decision, &changes);
	log_event(LOG_INFO, "pod patched", "uid", cut(&uid, review->uid, ""), "namespace",
		  cut(&namespace_name, review->namespace_name, ""), "pod",
		  cut(&name, pod->name[0] ? pod->name : pod->generate_name, ""), "owner",
		  cut(&owner_name, owner ? owner->kind : "", owner ? owner->name : ""), "root",
		  decision->identity.run_key, "workload", decision->workload_id, "mode", mode_names[decision->mode],
		  LOG_JSON_FIELD "revision", profile ? log_i64(profile->revision) : "null", LOG_JSON_FIELD "runs",
		  profile ? log_i64(profile->parent.whole_runs) : "null", LOG_JSON_FIELD "dry_run",
		  review->is_dry_run ? "true" : "false", LOG_JSON_FIELD "changes", strbuf_text(&changes),
		  n < decision->n_sizes ? LOG_JSON_FIELD "changes_left_out" : NULL, log_i64(decision->n_sizes - n),
		  NULL);
}
