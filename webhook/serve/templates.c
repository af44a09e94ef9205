/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/templates.h"

#include <errno.h>

int templates_read(struct admission *self, const char *body, size_t n, struct err *err)
{
	return review_read_workload(body, n, &self->scratch->arena, &self->review, &self->object,
				    &self->is_spec_changed, err);
}

const char *templates_foreign(const struct admission *self, bool has_no_object)
{
	const struct review *review = &self->review;
	const struct kind *kind = kind_find(review->group, review->kind);

	if (!kind || (streq(kind->name, "Pod") && !kind->group[0]))
		return "not-a-workload";
	if (!kind->template_paths && !kind->object_paths)
		return "no-template";
	if (review->sub_resource[0])
		return "sub-resource";
	if (has_no_object || (!streq(review->operation, "CREATE") && !streq(review->operation, "UPDATE")))
		return "not-create-or-update";
	return NULL;
}

static int decide_template(struct admission *self, struct workload_template *item, bool is_patched,
			   struct templates *all, struct err *err)
{
	int r;

	item->input.snapshot = self->world->state->snapshot;
	item->input.policy = &self->world->state->config->policy;
	item->input.now_ms = self->world->now_ms;
	item->input.is_template_patched = is_patched && workload_is_patched(item, item->input.policy);
	r = decide(&item->input, &self->scratch->arena, &item->decision, err);
	if (!r)
		all->items[all->n++] = item;
	return r;
}

static void sum_up(struct templates *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct decision *decision = &all->items[i]->decision;

		if (decision->skip && !all->n_skipped++)
			all->skip = decision->skip;
		all->n_findings += decision->n_findings;
		all->n_sizes += decision->n_sizes;
		all->is_denied |= decision->is_denied;
	}
}

void templates_count(struct admission *self, const struct templates *all)
{
	if (all->has_unread)
		metrics_count(self->world->metrics, self->webhook->errors, ERROR_POD, 0, 0);
	for (size_t i = 0; i < all->n; i++) {
		admission_count_findings(self, &all->items[i]->decision);
		self->mode = MAX(self->mode, all->items[i]->decision.mode);
	}
}

/* Keeps the templates that can be read. */
static int read_each(struct admission *self, const struct kind_template *templates, size_t n,
		     struct workload_template **items, size_t *ret_n, struct err *err)
{
	struct arena *arena = &self->scratch->arena;

	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct workload_template *item = arena_alloc(arena, sizeof(*item));
		int r = item ? workload_template_read(&templates[i], self->review.namespace_name, arena, item, err)
			     : err_set(err, -ENOMEM, "out of memory");

		if (r && r != -EINVAL && r != -E2BIG)
			return r;
		if (!r)
			items[(*ret_n)++] = item;
	}
	return 0;
}

static int decide_each(struct admission *self, const struct kind_template *templates, size_t n, bool is_patched,
		       struct templates *all, struct err *err)
{
	struct arena *arena = &self->scratch->arena;
	struct workload_template **items = arena_array(arena, n + 1, sizeof(struct workload_template *));
	size_t n_read = 0;
	int r = items ? read_each(self, templates, n, items, &n_read, err) : err_set(err, -ENOMEM, "out of memory");

	if (!r && workload_declare(items, n_read, arena))
		r = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < n_read; i++)
		r = decide_template(self, items[i], is_patched, all, err);
	if (r)
		return r;
	if (n && !n_read)
		return -EINVAL;
	all->has_unread = n_read < n;
	return 0;
}

int templates_decide(struct admission *self, bool is_patched, struct templates *ret, struct err *err)
{
	struct arena *arena = &self->scratch->arena;
	struct kind_template *templates = NULL;
	size_t n = 0;
	int r = kind_templates_of_doc(self->object, arena, &templates, &n, err);

	if (r)
		return r == -E2BIG ? -EINVAL : r;
	*ret = (struct templates){.items = arena_array(arena, n + 1, sizeof(*ret->items))};
	if (!ret->items)
		return err_set(err, -ENOMEM, "out of memory");
	r = kind_annotations(self->object, arena, &ret->annotations, err);
	r = r ? r : decide_each(self, templates, n, is_patched, ret, err);
	if (!r && workload_settle(ret->items, ret->n, &ret->annotations, arena))
		r = err_set(err, -ENOMEM, "out of memory");
	if (!r)
		sum_up(ret);
	return r;
}

int templates_skip(struct admission *self, const struct templates *all)
{
	const char *why = all->n ? all->skip : "no-template";

	admission_skip(self, why);
	return admission_audit(self, "skip", why);
}
