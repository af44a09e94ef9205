/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/workload.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "policy/decide/decide_internal.h"
#include "policy/render/render_internal.h"

#include <errno.h>

enum { DENIAL_BYTES = 4096 };

int workload_template_read(const struct kind_template *from, const char *default_namespace, struct arena *arena,
			   struct workload_template *ret, struct err *err)
{
	bool is_pod = streq(from->owner_kind->name, "Pod") && !from->owner_kind->group[0];
	const struct kind_owner *owner = &from->owner_facts;
	int r = k8s_pod_of_doc(from->object, arena, &ret->pod, err);

	if (r)
		return r;
	ret->from = from;
	ret->input = (struct decide_input){
		.pod = &ret->pod,
		.subject = is_pod ? SUBJECT_POD : SUBJECT_TEMPLATE,
		.namespace_name = *owner->namespace_name ? owner->namespace_name : default_namespace,
		.root_kind = is_pod ? NULL : from->owner_kind->name,
		.root_group = is_pod ? NULL : from->owner_kind->group,
		.root_name = owner->name,
		.is_root_queued = !is_pod && owner->is_queued,
		.root_queue = is_pod ? NULL : owner->queue,
		.role = from->role,
		.replicas = is_pod ? 1 : from->replicas,
		.ranks = is_pod ? 0 : from->ranks,
		.has_shm = from->has_shm,
		.has_runtime = from->has_runtime,
	};
	return 0;
}

/* The pods of parts of one object are created together (an AppWrapper creates all of its components); those of items of
 * a List are not. */
static bool is_together(const struct kind_template *a, const struct kind_template *b)
{
	const struct doc *kind = doc_member(a->root, "kind");
	bool is_list = kind && kind->type == DOC_STRING && streq(kind->text, "List");

	return a->root == b->root && (!is_list || a->owner == b->owner);
}

static int declare_one(struct workload_template *self, struct workload_template *const *items, size_t n,
		       struct arena *arena)
{
	struct k8s_declared sum = {.pods = 0};

	for (size_t i = 0; i < n; i++) {
		const struct kind_template *from = items[i]->from;

		if (!is_together(self->from, from))
			continue;
		if (from->owner_kind->has_trainer || from->owner_kind->has_argo_templates)
			return 0;
		if (k8s_declared_add(&sum, &items[i]->pod, from->replicas, arena))
			return -ENOMEM;
	}
	self->input.declared = sum;
	return 0;
}

int workload_declare(struct workload_template *const *items, size_t n, struct arena *arena)
{
	for (size_t i = 0; i < n; i++) {
		size_t first = 0;

		while (!is_together(items[first]->from, items[i]->from))
			first++;
		if (first < i)
			items[i]->input.declared = items[first]->input.declared;
		else if (declare_one(items[i], items, n, arena))
			return -ENOMEM;
	}
	return 0;
}

/* One sentence, and the roles that it applies to. */
struct sentence {
	const struct finding *finding;
	const char *roles[RENDER_ROLES];
	size_t n_roles; /* may be more than are stored */
};

struct sentences {
	struct sentence items[LIMIT_WARNINGS];
	size_t n, n_left_out;
};

static void add_role(struct sentence *sentence, const char *role)
{
	if (!role || !*role)
		return;
	for (size_t i = 0; i < MIN(sentence->n_roles, RENDER_ROLES); i++)
		if (streq(sentence->roles[i], role))
			return;
	if (sentence->n_roles < RENDER_ROLES)
		sentence->roles[sentence->n_roles] = role;
	sentence->n_roles++;
}

static bool says(const struct sentence *sentence, const struct finding *finding)
{
	const struct k8s_container *a = sentence->finding->container, *b = finding->container;

	return sentence->finding->check == finding->check && !a == !b && (!a || streq(a->name, b->name)) &&
	       streq(sentence->finding->text, finding->text);
}

static void add_finding(struct sentences *self, const struct finding *finding, const char *role)
{
	for (size_t i = 0; i < self->n; i++)
		if (says(&self->items[i], finding)) {
			add_role(&self->items[i], role);
			return;
		}
	if (self->n == LIMIT_WARNINGS) {
		self->n_left_out++;
		return;
	}
	self->items[self->n] = (struct sentence){.finding = finding};
	add_role(&self->items[self->n++], role);
}

/* Checks are in the order of importance, and the findings of a decision in the order of checks. */
static void gather(const struct workload_template *const *items, size_t n, bool is_denial, struct sentences *ret)
{
	size_t next[LIMIT_POD_CONTAINERS] = {0};

	ret->n = ret->n_left_out = 0;
	for (int check = 0; check < CHECK_COUNT_; check++)
		for (size_t i = 0; i < n; i++) {
			const struct decision *decision = &items[i]->decision;

			for (; next[i] < decision->n_findings; next[i]++) {
				const struct finding *finding = &decision->findings[next[i]];

				if ((int)finding->check != check)
					break;
				if ((finding->action == ACTION_DENY) == is_denial)
					add_finding(ret, finding, items[i]->input.role);
			}
		}
}

int workload_warnings(const struct workload_template *const *items, size_t n, struct arena *arena,
		      const char *const **ret_items, size_t *ret_n)
{
	const char **lines = arena_array(arena, LIMIT_WARNINGS, sizeof(*lines));
	struct sentences found;

	if (!lines)
		return -ENOMEM;
	gather(items, n, false, &found);
	for (size_t i = 0; i < found.n; i++) {
		struct render_roles roles;

		if (render_roles(found.items[i].roles, found.items[i].n_roles, arena, &roles))
			return -ENOMEM;
		lines[i] = render_line(&roles, found.items[i].finding, arena);
		if (!lines[i])
			return -ENOMEM;
	}
	*ret_items = lines;
	*ret_n = found.n;
	return 0;
}

static int add_denial(const struct sentence *sentence, struct arena *arena, struct strbuf *message)
{
	struct render_roles roles;
	const char *prefix = NULL;

	if (!render_roles(sentence->roles, sentence->n_roles, arena, &roles))
		prefix = render_prefix(roles.names, sentence->finding, arena);
	if (!prefix)
		return -ENOMEM;
	strbuf_adds(message, message->len ? "; " : RENDER_NAME);
	strbuf_adds(message, prefix + sizeof(RENDER_NAME) - 1);
	return strbuf_addf(message, "%s [%s]", sentence->finding->text, check_table[sentence->finding->check].name);
}

int workload_denial(const struct workload_template *const *items, size_t n, struct arena *arena,
		    const char **ret_message)
{
	CLEANUP(strbuf_release) struct strbuf message = STRBUF_INIT(DENIAL_BYTES);
	struct sentences found;
	int r = 0;

	*ret_message = NULL;
	gather(items, n, true, &found);
	for (size_t i = 0; !r && i < found.n; i++)
		r = add_denial(&found.items[i], arena, &message);
	if (!r && found.n_left_out)
		r = strbuf_addf(&message, "; and %zu more", found.n_left_out);
	if (r || !found.n)
		return r;
	*ret_message = arena_strdup(arena, strbuf_text(&message));
	return *ret_message ? 0 : -ENOMEM;
}
