/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes parse or are refused. What parses has extents that cover the text, and what is emitted from it reads back
 * as the same value and is emitted the same again. */
#include "base/limits.h"
#include "yaml/yaml_tree.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
	if (!is_true)
		abort();
}

static void check_extents(const struct yaml_documents *documents, size_t size)
{
	for (size_t i = 0; i < documents->n; i++) {
		const struct yaml_extent *e = &documents->extents[i];

		check(e->begin <= e->body && e->body <= e->tail && e->tail <= e->end && e->end <= size);
		check(i ? e->begin == documents->extents[i - 1].end : e->begin == 0 || e->begin == 3);
		check(i + 1 < documents->n || e->end == size);
	}
}

static void check_round_trip(struct json_object *object)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * MIB);
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(16 * MIB), second = STRBUF_INIT(16 * MIB);
	CLEANUP(json_putp) struct json_object *again = NULL;
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	check(!yaml_tree_emit(object, &first));
	check(!yaml_tree_parse(strbuf_text(&first), first.len, "emitted", &arena, &documents, &err));
	check(documents.n == 1);
	check(!yaml_tree_to_json(documents.items, &again, &err));
	check(json_object_equal(object, again));
	check(!yaml_tree_emit(again, &second));
	check(strcmp(strbuf_text(&first), strbuf_text(&second)) == 0);
}

static bool has_unicode_break(const uint8_t *data, size_t size)
{
	return memmem(data, size, "\xc2\x85", 2) || memmem(data, size, "\xe2\x80\xa8", 3) ||
	       memmem(data, size, "\xe2\x80\xa9", 3);
}

/* Behind a comment, what may be JSON is read as YAML: if that works too, it is the same value. (In a quoted string YAML
 * folds the line breaks that JSON does not know.) */
static void check_yaml_agrees(const uint8_t *data, size_t size, struct json_object *object)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * MIB);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16 * MIB);
	CLEANUP(json_putp) struct json_object *again = NULL;
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	strbuf_adds(&text, "#\n");
	strbuf_add(&text, (const char *)data, size);
	if (has_unicode_break(data, size) ||
	    yaml_tree_parse(strbuf_text(&text), text.len, "commented", &arena, &documents, &err))
		return;
	check(documents.n == 1);
	check(!yaml_tree_to_json(documents.items, &again, &err));
	check(json_object_equal(object, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * MIB);
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	if (yaml_tree_parse((const char *)data, size, "input", &arena, &documents, &err))
		return 0;
	check_extents(&documents, size);
	for (size_t i = 0; i < documents.n; i++) {
		CLEANUP(json_putp) struct json_object *object = NULL;

		if (yaml_tree_to_json(&documents.items[i], &object, &err))
			continue;
		check_round_trip(object);
		if (documents.n == 1 && (data[0] == '{' || data[0] == '['))
			check_yaml_agrees(data, size, object);
	}
	return 0;
}
