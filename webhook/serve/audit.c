/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/audit.h"

#include "base/json_write.h"
#include "base/limits.h"

#include <stdio.h>

/* Even when escaped twice (logfmt), and with every other field at its longest, the line is shorter than
 * LIMIT_LOG_LINE_BYTES. */
#define CHANGES_BYTES (2 * KIB)
#define CHANGE_BYTES  400
#define TEXT_BYTES    256

struct text {
	char p[TEXT_BYTES];
};

/* Cleans and cuts a name; only the API server guarantees that names are short and plain. */
static const char *cut(struct text *ret, const char *first, const char *second)
{
	snprintf(ret->p, sizeof(ret->p), "%.253s%s%.253s", first, *first && *second ? "/" : "", second);
	for (char *p = ret->p; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return ret->p;
}

/* A container's name, cleaned and cut. */
static void add_container(const struct k8s_container *container, struct strbuf *buf)
{
	struct text name;

	cut(&name, container->name, "");
	name.p[LIMIT_NAMESPACE_BYTES] = '\0'; /* a container's name is a label too */
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "container", name.p);
}

static void add_env(const struct k8s_container *container, const char *variable, struct strbuf *buf)
{
	add_container(container, buf);
	json_write_text(buf, "env", variable);
	json_write_text(buf, "to", ALLOCATOR_SETTING);
	strbuf_addc(buf, '}');
}

static void add_change(const struct size_change *change, struct strbuf *buf)
{
	char text[QUANTITY_TEXT_BYTES];

	add_container(change->container, buf);
	json_write_text(buf, "resource", k8s_resource_names[change->resource]);
	json_write_text(buf, "field", change->field == SIZE_LIMIT ? "limit" : "request");
	if (change->has_from)
		json_write_text(buf, "from", quantity_render_bytes(change->from_bytes, text));
	json_write_text(buf, "to", quantity_render_bytes(change->to_bytes, text));
	json_write_text(buf, "rule", change->rule);
	if (change->cap)
		json_write_text(buf, "cap", change->cap);
	strbuf_addc(buf, '}');
}

/* @return how many sizes are in the list. */
static size_t add_changes(const struct decision *decision, struct strbuf *buf)
{
	size_t i = 0;

	strbuf_addc(buf, '[');
	for (; i < decision->n_sizes && buf->len + CHANGE_BYTES < CHANGES_BYTES; i++)
		add_change(&decision->sizes[i], buf);
	for (size_t k = 0; k < decision->n_envs && buf->len + CHANGE_BYTES < CHANGES_BYTES; k++)
		add_env(decision->envs[k], decision->variable, buf);
	strbuf_addc(buf, ']');
	return i;
}

/* Identifies the patched object, in cleaned and cut strings. */
struct patched {
	enum client_line line;
	struct text name, owner;
};

static void write_record(struct client_log *log, const struct review *review, const struct decision *decision,
			 const struct patched *who)
{
	CLEANUP(strbuf_release) struct strbuf changes = STRBUF_INIT(CHANGES_BYTES);
	const struct profile *profile = decision->profile;
	struct text uid, namespace_name;
	size_t n = add_changes(decision, &changes);

	client_log(log, who->line, "uid", cut(&uid, review->uid, ""), "namespace",
		   cut(&namespace_name, review->namespace_name, ""), "pod", who->name.p, "owner", who->owner.p, "root",
		   decision->identity.run_key, "workload", decision->workload_id, "mode", mode_names[decision->mode],
		   LOG_JSON_FIELD "revision", profile ? log_i64(profile->revision) : "null", LOG_JSON_FIELD "runs",
		   profile ? log_i64(profile->parent.whole_runs) : "null", LOG_JSON_FIELD "dry_run",
		   review->is_dry_run ? "true" : "false", LOG_JSON_FIELD "changes", strbuf_text(&changes),
		   n < decision->n_sizes ? LOG_JSON_FIELD "changes_left_out" : NULL, log_i64(decision->n_sizes - n),
		   NULL);
}

void audit_pod(struct client_log *log, const struct review *review, const struct k8s_pod *pod,
	       const struct decision *decision)
{
	const struct k8s_owner *owner = k8s_pod_controller(pod);
	struct patched who = {.line = LINE_POD_PATCHED};

	if (!log_is_on(LOG_INFO))
		return;
	cut(&who.name, pod->name[0] ? pod->name : pod->generate_name, "");
	cut(&who.owner, owner ? owner->kind : "", owner ? owner->name : "");
	write_record(log, review, decision, &who);
}

void audit_template(struct client_log *log, const struct review *review, const struct workload_template *item)
{
	struct patched who = {.line = LINE_TEMPLATE_PATCHED};

	if (!log_is_on(LOG_INFO))
		return;
	cut(&who.name, item->from->owner_facts.name, item->input.role ? item->input.role : "");
	cut(&who.owner, review->kind, item->from->owner_facts.name);
	write_record(log, review, &item->decision, &who);
}
