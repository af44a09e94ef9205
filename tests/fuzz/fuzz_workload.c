/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are read as the review of an object that makes pods, or refused; whatever templates are found can be
 * decoded, named and pointed at, and a review is the same twice. */
#include "base/limits.h"
#include "k8s/accelerator.h"
#include "k8s/kinds.h"
#include "k8s/review.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void use_template(const struct kind_template *template_, struct arena *arena)
{
	struct accelerator_ask ask;
	struct k8s_pod pod;
	struct err err;

	require(template_->role && template_->pointer && template_->replicas >= 0 && template_->owner_kind);
	require(template_->owner_facts.name && template_->owner_facts.namespace_name);
	if (k8s_pod_of_doc(template_->object, arena, &pod, &err))
		return;
	(void)kind_is_controlled(template_->root);
	for (size_t i = 0; i < pod.n_main; i++) {
		const char *pointer = arena_printf(arena, "/spec/containers/%zu", pod.containers[i].index);

		require(!pointer || kind_template_pointer(template_, pointer, arena) || arena->has_failed);
	}
	k8s_pod_default(&pod);
	(void)accelerator_of_pod(&pod, &ask);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(16 * MIB);
	struct kind_template *templates;
	const struct doc *object, *again;
	struct review review;
	struct err err;
	bool is_changed, is_changed_again;
	size_t n = 0;
	int r = review_read_workload((const char *)data, size, &arena, &review, &object, &is_changed, &err);

	require(review.uid != NULL);
	if (r)
		return 0;
	r = review_read_workload((const char *)data, size, &arena, &review, &again, &is_changed_again, &err);
	require(r == -ENOMEM || (r == 0 && is_changed == is_changed_again));
	if (kind_templates_of_doc(object, &arena, &templates, &n, &err) == 0)
		for (size_t i = 0; i < n; i++)
			use_template(&templates[i], &arena);
	return 0;
}
