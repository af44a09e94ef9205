/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/workload.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "policy/decide_internal.h"
#include "policy/render_internal.h"

#include <errno.h>

enum { ROLES_SAID = 3, DENIAL_BYTES = 4096 };

int workload_template_read(const struct kind_template *from, const char *default_namespace, struct arena *arena,
			   struct workload_template *ret, struct err *err)
{
	bool is_pod = streq(from->owner_kind->name, "Pod") && !from->owner_kind->group[0];
	int r = k8s_pod_of_doc(from->object, arena, &ret->pod, err);

	if (r)
		return r;
	if (kind_template_owner(from, arena, &ret->owner))
		return err_set(err, -ENOMEM, "out of memory");
	ret->from = from;
	ret->input = (struct decide_input){
		.pod = &ret->pod,
		.subject = is_pod ? SUBJECT_POD : SUBJECT_TEMPLATE,
		.namespace_name = *ret->owner.namespace_name ? ret->owner.namespace_name : default_namespace,
		.root_kind = is_pod ? NULL : from->owner_kind->name,
		.root_group = is_pod ? NULL : from->owner_kind->group,
		.root_name = ret->owner.name,
		.root_labels = is_pod ? NULL : &ret->owner.labels,
		.role = from->role,
		.replicas = is_pod ? 1 : from->replicas,
		.ranks = is_pod ? 0 : from->ranks,
	};
	return 0;
}

/* Parts of one object make their pods together (an AppWrapper lets go all of its components), items of a List do not.
 */
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

/* One sentence, and the roles that it is true for. */
struct sentence {
	const struct finding *finding;
	const char *roles[ROLES_SAID];
	size_t n_roles; /* may be more than are kept */
};

struct sentences {
	struct sentence items[LIMIT_WARNINGS];
	size_t n, n_left_out;
};

static void add_role(struct sentence *sentence, const char *role)
{
	if (!role || !*role)
		return;
	for (size_t i = 0; i < MIN(sentence->n_roles, ROLES_SAID); i++)
		if (streq(sentence->roles[i], role))
			return;
	if (sentence->n_roles < ROLES_SAID)
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

/* Checks stand in their order of importance. */
static void gather(const struct workload_template *const *items, size_t n, bool is_denial, struct sentences *ret)
{
	ret->n = ret->n_left_out = 0;
	for (int check = 0; check < CHECK_COUNT_; check++)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < items[i]->decision.n_findings; k++) {
				const struct finding *finding = &items[i]->decision.findings[k];

				if ((int)finding->check == check && (finding->action == ACTION_DENY) == is_denial)
					add_finding(ret, finding, items[i]->input.role);
			}
}

/* "master, worker", "a, b, c +2". NULL: no memory. */
static const char *roles_of(const struct sentence *sentence, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; text && i < MIN(sentence->n_roles, ROLES_SAID); i++) {
		const char *role = text_clean(arena, sentence->roles[i], RENDER_ROLE_CHARS);

		text = role ? arena_printf(arena, "%s%s%s", text, i ? ", " : "", role) : NULL;
	}
	if (!text || sentence->n_roles <= ROLES_SAID)
		return text;
	return arena_printf(arena, "%s +%zu", text, sentence->n_roles - ROLES_SAID);
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
		const char *roles = roles_of(&found.items[i], arena);

		lines[i] = roles ? render_line(roles, found.items[i].finding, arena) : NULL;
		if (!lines[i])
			return -ENOMEM;
	}
	*ret_items = lines;
	*ret_n = found.n;
	return 0;
}

static int add_denial(const struct sentence *sentence, struct arena *arena, struct strbuf *message)
{
	const char *roles = roles_of(sentence, arena);
	const char *prefix = roles ? render_prefix(roles, sentence->finding, arena) : NULL;

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
