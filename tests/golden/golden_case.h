/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* golden_case: one case folder, loaded and decided about. */
#include "base/arena.h"
#include "config/config.h"
#include "policy/decide.h"

#include <json-c/json.h>

struct golden_lines;

struct golden_case {
	const char *folder;
	struct json_object *object;   /* object.json */
	struct json_object *facts;    /* case.json; NULL when absent */
	struct json_object *expected; /* expected.json; NULL when absent */
	struct json_object *runtime;  /* runtime.json; NULL when absent */
	struct config *config;
	struct snapshot *snapshot;
	struct arena arena;
	struct golden_lines *lines; /* gets the warnings of every decision; NULL: nobody wants them */
};

/** @return 0, or -1 with a line on stderr. */
int golden_load(const char *folder, struct golden_case *ret);
void golden_release(struct golden_case *self);
/** Decide about the object as it stands and put the answer in the form of expected.json. NULL on failure. */
struct json_object *golden_answer(struct golden_case *self, struct json_object *object);
