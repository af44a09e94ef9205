/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fuzz_review: reviews sent to the webhook's own code in one of several worlds, and what holds for every answer. */
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "fuzz/fuzz_cost.h"
#include "golden/json_patch.h"
#include "k8s/kinds.h"
#include "base/base64.h"
#include "support/review_world.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* Made at the first use, and kept. */
static struct review_world *world_of(unsigned int which)
{
	static struct review_world worlds[REVIEW_WORLDS];
	struct review_world *world = &worlds[which % REVIEW_WORLDS];

	log_configure(LOG_ERROR, LOG_LOGFMT);
	if (!world->snapshot)
		require(review_world_init(world, which % REVIEW_WORLDS) == 0, "memory for a world");
	return world;
}

static void check_warnings(struct json_object *response)
{
	struct json_object *warnings = json_member(response, "warnings");
	size_t n = warnings ? json_object_array_length(warnings) : 0;

	require(n <= LIMIT_WARNINGS, "at most ten warnings");
	for (size_t i = 0; i < n; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(warnings, i));

		require(strlen(text) <= LIMIT_WARNING_CHARS, "warnings are short");
		for (; *text; text++)
			require(*text >= ' ' && *text <= '~', "warnings are printable ASCII");
	}
}

/* The answer as JSON; NULL when the review is refused. */
static struct json_object *ask(struct review_world *world, enum review_route route, const char *text, size_t n)
{
	struct json_object *answer = NULL, *response, *allowed;
	struct err err = ERR_INIT;
	int r;

	cost_begin();
	r = review_world_ask(world, route, text, n, &err);
	fuzz_cost_end(n);
	if (r) {
		require(r < 0 && err.msg[0], "a refusal has a reason");
		return NULL;
	}
	require(json_parse(strbuf_text(&world->answer), world->answer.len, 16, &answer, &err) == 0,
		"the answer is JSON");
	response = json_member(answer, "response");
	allowed = json_member(response, "allowed");
	require(json_object_is_type(json_member(response, "uid"), json_type_string), "the answer has the uid");
	require(json_object_is_type(allowed, json_type_boolean), "the answer allows or denies");
	require(route != ROUTE_MUTATE || json_object_get_boolean(allowed), "no pod is denied");
	require(!json_member(response, "patch") == !json_member(response, "patchType"), "patch and its type");
	check_warnings(response);
	return answer;
}

/* NULL: the answer has none. */
static struct json_object *patch_of(struct json_object *answer)
{
	CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	struct json_object *text = json_member(json_member(answer, "response"), "patch"), *patch = NULL;
	const char *base64 = json_object_get_string(text);

	if (!text)
		return NULL;
	require(base64_decode(base64, strlen(base64), &plain) == 0, "the patch is base64");
	require(json_parse(strbuf_text(&plain), plain.len, 16, &patch, NULL) == 0, "the patch is JSON");
	return patch;
}

/* The API server takes the name of a container once in a pod, and refuses the others behind us; what memtamer has set
 * is found by name. */
static bool has_names_once(const struct k8s_pod *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		for (size_t k = 0; k < i; k++)
			if (streq(pod->containers[i].name, pod->containers[k].name))
				return false;
	return true;
}

static bool are_names_once(struct json_object *object)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(16 * MIB);
	struct kind_template *templates;
	struct k8s_pod pod;
	struct err err = ERR_INIT;
	size_t n = 0;

	if (kind_templates(object, NULL, &arena, &templates, &n, &err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (k8s_pod_of_doc(templates[i].object, &arena, &pod, &err) == 0 && !has_names_once(&pod))
			return false;
	return n || k8s_pod_decode(object, &arena, &pod, &err) || has_names_once(&pod);
}

/* What a review is answered with applies to its object, and the object that comes of it gets no patch; an API server
 * sends none without metadata. The review is written again first: json-c changes numbers that do not fit it. */
static void check_patch(struct review_world *world, enum review_route route, const char *text, size_t n)
{
	static const int plain = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	CLEANUP(json_putp) struct json_object *review = NULL, *first = NULL, *patch = NULL, *again = NULL, *rest = NULL;
	struct json_object *object;
	const char *written;
	size_t length;

	if (json_parse(text, n, LIMIT_REVIEW_DEPTH, &review, NULL))
		return;
	object = json_member(json_member(review, "request"), "object");
	if (!json_object_is_type(json_member(object, "metadata"), json_type_object) || !are_names_once(object))
		return;
	written = json_object_to_json_string_length(review, plain, &length);
	first = ask(world, route, written, length);
	patch = first ? patch_of(first) : NULL;
	if (!patch)
		return;
	require(json_patch_apply(object, patch) == 0, "the patch applies");
	written = json_object_to_json_string_length(review, plain, &length);
	again = ask(world, route, written, length);
	rest = again ? patch_of(again) : NULL;
	require(again && !rest, "a patched object gets no patch");
}
