/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are projected or refused. What is left is JSON, projects to itself, and the two ways to a pod (straight,
 * and by the projected text and json-c) agree about it. */
#include "support/project.h"

#include "base/json.h"
#include "base/limits.h"
#include "k8s/accelerator.h"
#include "k8s/review.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool same_labels(const struct k8s_labels *a, const struct k8s_labels *b)
{
	for (size_t i = 0; a->n == b->n && i < a->n; i++)
		if (strcmp(a->items[i].key, b->items[i].key) != 0 || strcmp(a->items[i].value, b->items[i].value) != 0)
			return false;
	return a->n == b->n && a->is_present == b->is_present;
}

static void compare_pods(const struct k8s_pod *a, const struct k8s_pod *b)
{
	require(strcmp(a->name, b->name) == 0 && same_labels(&a->labels, &b->labels));
	require(same_labels(&a->annotations, &b->annotations) && same_labels(&a->node_selector, &b->node_selector));
	require(a->n_owners == b->n_owners && a->n_volumes == b->n_volumes && a->n_containers == b->n_containers);
	for (size_t i = 0; i < a->n_containers; i++) {
		require(strcmp(a->containers[i].ray_tags, b->containers[i].ray_tags) == 0);
		require(strcmp(a->containers[i].restart_policy, b->containers[i].restart_policy) == 0);
		require(a->containers[i].has_restart_rule == b->containers[i].has_restart_rule);
		require(a->containers[i].n_args == b->containers[i].n_args);
		require(a->containers[i].resources.n_extended == b->containers[i].resources.n_extended);
	}
}

/* Everything that is computed from a pod must hold for any pod. */
static void use_pod(struct k8s_pod *pod)
{
	struct accelerator_ask ask;

	k8s_pod_default(pod);
	require(k8s_pod_qos(pod) <= K8S_QOS_GUARANTEED);
	for (int i = 0; i < K8S_RESOURCE_COUNT_; i++)
		(void)k8s_pod_effective_request(pod, (enum k8s_resource)i);
	if (accelerator_of_pod(pod, &ask))
		require(ask.resource != NULL);
}

static int pod_by_json(const struct strbuf *projected, struct arena *arena, struct k8s_pod *pod)
{
	CLEANUP(json_putp) struct json_object *tree = NULL;
	struct json_object *object;
	struct err err;

	/* A value that is no object is no review; json-c may refuse it earlier than we. */
	require(json_parse(strbuf_text(projected), projected->len, 2 * LIMIT_REVIEW_DEPTH, &tree, &err) == 0);
	object = json_member(json_member(tree, "request"), "object");
	return object ? k8s_pod_decode(object, arena, pod, &err) : REVIEW_NO_POD;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf once = STRBUF_INIT(PROJECTED_BYTES);
	CLEANUP(strbuf_release) struct strbuf twice = STRBUF_INIT(PROJECTED_BYTES);
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(8 * MIB);
	struct review review;
	struct k8s_pod direct, pod;
	struct err err;
	int projected = project_review((const char *)data, size, &once, &err);
	int r = review_read_pod((const char *)data, size, &arena, &review, &direct, &err);

	require(review.uid != NULL);
	if (projected) {
		require(r < 0);
		return 0;
	}
	require(project_review(strbuf_text(&once), once.len, &twice, &err) == 0);
	require(strcmp(strbuf_text(&once), strbuf_text(&twice)) == 0);
	if (strbuf_text(&once)[0] != '{')
		return 0;
	if (r == 0) {
		require(pod_by_json(&once, &arena, &pod) == 0);
		compare_pods(&direct, &pod);
		use_pod(&direct);
	} else {
		(void)pod_by_json(&once, &arena, &pod);
	}
	return 0;
}
