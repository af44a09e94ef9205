/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* doc: the part of a JSON document that we read, as a tree in an arena, for the decoders in k8s/ and model/. The same
 * allow-list builds it from text (for admission, where json-c would take longer than all the rest together) or from a
 * json-c tree (manifests, offline review), so that both see the same. Strings are NUL-terminated and in the arena, and
 * decoders pass them on without a copy.
 *
 * Cost: linear in the text; a value that is kept takes 56 bytes of the arena and its text. At most
 * LIMIT_PROJECTED_TOKENS values are kept. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct json_object;

enum doc_type { DOC_NULL, DOC_FALSE, DOC_TRUE, DOC_NUMBER, DOC_STRING, DOC_ARRAY, DOC_OBJECT };

struct doc {
	enum doc_type type;
	uint32_t n_items; /* number of members or items */
	const char *key;  /* of a member; NULL otherwise */
	const char
		/* of a string or number; of an object or array with `keeps_source` the source text, not copied */
		*text;
	size_t n_key, n_text; /* n_text of a map: bytes of key and value of the member that was dropped by its key */
	struct doc *first, *next; /* first: items or members; next: sibling */
};

/* The rule for keeping a value. The items of an array are kept by the rule of the array. A value of an unexpected type
 * keeps its type, so that decoding can report it, but loses its content. A null member is dropped. */
struct allow_field;
struct allow {
	const struct allow_field *fields; /* of an object: these members */
	size_t n_fields;		  /* at most 64 */
	const struct allow *any;	  /* of a map: every member, by this rule; null members are kept */
	/* of an item of a list: kept only if its "name" (the first field) is one of these (NULL-terminated); otherwise
	 * it becomes null */
	const char *const *item_names;
	const char *dropped_key; /* of a map: this key is dropped; only its length and that of its value are kept */
	bool keeps_source;	 /* of an object or array read from text: `text` is its source, in the caller's text */
};

struct allow_field {
	const char *key;
	size_t n;
	const struct allow *allow;
};

/** Whether an item of this name is kept. */
bool allow_has_item(const struct allow *self, const char *name);

/* A row of an allow-list; the list as rows, or as an array of rows. */
#define ALLOW_FIELD(key_, allow_)                                                                                      \
	{                                                                                                              \
		.key = (key_), .n = sizeof(key_) - 1, .allow = &(allow_)                                               \
	}
#define ALLOW_ROWS(...)                                                                                                \
	.fields = (const struct allow_field[]){__VA_ARGS__},                                                           \
	.n_fields = ARRAY_LEN(((const struct allow_field[]){__VA_ARGS__}))
#define ALLOW_FIELDS(array) .fields = (array), .n_fields = ARRAY_LEN(array)

/* Allow-lists (allow.c). */
extern const struct allow allow_pod;		 /* a Pod or pod template */
extern const struct allow allow_workload;	 /* an object of any kind of kinds.c */
extern const struct allow allow_review;		 /* an AdmissionReview with a pod */
extern const struct allow allow_workload_review; /* an AdmissionReview with an object of such a kind */

/* Makes the nodes and texts of one doc. Initialise with zeros and an arena. */
struct doc_builder {
	struct arena *arena;
	struct doc *nodes; /* unused ones */
	size_t n_nodes, n_made;
	char *text; /* unused bytes */
	size_t n_text;
};

/** Allocates n bytes and a NUL (which is set). NULL: out of memory. */
char *doc_text(struct doc_builder *builder, size_t n);
/** Adds a last child; `*tail` is where its address is stored (starts as &parent->first). NULL: out of memory. */
struct doc *doc_child(struct doc_builder *builder, struct doc *parent, struct doc ***tail);

/** Reads text. On failure `ret` has what was read before; if only something that is not listed is too deep or has too
 * many tokens, this is everything. @return 0; -EINVAL with the byte offset; -E2BIG; -ENOMEM. */
int doc_read(const char *text, size_t n, const struct allow *allow, struct arena *arena, struct doc *ret,
	     struct err *err);
/** Does the same for a json-c tree. @return 0; -EINVAL; -E2BIG; -ENOMEM. */
int doc_of_json(struct json_object *object, const struct allow *allow, struct arena *arena, struct doc *ret,
		struct err *err);

/** The result of reading an object into a capped arena: -EINVAL if the object does not fit, as retries would not help;
 * otherwise `r`. */
int doc_reading_ended(const struct arena *arena, int r, struct err *err);

/** The rule for a member. NULL: it is dropped. */
const struct allow_field *allow_field_of(const struct allow *allow, struct str key);

/** The member of this key. NULL: absent, or `object` is NULL or not an object. Cost: the number of members; at most 64
 * of an object, any number of a map. */
const struct doc *doc_member(const struct doc *object, const char *key);
/** The text of a string member. "": absent, or not a string. Cost: as doc_member(). */
const char *doc_member_text(const struct doc *object, const char *key);
/** A whole number that is not negative; anything else, and NULL, counts as 1. */
int64_t doc_count(const struct doc *value);

/** The first item or member. NULL: there is none, or `doc` is NULL or not of this type. */
const struct doc *doc_children(const struct doc *doc, enum doc_type type);

/* Building a tree. A NULL parent or node adds nothing, so only arena->has_failed needs to be checked, at the end. A
 * child is added as the last one; cost: linear in the children of `parent`, once for each call. NULL: nothing was
 * added. */
/** An empty object. NULL: out of memory. */
struct doc *doc_new(struct arena *arena);
/** Adds an empty value (`key` NULL: an item of an array). */
struct doc *doc_add(struct doc *parent, const char *key, enum doc_type type, struct arena *arena);
/** Adds a copy of `node` that shares its content; doc_add_as gives it another key. */
void doc_add_copy(struct doc *parent, const struct doc *node, struct arena *arena);
struct doc *doc_add_as(struct doc *parent, const char *key, const struct doc *node, struct arena *arena);
/** Adds copies of all children of `from`, which must be of the parent's type, except members with these keys
 * (NULL-terminated; NULL: all). */
void doc_add_children(struct doc *parent, const struct doc *from, const char *const *without, struct arena *arena);
/** Adds many children one by one at constant cost: `*tail` is where the next one is stored (starts as &parent->first of
 * an empty parent); neither pointer is NULL. */
struct doc *doc_append(struct doc *parent, const char *key, const struct doc *node, struct arena *arena,
		       struct doc ***tail);
/** "object", "string" ... for messages. */
const char *doc_type_name(const struct doc *doc);
