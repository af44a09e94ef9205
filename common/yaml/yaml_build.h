/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* yaml_build: the builder of trees, which takes libyaml's events; the JSON reader makes the same events itself. Each
 * file uses only those before it: yaml_build.c (what all need), yaml_alias.c, yaml_event.c, yaml_json_read.c and
 * yaml_tree.c, which reads a text. */
#include "base/limits.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "yaml/yaml_tree.h"

#include <yaml.h>

/* What an anchor names. Aliases share it, so a tree may be a graph without cycles; its expanded size is counted. */
struct yaml_anchor {
	struct yaml_node node;
	bool is_complete; /* false while its value is read: an alias to it would be a cycle */
	bool is_used;	  /* there is an alias of it */
	size_t n_nodes, n_bytes, height;
};

struct frame {
	struct yaml_node node;
	size_t begin;		 /* of its children on the stack; a mapping's are key, value, key, value ... */
	size_t n_nodes, n_bytes; /* of the document before it */
	size_t height;		 /* of its deepest child so far */
	bool is_flow;		 /* in libyaml, which is slow there */
	bool has_merge;
};

/* A place in a text. */
struct yaml_cursor {
	size_t offset;	  /* in bytes */
	yaml_mark_t mark; /* in characters, without the byte order mark, as libyaml counts them */
};

struct builder {
	yaml_parser_t parser;
	const char *name, *text;
	size_t n_text, n_mark; /* n_mark: bytes of the byte order mark */
	struct arena *arena;
	struct err *err;
	VEC(struct yaml_node) stack;
	struct frame frames[LIMIT_YAML_DEPTH];
	size_t depth, n_flow;
	size_t n_nodes, n_bytes; /* values and their text, with aliases expanded */
	struct strmap anchors;	 /* of the document being built: struct yaml_anchor by name */
	VEC(struct yaml_document) documents;
	struct yaml_document document; /* the one being built */
	bool has_begun;		       /* a document, which may be empty */
	struct yaml_cursor cursor;     /* of the last mark: events come in order */
};

/** An error at a mark; its value is the code. */
#define yaml_build_fail(b, code, mark, ...)                                                                            \
	err_set_at((b)->err, code, (b)->name, (mark).line + 1, (mark).column + 1, __VA_ARGS__)
/** What YAML allows and Kubernetes does not: it is the problem of the document, unless there is one. */
#define yaml_build_refuse(b, mark, ...)                                                                                \
	((void)err_set_at(yaml_build_problem(b), -EINVAL, (b)->name, (mark).line + 1, (mark).column + 1, __VA_ARGS__))
/** The problem of the document, which is to be filled. NULL: it has one, or the arena has failed. */
struct err *yaml_build_problem(struct builder *b);
/** Sets the error of a failed allocation: of `bytes` from the arena, or of any memory if `bytes` is 0.
 *  @return -E2BIG: `bytes` exceed the arena's cap; -ENOMEM. */
int yaml_build_no_memory(struct builder *b, size_t bytes);
/** Moves over one character. The cursor must not be at the end of the text, which has `n` bytes. */
void yaml_cursor_step(struct yaml_cursor *self, const char *text, size_t n);
/** Offset in the text of a mark that is not before the mark of the call before. */
size_t yaml_build_offset(struct builder *b, yaml_mark_t mark);
/** Count values and bytes of text. @return 0; -E2BIG beyond LIMIT_YAML_NODES. */
int yaml_build_count(struct builder *b, yaml_mark_t mark, size_t n_nodes, size_t n_bytes) ATTR_NODISCARD;

/** Take the children of a collection from the stack, where they begin at `begin`. @return 0; -E2BIG; -ENOMEM. */
int yaml_build_take(struct builder *b, size_t begin, struct yaml_node *node) ATTR_NODISCARD;

/** yaml_alias.c: a value with an anchor begins; `*ret` is NULL without a name. @return 0 or -ENOMEM. */
int yaml_anchor_open(struct builder *b, const yaml_char_t *name, struct yaml_anchor **ret) ATTR_NODISCARD;
/** The node that an alias stands for. @return 0; -EINVAL for an unknown anchor or a cycle; -E2BIG over a cap. */
int yaml_alias_take(struct builder *b, const yaml_event_t *event, struct yaml_node *ret,
		    size_t *ret_height) ATTR_NODISCARD;
/** The text of a merge key (<<), recognised by its address. */
extern const char yaml_merge_key[];
/** Replace the merge keys of a mapping by what they merge, as kubectl does: in the order of the mapping, the later
 * value of a key wins; of a list of mappings the first one does. @return 0; -EINVAL; -ENOMEM. */
int yaml_merge(struct builder *b, struct yaml_node *mapping) ATTR_NODISCARD;

/** yaml_event.c: take one event into the tree. @return 0; -EINVAL, -E2BIG, -ENOMEM with err filled. */
int yaml_build_event(struct builder *b, const yaml_event_t *event) ATTR_NODISCARD;

/** yaml_json_read.c: build the trees of a text that is one or more JSON values. @return 0; 1 when it is not (the
 * builder is left as it is then: forget what it holds and read the text as YAML, whose errors are better); -E2BIG over
 * a cap; -ENOMEM. */
int yaml_build_json(struct builder *b) ATTR_NODISCARD;
