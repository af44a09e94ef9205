/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server sends. A list is split into the same items however its bytes arrive, and into all of them when it
 * is JSON; a watch reports the same however its bytes arrive, and whether its objects are wanted as text or as JSON;
 * Status objects are read or refused. */
#include "base/base64.h"
#include "base/json.h"
#include "base/json_split.h"
#include "base/limits.h"
#include "kube/kube_status.h"
#include "kube/reflector_internal.h"

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

static void note(struct strbuf *log, const char *what, const struct kube_object *object)
{
	check(object->name && *object->name && object->namespace && object->resource_version);
	strbuf_addf(log, "%s %s/%s@%s\n", what, object->namespace, object->name, object->resource_version);
}

static void on_added(void *context, const struct kube_object *object)
{
	note(context, "added", object);
}

static void on_modified(void *context, const struct kube_object *object)
{
	note(context, "modified", object);
}

static void on_deleted(void *context, const struct kube_object *object)
{
	note(context, "deleted", object);
}

static void on_failed(void *context, const struct err *why, int64_t retry_ms)
{
	check(why->msg[0] && retry_ms < 0);
	strbuf_adds(context, "passed over\n");
}

/* @return how the watch ended; `log`: what it reported, and where it goes on. */
static int watch(const uint8_t *data, size_t size, size_t piece, bool wants_text, struct strbuf *log)
{
	struct reflector self = {
		.config = {.selection.resource.plural = "objects",
			   .added = on_added,
			   .modified = on_modified,
			   .deleted = on_deleted,
			   .failed = on_failed,
			   .context = log,
			   .wants_text = wants_text},
		.scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES),
		.line = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES),
	};
	int r = 0;

	for (size_t at = 0; at < size && !r; at += piece)
		r = reflector_take_bytes(&self, (const char *)data + at, size - at < piece ? size - at : piece);
	check(r == self.watch_code && (!r || self.watch_err.msg[0]));
	strbuf_addf(log, "%zu known, on from %s\n", self.known.objects.n, self.resource_version);
	kube_cache_release(&self.known);
	strbuf_release(&self.line);
	arena_release(&self.scratch);
	return r;
}

static void check_watch(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf once = STRBUF_INIT(MIB), bytewise = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(MIB);
	int r = watch(data, size, size + 1, true, &once);

	check(watch(data, size, 1, true, &bytewise) == r);
	check(strcmp(strbuf_text(&once), strbuf_text(&bytewise)) == 0);
	/* json-c also reads the parts of an object that text leaves to its taker */
	if (!watch(data, size, size + 1, false, &json))
		check(!r && strcmp(strbuf_text(&once), strbuf_text(&json)) == 0);
}

/* Both ways to read an object find the same names. */
static void check_object(const char *text, size_t n, const struct kube_object *read)
{
	struct arena arena = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct kube_object scanned;

	check(read->name && *read->name && read->namespace && read->resource_version);
	if (!kube_object_scan(text, n, &arena, &scanned, NULL))
		check(streq(scanned.name, read->name) && streq(scanned.namespace, read->namespace) &&
		      streq(scanned.uid, read->uid) && streq(scanned.resource_version, read->resource_version));
	arena_release(&arena);
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
		check_object(text, n, &object);
	if (!base64_decode(text, n, &plain))
		check(plain.len <= n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_split(data, size);
	check_watch(data, size);
	check_answers((const char *)data, size);
	return 0;
}
