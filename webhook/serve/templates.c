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

static void sum_up(struct templates *all)
{
	all->n_skipped = all->n_findings = all->n_sizes = 0;
	all->is_denied = false;
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
	for (size_t i = 0; i < all->n; i++)
		self->mode = MAX(self->mode, all->items[i]->decision.mode);
}

void templates_count_findings(const struct admission *self, const struct templates *all)
{
	for (size_t i = 0; i < all->n; i++)
		admission_count_findings(self, &all->items[i]->decision);
}

/* Keeps the templates that can be read. */
static int read_each(struct admission *self, const struct kind_template *templates, size_t n, struct templates *all,
		     struct err *err)
{
	struct arena *arena = &self->scratch->arena;

	for (size_t i = 0; i < n; i++) {
		struct workload_template *item = arena_alloc(arena, sizeof(*item));
		int r = item ? workload_template_read(&templates[i], self->review.namespace_name, arena, item, err)
			     : err_set(err, -ENOMEM, "out of memory");

		if (r && r != -EINVAL && r != -E2BIG)
			return r;
		if (!r)
			all->read[all->n++] = item;
	}
	all->has_unread = all->n < n;
	return n && !all->n ? -EINVAL : 0;
}

int templates_open(struct admission *self, struct templates *ret, struct err *err)
{
	struct arena *arena = &self->scratch->arena;
	struct kind_template *templates = NULL;
	size_t n = 0;
	int r = kind_templates_of_doc(self->object, arena, &templates, &n, err);

	if (r)
		return r == -E2BIG ? -EINVAL : r;
	*ret = (struct templates){.read = arena_array(arena, n + 1, sizeof(*ret->read)),
				  .items = arena_array(arena, n + 1, sizeof(*ret->items))};
	if (!ret->read || !ret->items)
		return err_set(err, -ENOMEM, "out of memory");
	r = kind_annotations(self->object, arena, &ret->annotations, err);
	r = r ? r : read_each(self, templates, n, ret, err);
	if (!r && workload_declare(ret->read, ret->n, arena))
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

static int decide_template(struct admission *self, struct workload_template *item, bool is_patched, struct err *err)
{
	item->input.snapshot = self->world->state->snapshot;
	item->input.policy = &self->world->state->config->policy;
	item->input.now_ms = self->world->now_ms;
	item->input.is_template_patched = is_patched && workload_is_patched(item, item->input.policy);
	return decide(&item->input, &self->scratch->arena, &item->decision, err);
}

int templates_decide(struct admission *self, bool is_patched, struct templates *all, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < all->n; i++) {
		r = decide_template(self, all->read[i], is_patched, err);
		all->items[i] = all->read[i];
	}
	if (!r && workload_settle(all->items, all->n, &all->annotations, &self->scratch->arena))
		r = err_set(err, -ENOMEM, "out of memory");
	if (!r)
		sum_up(all);
	return r;
}

int templates_skip(struct admission *self, const struct templates *all)
{
	return admission_skip_audited(self, all->n ? all->skip : "no-template");
}
