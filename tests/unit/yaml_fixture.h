/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* yaml_fixture: a text that was parsed, with its trees or its error. */
#include "support/test.h"

#include "base/limits.h"
#include "yaml/yaml_tree.h"

#include <string.h>

struct parsed {
	struct arena arena;
	struct yaml_documents documents;
	struct err err;
	int r;
};

static inline struct parsed parse_n(const char *text, size_t n)
{
	struct parsed p = {.arena = ARENA_INIT(512 * MIB)};

	p.r = yaml_tree_parse(text, n, "f.yaml", &p.arena, &p.documents, &p.err);
	return p;
}

static inline struct parsed parse(const char *text)
{
	return parse_n(text, strlen(text));
}

static inline void parsed_release(struct parsed *p)
{
	arena_release(&p->arena);
}
