/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server sends. A list is split into the same items however its bytes arrive, and into all of them when it
 * is JSON; Status objects are read or refused. */
#include "base/base64.h"
#include "base/json.h"
#include "base/json_split.h"
#include "base/limits.h"
#include "kube/kube_object.h"
#include "kube/kube_status.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
	if (!is_true)
		abort();
}

struct taken {
	struct strbuf all;
	size_t n;
};

static int take(void *context, const struct json_item *item, struct err *err)
{
	struct taken *taken = context;

	(void)err;
	taken->n++;
	if (item->text) {
		check(item->n >= 2 && item->text[0] == '{' && item->text[item->n - 1] == '}');
		strbuf_add(&taken->all, item->text, item->n);
	}
	return 0;
}

static const struct json_split_rule rule = {
	.path = {"items"},
	.max_item_bytes = LIMIT_KUBE_OBJECT_BYTES,
	.max_item_depth = 100,
	.max_item_tokens = LIMIT_KUBE_OBJECT_TOKENS,
	.max_envelope_bytes = LIMIT_KUBE_ENVELOPE_BYTES,
	.take_item = take,
};

/* @return how splitting ended. */
static int split(const uint8_t *data, size_t size, size_t piece, struct taken *taken, struct strbuf *envelope)
{
	struct json_split self;
	int r = 0;

	json_split_init(&self, &rule, taken);
	for (size_t at = 0; at < size && !r; at += piece)
		r = json_split_feed(&self, (const char *)data + at, size - at < piece ? size - at : piece, NULL);
	if (!r && !json_split_finish(&self, NULL))
		strbuf_add(envelope, strbuf_text(&self.envelope), self.envelope.len);
	json_split_release(&self);
	return r;
}

static void check_split(const uint8_t *data, size_t size)
{
	CLEANUP(json_putp) struct json_object *whole = NULL, *rest = NULL;
	CLEANUP(strbuf_release) struct strbuf once = STRBUF_INIT(MIB), bytewise = STRBUF_INIT(MIB);
	struct taken first = {.all = STRBUF_INIT(16 * MIB)}, second = {.all = STRBUF_INIT(16 * MIB)};
	struct json_object *items;
	int r = split(data, size, size + 1, &first, &once);

	check(split(data, size, 1, &second, &bytewise) == r);
	check(first.n == second.n && strcmp(strbuf_text(&first.all), strbuf_text(&second.all)) == 0);
	check(strcmp(strbuf_text(&once), strbuf_text(&bytewise)) == 0);
	/* a list that is JSON is split without loss; a key written with escapes is another matter */
	if (!r && once.len && !memchr(data, '\\', size) && !json_parse((const char *)data, size, 100, &whole, NULL) &&
	    !json_parse(strbuf_text(&once), once.len, 100, &rest, NULL)) {
		items = json_member(whole, "items");
		if (json_object_is_type(items, json_type_array) &&
		    json_object_is_type(json_member(rest, "items"), json_type_array))
			check(first.n == json_object_array_length(items));
	}
	strbuf_release(&first.all);
	strbuf_release(&second.all);
}

static void check_answers(const char *text, size_t n)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT(MIB);
	struct kube_object object;
	struct err err = ERR_INIT;
	int condition = kube_status_of_http(409, text, n, &err);

	check(condition > 0 && condition < KUBE_CONDITION_COUNT_ && err.code == condition);
	if (!json_parse(text, n, 64, &json, NULL) && !kube_object_read(json, &object, &err))
		check(object.name && *object.name && object.namespace && object.resource_version);
	if (!base64_decode(text, n, &plain))
		check(plain.len <= n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_split(data, size);
	check_answers((const char *)data, size);
	return 0;
}
