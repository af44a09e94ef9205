/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/audit.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/strbuf.h"

#include <stdio.h>

/* Escaped twice (logfmt), and with every other field at its longest, the line stays under LIMIT_LOG_LINE_BYTES. */
#define CHANGES_BYTES (2 * KIB)
#define CHANGE_BYTES  400
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
	strbuf_addf(buf, ",\"to\":\"%s\",\"rule\":\"%s\"", quantity_render_bytes(change->to_bytes, text), change->rule);
	if (change->cap) {
		strbuf_adds(buf, ",\"cap\":");
		strbuf_add_json_string(buf, change->cap);
	}
	strbuf_addc(buf, '}');
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

/* Who was patched, in cleaned and cut words. */
struct patched {
	const char *message;
	struct text name, owner;
};

static void tell(const struct review *review, const struct decision *decision, const struct patched *who)
{
	CLEANUP(strbuf_release) struct strbuf changes = STRBUF_INIT(CHANGES_BYTES);
	const struct profile *profile = decision->profile;
	struct text uid, namespace_name;
	size_t n = add_changes(decision, &changes);

	log_event(LOG_INFO, who->message, "uid", cut(&uid, review->uid, ""), "namespace",
		  cut(&namespace_name, review->namespace_name, ""), "pod", who->name.p, "owner", who->owner.p, "root",
		  decision->identity.run_key, "workload", decision->workload_id, "mode", mode_names[decision->mode],
		  LOG_JSON_FIELD "revision", profile ? log_i64(profile->revision) : "null", LOG_JSON_FIELD "runs",
		  profile ? log_i64(profile->parent.whole_runs) : "null", LOG_JSON_FIELD "dry_run",
		  review->is_dry_run ? "true" : "false", LOG_JSON_FIELD "changes", strbuf_text(&changes),
		  n < decision->n_sizes ? LOG_JSON_FIELD "changes_left_out" : NULL, log_i64(decision->n_sizes - n),
		  NULL);
}

void audit_pod(const struct review *review, const struct k8s_pod *pod, const struct decision *decision)
{
	const struct k8s_owner *owner = k8s_pod_controller(pod);
	struct patched who = {.message = "pod patched"};

	if (!log_is_on(LOG_INFO))
		return;
	cut(&who.name, pod->name[0] ? pod->name : pod->generate_name, "");
	cut(&who.owner, owner ? owner->kind : "", owner ? owner->name : "");
	tell(review, decision, &who);
}

void audit_template(const struct review *review, const struct workload_template *item)
{
	struct patched who = {.message = "template patched"};

	if (!log_is_on(LOG_INFO))
		return;
	cut(&who.name, item->owner.name, item->input.role ? item->input.role : "");
	cut(&who.owner, review->kind, item->owner.name);
	tell(review, &item->decision, &who);
}
