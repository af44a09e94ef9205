/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* schema_internal: the members of the objects, as their codecs list them, and what schema.c and docs_objects.c share.
 */
#include "model/codec_tables.h"
#include "generate/schema.h"

/** How a type of codec.h is called in the documentation, and its members in a schema, each after a comma. */
struct schema_type {
	const char *name, *json;
};
extern const struct schema_type schema_types[CODEC_TYPES];

/** A column of `kubectl get`. */
struct schema_column {
	const char *name, *type, *path;
	bool is_wide; /* shown only with -o wide */
	const char *help;
};

/** A CEL rule, with the API server's message if it does not hold. */
struct schema_rule {
	const char *at; /* path of the object that is `self`: "" or "spec" */
	const char *rule, *message;
};

struct schema {
	const char *kind, *plural, *singular, *short_name;
	bool is_namespaced, has_status, is_spec_of_people;
	const struct codec_table *table;
	const struct schema_column *columns;
	size_t n_columns;
	const struct schema_rule *rules;
	size_t n_rules;
	const char *help;  /* one sentence */
	const char *intro; /* for the page: who writes it, how to use it */
};
extern const struct schema schema_table[SCHEMA_COUNT_];

/** Whether people write this member of the object. */
bool schema_is_of_people(const struct schema *schema, const char *part);
