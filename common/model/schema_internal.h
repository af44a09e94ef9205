/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* schema_internal: the members of the objects, as their codecs list them, and what schema.c and schema_docs.c share. */
#include "model/codec.h"
#include "model/schema.h"

enum { RUN_PARTS = 4 };
/** A run of a MemoryHistory. */
extern const struct codec_part run_parts[RUN_PARTS];
extern const struct codec_parts profile_parts, history_parts, node_shape_parts;

/** What a profile and a history say first: whose they are. */
#define SCHEMA_WORKLOAD_PARTS                                                                                          \
	{.type = CODEC_PART_TEXT, .key = "workload", .help = "The workload, by the best key that is known of it."},    \
		{.type = CODEC_PART_TEXT,                                                                              \
		 .key = "role",                                                                                        \
		 .help = "Which of the workload's pods; absent where there is one kind."},                             \
		{.type = CODEC_PART_TEXT, .key = "container", .help = "The container's name."},                        \
	{                                                                                                              \
		.type = CODEC_PART_TEXTS, .key = "aliases",                                                            \
		.help = "Every key by which the workload was seen, best first."                                        \
	}

/** A column of `kubectl get`. */
struct schema_column {
	const char *name, *type, *path;
	bool is_wide; /* only with -o wide */
	const char *help;
};

/** A rule in CEL, with what the API server says when it does not hold. */
struct schema_rule {
	const char *at; /* path of the object that is `self`: "" or "spec" */
	const char *rule, *message;
};

struct schema {
	const char *kind, *plural, *singular, *short_name;
	bool is_namespaced, has_status, is_spec_of_people;
	const struct codec_parts *parts;
	const struct schema_column *columns;
	size_t n_columns;
	const struct schema_rule *rules;
	size_t n_rules;
	const char *help;  /* one sentence */
	const char *intro; /* for the page: who writes it, what to do with it */
};
extern const struct schema schema_table[SCHEMA_COUNT_];

/** Who decides what stands in this part (a member of the object) is a person. */
bool schema_is_of_people(const struct schema *schema, const char *part);
