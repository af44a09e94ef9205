/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The builder of trees, which takes libyaml's events; the JSON reader makes the same events itself. */
#include "base/limits.h"
#include "base/vec.h"
#include "yaml/yaml_tree.h"

#include <yaml.h>

struct frame {
	struct yaml_node node;
	size_t begin; /* of its children on the stack; a mapping's are key, value, key, value ... */
};

struct builder {
	yaml_parser_t parser;
	const char *name, *text;
	size_t n_text;
	struct arena *arena;
	struct err *err;
	VEC(struct yaml_node) stack;
	struct frame frames[LIMIT_YAML_DEPTH];
	size_t depth, n_nodes;
	VEC(struct yaml_node) documents;
	VEC(struct yaml_extent) extents;
	size_t cursor_line, cursor; /* a line (0-based) and its offset: documents come in order */
	struct yaml_extent extent;  /* of the document being built */
	size_t start_line;	    /* of its `---`; SIZE_MAX: none */
};

/** Take one event into the tree. @return 0; -EINVAL, -E2BIG, -ENOMEM with err filled. */
int yaml_build_event(struct builder *b, const yaml_event_t *event) ATTR_NODISCARD;
/** Length of the line break at p as libyaml counts lines (LF, CR, CR LF, NEL, LS, PS); 0 for none. */
size_t yaml_line_break(const char *p, size_t n);

/** Build the tree of a text that is one JSON value. @return 0; 1 when it is not (the builder is left as it is then:
 *  forget what it holds and read the text as YAML, whose errors are better); -ENOMEM. */
int yaml_build_json(struct builder *b) ATTR_NODISCARD;
