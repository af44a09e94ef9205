/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* yaml_tree: YAML and JSON documents as trees that remember where each node stands.
 * Built on libyaml's event API with depth, size and node caps (libyaml 0.2.5 is quadratic in depth). Anchors, aliases,
 * merge keys (<<), tags other than the core ones, NUL characters and duplicate keys are errors with file:line:col.
 * Nodes live in the arena; text is copied. Lines and columns count from 1, columns in characters.
 * Threads: a tree is read-only after parsing. */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"

enum yaml_type { YAML_TREE_NULL, YAML_TREE_SCALAR, YAML_TREE_SEQUENCE, YAML_TREE_MAPPING };

struct yaml_node {
	enum yaml_type type;
	bool is_plain;	  /* scalar: not quoted, so that null, true and 12 are no strings */
	const char *text; /* scalar: as written; mapping key: as JSON has it (a plain `on` or `0x10` is "true", "16") */
	size_t n_text;
	size_t line, column;	 /* 1-based, of the value */
	struct yaml_node *items; /* sequence items, or mapping values */
	struct yaml_node *keys;	 /* mapping: scalar nodes, n of them */
	size_t n;
};

/** Where a document stands in the text, in bytes, for printing it as it was. The extents of a text's documents join
 *  without gaps and cover it all (a byte order mark is left out); empty documents belong to the one before. */
struct yaml_extent {
	size_t begin; /* of its `---` line; the first document's is the text's, so that comments on top belong to it */
	size_t body;  /* of its root node: what is before are comments and `---` */
	size_t tail;  /* what follows the document itself: empty documents; `end` when there are none */
	size_t end;
};

struct yaml_documents {
	struct yaml_node *items; /* documents that are not empty (nothing, a comment or null) */
	size_t n;
	struct yaml_extent *extents; /* n of them */
};

/** Parse all documents of `n` bytes. `name` stands for the file in errors.
 *  @return 0; -EINVAL with file:line:col; -E2BIG over a cap; -ENOMEM. */
int yaml_tree_parse(const char *text, size_t n, const char *name, struct arena *arena, struct yaml_documents *ret,
		    struct err *err) ATTR_NODISCARD;
/** Value of a key; NULL when absent or `node` is no mapping. */
const struct yaml_node *yaml_tree_get(const struct yaml_node *node, const char *key);
/** The deepest node that exists on the way of a JSON Pointer, for marks. Never NULL. */
const struct yaml_node *yaml_tree_at(const struct yaml_node *root, const char *json_pointer);
/** To JSON by the YAML 1.1 rules that kubectl uses (sigs.k8s.io/yaml): plain true/false/yes/no/on/off/y/n, null, ints
 *  (0x1f, 0o17, 017, 0b1, 1_000), floats; all else strings, times too. A null root is an error.
 *  @return 0; -EINVAL with line:col for .inf, .nan and null; -ENOMEM. The caller owns the object. */
int yaml_tree_to_json(const struct yaml_node *node, struct json_object **ret, struct err *err) ATTR_NODISCARD;
/** Emit JSON as block YAML, quoting what would read back as something else. Members keep their order.
 *  @return sticky status of buf. */
int yaml_tree_emit(struct json_object *object, struct strbuf *buf);

/** Append one scalar as YAML: plain where that reads back as this string, else double-quoted. Sticky status of buf. */
int yaml_tree_emit_string(struct strbuf *buf, const char *text, size_t n);
