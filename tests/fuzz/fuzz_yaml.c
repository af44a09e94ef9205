/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes parse or are refused. The documents of what parses cover the text, what is written of their values reads
 * back as the same values, and edits of the text make it read as what was asked for and keep what they need not change.
 */
#include "base/json.h"
#include "base/limits.h"
#include "fuzz/fuzz_cost.h"
#include "fuzz_text.h"
#include "yaml/yaml_edit.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_VALUES = 20000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
	if (!is_true)
		abort();
}

static void check_node(const struct yaml_node *node, size_t size)
{
	check(node->begin <= node->end && node->end <= size);
	for (size_t i = 0; i < node->n; i++)
		check_node(&node->items[i], size);
}

static void check_places(const struct yaml_documents *documents, size_t size)
{
	for (size_t i = 0; i < documents->n; i++) {
		const struct yaml_document *document = &documents->items[i];

		check(document->begin == (i ? document[-1].end : 0));
		check(document->end == size || (document->begin < document->end && i + 1 < documents->n));
		check(document->root.begin >= document->begin);
		check_node(&document->root, document->end);
	}
}

/* The one value of a text. NULL: the text is refused as it is too large. */
static struct json_object *read_back(const struct strbuf *text)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * MIB);
	struct json_object *object;
	struct yaml_documents documents;
	struct err err = ERR_INIT;
	int r = yaml_tree_parse(strbuf_text(text), text->len, "written", &arena, &documents, &err);

	if (r == -E2BIG)
		return NULL;
	check(!r && documents.n == 1);
	check(!yaml_tree_to_json(&documents.items[0].root, &object, &err));
	return object;
}

/* Written in block and in flow style. */
static void check_round_trip(struct json_object *object)
{
	static const struct yaml_style style = {.line_break = "\n", .step = 2};
	CLEANUP(strbuf_release) struct strbuf block = STRBUF_INIT(16 * MIB), flow = STRBUF_INIT(16 * MIB);
	CLEANUP(json_putp) struct json_object *again = NULL, *item = NULL;

	strbuf_addc(&flow, '[');
	yaml_add_flow(&flow, object, false);
	strbuf_addc(&flow, ']');
	/* with aliases expanded, or a key of more than 1024 characters, which libyaml does not read */
	if (yaml_add_member(&block, "key", object, &style, 0) || flow.status || flow.len > 1000)
		return;
	again = read_back(&block);
	check(!again || json_object_equal(object, json_member(again, "key")));
	item = read_back(&flow);
	check(!item || json_object_equal(object, json_object_array_get_idx(item, 0)));
}

/* Adds a member to each mapping, with aliases and merged mappings each time that they occur. */
static void add_members(struct json_object *value)
{
	for (size_t i = 0; json_object_is_type(value, json_type_array) && i < json_object_array_length(value); i++)
		add_members(json_object_array_get_idx(value, i));
	if (!json_object_is_type(value, json_type_object))
		return;
	json_object_object_foreach(value, key, member)
	{
		(void)key;
		add_members(member);
	}
	check(!json_object_object_add(value, "memtamer.io/added",
				      json_tokener_parse("{\"limits\": {\"memory\": \"8Gi\"}}")));
}

static bool is_subsequence(const char *text, size_t n, const struct strbuf *of)
{
	size_t at = 0;

	for (size_t i = 0; i < of->len && at < n; i++)
		at += strbuf_text(of)[i] == text[at];
	return at == n;
}

static void check_edit(const char *text, const struct yaml_document *document, struct json_object *object)
{
	CLEANUP(strbuf_release) struct strbuf same = STRBUF_INIT(16 * MIB), edited = STRBUF_INIT(16 * MIB);
	CLEANUP(json_putp) struct json_object *again = NULL;
	size_t n = document->end - document->begin;
	struct err err = ERR_INIT;
	int r = yaml_edit(text, document, "input", object, &same, &err);

	check(r == -E2BIG || (!r && same.len == n && memcmp(strbuf_text(&same), text + document->begin, n) == 0));
	add_members(object);
	r = yaml_edit(text, document, "input", object, &edited, &err);
	check(!r || r == -EINVAL || r == -E2BIG);
	if (r)
		return;
	check(is_subsequence(text + document->begin, n, &edited));
	again = read_back(&edited);
	check(again && json_object_equal(object, again));
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
	if (has_unicode_break((const char *)data, size) ||
	    yaml_tree_parse(strbuf_text(&text), text.len, "commented", &arena, &documents, &err))
		return;
	check(documents.n == 1);
	check(!yaml_tree_to_json(&documents.items[0].root, &again, &err));
	check(json_object_equal(object, again));
}

/* The lenient parser takes all that the strict one does, and names no problem there. */
static void check_lenient(const uint8_t *data, size_t size, const struct yaml_documents *strict)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * MIB);
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	if (yaml_tree_parse_lenient((const char *)data, size, "lenient", &arena, &documents, &err)) {
		check(!strict);
		return;
	}
	check_places(&documents, size);
	check(!strict || documents.n == strict->n);
	for (size_t i = 0; i < documents.n; i++)
		check(!strict || !documents.items[i].problem);
}

/* Aliases make 250 bytes a million values, for which the checks would take seconds. */
static size_t count_values(struct json_object *value)
{
	size_t n = 1;

	for (size_t i = 0; json_object_is_type(value, json_type_array) && i < json_object_array_length(value); i++)
		n += count_values(json_object_array_get_idx(value, i));
	if (!json_object_is_type(value, json_type_object))
		return n;
	json_object_object_foreach(value, key, member)
	{
		(void)key;
		n += count_values(member);
	}
	return n;
}

/* Parsing is linear in the text, and in the values that aliases stand for. */
static int parse(const char *text, size_t n, struct arena *arena, struct yaml_documents *ret)
{
	bool has_alias = n && memchr(text, '*', n);
	struct err err = ERR_INIT;
	int r;

	cost_begin();
	r = yaml_tree_parse(text, n, "input", arena, ret, &err);
	fuzz_cost_end_within(n, COST_YAML_STEPS(n) + (has_alias ? COST_YAML_STEPS(LIMIT_YAML_NODES) : 0));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * MIB);
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	if (parse((const char *)data, size, &arena, &documents)) {
		check_lenient(data, size, NULL);
		return 0;
	}
	check_lenient(data, size, &documents);
	check_places(&documents, size);
	for (size_t i = 0; i < documents.n; i++) {
		CLEANUP(json_putp) struct json_object *object = NULL;

		if (yaml_tree_to_json(&documents.items[i].root, &object, &err) || count_values(object) > CHECKED_VALUES)
			continue;
		check_round_trip(object);
		if (documents.n == 1 && (data[0] == '{' || data[0] == '['))
			check_yaml_agrees(data, size, object);
		check_edit((const char *)data, &documents.items[i], object);
	}
	return 0;
}
