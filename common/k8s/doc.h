/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* doc: the part of a JSON document that we read, as a small tree in an arena. For the decoders of k8s/ and model/.
 * Built by one allow-list either from text (the admission path: json-c would take longer than all the rest together) or
 * from a json-c tree (manifests, offline review), so that both sides see the same. Decoders work on docs only; strings
 * of a doc are NUL-terminated, live in its arena, and decoders hand them on without a copy. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct json_object;

enum doc_type { DOC_NULL, DOC_FALSE, DOC_TRUE, DOC_NUMBER, DOC_STRING, DOC_ARRAY, DOC_OBJECT };

struct doc {
	enum doc_type type;
	uint32_t n_items; /* members or items */
	const char *key;  /* of a member; NULL else */
	const char
		*text; /* of a string or number; of an object or array with `keeps_source` as it was read, not copied */
	size_t n_key, n_text;
	struct doc *first, *next; /* items or members; siblings */
};

/* What is kept of a value. An array is entered: its items are kept by the same rule. A value that is not of the
 * expected type keeps its type, so that decoding names it, but nothing inside. A null member is left out. */
struct allow_field;
struct allow {
	const struct allow_field *fields; /* an object: these members */
	size_t n_fields;		  /* at most 64 */
	const struct allow *any;	  /* a map: every member, by this rule; a null one is kept */
	const char *const
		*names; /* an item of a list: kept only if its "name" (the first field) is one of these; else null */
	const char *dropped_key; /* a map: except this one */
	bool keeps_source; /* an object or array read from text: `text` is how it is written, in the caller's text */
};

struct allow_field {
	const char *key;
	size_t n;
	const struct allow *allow;
};

/* Rows of an allow-list, and the list that they make. */
#define ALLOW_FIELD(key_, allow_)                                                                                      \
	{                                                                                                              \
		.key = (key_), .n = sizeof(key_) - 1, .allow = &(allow_)                                               \
	}
#define ALLOW_FIELDS(array) .fields = (array), .n_fields = ARRAY_LEN(array)

/* The allow-list (allow.c). */
extern const struct allow allow_pod;		 /* a Pod or pod template */
extern const struct allow allow_workload;	 /* an object of any kind of kinds.c */
extern const struct allow allow_review;		 /* an AdmissionReview with a pod */
extern const struct allow allow_workload_review; /* an AdmissionReview with an object of such a kind */

/* Makes the nodes and texts of one doc; zeroed but for the arena. */
struct doc_builder {
	struct arena *arena;
	struct doc *nodes; /* free ones */
	size_t n_nodes, n_made;
	char *text; /* free bytes */
	size_t n_text;
};

/** Room for n bytes and a NUL (which is set); NULL when memory is out. */
char *doc_text(struct doc_builder *builder, size_t n);
/** A new last child; `*tail` is where its address goes (starts as &parent->first). NULL when memory is out. */
struct doc *doc_child(struct doc_builder *builder, struct doc *parent, struct doc ***tail);

/** Read text. On failure `ret` holds what was read before it. @return 0; -EINVAL with the byte offset; -E2BIG; -ENOMEM.
 */
int doc_read(const char *text, size_t n, const struct allow *allow, struct arena *arena, struct doc *ret,
	     struct err *err);
/** The same from a json-c tree. @return 0; -EINVAL; -E2BIG; -ENOMEM. */
int doc_of_json(struct json_object *object, const struct allow *allow, struct arena *arena, struct doc *ret,
		struct err *err);

/** What reading an object into a capped arena came to: -EINVAL where it does not fit, as more memory would not help,
 * and who asks for it again would do so again and again; else `r`. */
int doc_reading_ended(const struct arena *arena, int r, struct err *err);

/** The rule for a member; NULL: it is dropped. */
const struct allow_field *allow_field_of(const struct allow *allow, struct str key);
/** Whether a list's item of this name is kept. */
bool allow_keeps_name(const struct allow *allow, struct str name);

/** Member by key; NULL when absent, or `object` is NULL or no object. */
const struct doc *doc_member(const struct doc *object, const char *key);
/** "object", "string" ... for messages. */
const char *doc_type_name(const struct doc *doc);
