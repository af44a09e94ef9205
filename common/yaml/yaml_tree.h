/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* yaml_tree: YAML and JSON documents as trees that remember where each node stands.
 * Built on libyaml's event API with caps on depth, size and number of nodes. Aliases and merge keys (<<) are expanded
 * as kubectl does: nodes are shared, and each alias counts as all nodes that it stands for. Tags other than the core
 * ones, keys that are no scalars or null, and duplicate keys are errors with file:line:col. Time is linear in the text
 * and in the nodes with aliases expanded.
 * Nodes live in the arena; text is copied. Lines and columns count from 1, columns in characters; `begin` and `end` are
 * offsets in bytes, and belong to the node itself: where an alias or a merge key stands for a value, the nodes below it
 * are elsewhere in the text.
 * Threads: a tree is read-only after parsing. */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"

enum yaml_type { YAML_TREE_NULL, YAML_TREE_SCALAR, YAML_TREE_SEQUENCE, YAML_TREE_MAPPING };

struct yaml_node {
	enum yaml_type type;
	bool is_plain;	  /* scalar: not quoted, so that null, true and 12 are no strings */
	bool is_flow;	  /* sequence, mapping: in brackets */
	const char *text; /* scalar: as written; mapping key: as JSON has it (a plain `on` or `0x10` is "true", "16") */
	size_t n_text;
	size_t line, column;	 /* 1-based, of the value */
	size_t begin, end;	 /* from its anchor or tag, if it has one, to the end of its last value or bracket */
	size_t key_column;	 /* mapping: column of its first key */
	struct yaml_node *items; /* sequence items, or mapping values */
	struct yaml_node *keys;	 /* mapping: scalar nodes, n of them */
	size_t n;
	struct yaml_anchor *anchor; /* that it has or is an alias of, or that was merged in here; NULL: none */
};

/** The bytes with which some editors begin a UTF-8 text. */
#define YAML_BYTE_ORDER_MARK STR("\xef\xbb\xbf")

/** A document that is not empty (nothing, a comment or null). The documents of a text join without gaps and cover it
 * all; empty ones belong to the one before. */
struct yaml_document {
	struct yaml_node root;
	size_t begin, end; /* from its `---` line; the first document's begin is the text's */
	bool has_marker;   /* it has a `---` line */
	const struct err
		*problem; /* the first thing in it that the strict parser refuses, with its place; NULL: none */
};

struct yaml_documents {
	struct yaml_document *items;
	size_t n;
};

/** Parse all documents of `n` bytes. `name` stands for the file in errors.
 *  @return 0; -EINVAL with file:line:col; -E2BIG over a cap; -ENOMEM. */
int yaml_tree_parse(const char *text, size_t n, const char *name, struct arena *arena, struct yaml_documents *ret,
		    struct err *err) ATTR_NODISCARD;
/** The same for text that may be no Kubernetes object: tags, keys and duplicates that YAML allows are the `problem`
 *  of their document and not errors; the trees of these documents are to be looked at, not to be converted. */
int yaml_tree_parse_lenient(const char *text, size_t n, const char *name, struct arena *arena,
			    struct yaml_documents *ret, struct err *err) ATTR_NODISCARD;
/** Whether a value occurs in several places of the text, by aliases or merge keys, so that an edit of it would change
 *  them all. */
bool yaml_tree_is_shared(const struct yaml_node *node);
/** Value of a key; NULL when absent or `node` is no mapping. */
const struct yaml_node *yaml_tree_get(const struct yaml_node *node, const char *key);
/** Text of a scalar member; "" for any other. */
const char *yaml_tree_text(const struct yaml_node *node, const char *key);
/** The deepest node that exists on the way of a JSON Pointer, for marks. Never NULL. */
const struct yaml_node *yaml_tree_at(const struct yaml_node *root, const char *json_pointer);
/** To JSON by the YAML 1.1 rules that kubectl uses (sigs.k8s.io/yaml): plain true/false/yes/no/on/off/y/n, null, ints
 *  (0x1f, 0o17, 017, 0b1, 1_000), floats; all else strings, times too. A null root is an error.
 *  @return 0; -EINVAL with line:col for .inf, .nan and null; -ENOMEM. The caller owns the object. */
int yaml_tree_to_json(const struct yaml_node *node, struct json_object **ret, struct err *err) ATTR_NODISCARD;
