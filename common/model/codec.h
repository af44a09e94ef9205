/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* codec: structs to JSON objects and back by tables of fields. One row says key, type and place of a figure; decoder,
 * encoder and the documentation of the objects are made from the rows. A figure equal to its row's `absent` value is
 * not written, and a missing member leaves the struct as it is (codec_reset sets the absent values first).
 * Private to the layer model. Any thread. */
#include "base/err.h"
#include "base/strbuf.h"
#include "k8s/doc.h"

#include <stdint.h>

enum codec_type {
	CODEC_BYTES,	/* int64_t as canonical Quantity string */
	CODEC_INT64,	/* int64_t, 0 to CODEC_INT64_MAX */
	CODEC_INT32,	/* int32_t or int, not negative */
	CODEC_DOUBLE,	/* double, finite */
	CODEC_TIME,	/* int64_t ms as RFC 3339 */
	CODEC_DURATION, /* int64_t ms as "1h30m" */
	CODEC_DATE,	/* int32_t days since 1970 as "2026-11-02" */
	CODEC_TEXT,	/* char[size]; with names: one of them, "" where absent */
	CODEC_BOOL,	/* bool */
	CODEC_ENUM,	/* int: index into names; an unknown name is an error */
	CODEC_ENUM8,	/* the same in a uint8_t */
	CODEC_FLAGS8,	/* uint8_t: array of names of its bits; unknown names are ignored */
	CODEC_NAME,	/* const char *: one of names (static); an unknown name becomes "unknown" */
};

/** 2^53: what every JSON reader takes exactly; and counters that come from outside stay far from overflow. */
#define CODEC_INT64_MAX ((int64_t)1 << 53)

struct codec_field {
	const char *key;
	enum codec_type type;
	size_t offset, size;
	int64_t absent;
	int64_t max; /* greatest value of an integer; 0: its type's */
	const char *const *names;
	size_t n_names;
	const char *help; /* for the documentation of the object */
};

/* All members of an object, for its schema and its documentation: tables of fields, and what is read and written by
 * hand. Who writes a member by hand lists it here; a test walks encoded objects along the lists. */
enum codec_part_type {
	CODEC_PART_FIELDS,   /* the fields of a table */
	CODEC_PART_TEXT,     /* a string */
	CODEC_PART_TEXTS,    /* an array of strings */
	CODEC_PART_INTEGERS, /* an array of integers */
	CODEC_PART_OBJECT,
	CODEC_PART_OBJECTS, /* an array of objects */
};

struct codec_part {
	enum codec_part_type type;
	const char *key, *help;		  /* none for CODEC_PART_FIELDS */
	const struct codec_field *fields; /* n of them for CODEC_PART_FIELDS */
	const struct codec_part *parts;	  /* n of them for objects */
	size_t n;
};

struct codec_parts {
	const struct codec_part *items;
	size_t n;
};

#define CODEC_PARTS_FIELDS(table_)                                                                                     \
	{                                                                                                              \
		.type = CODEC_PART_FIELDS, .fields = (table_), .n = ARRAY_LEN(table_)                                  \
	}
#define CODEC_PARTS_OBJECT(type_, key_, parts_, help_)                                                                 \
	{                                                                                                              \
		.type = (type_), .key = (key_), .help = (help_), .parts = (parts_), .n = ARRAY_LEN(parts_)             \
	}
#define CODEC_PARTS_LIST(table_)                                                                                       \
	{                                                                                                              \
		.items = (table_), .n = ARRAY_LEN(table_)                                                              \
	}

#define CODEC_FIELD(struct_, member, key_, type_, help_)                                                               \
	{                                                                                                              \
		.key = (key_), .type = (type_), .offset = offsetof(struct_, member),                                   \
		.size = sizeof(((struct_ *)NULL)->member), .help = (help_)                                             \
	}
#define CODEC_FIELD_ABSENT(struct_, member, key_, type_, absent_, help_)                                               \
	{                                                                                                              \
		.key = (key_), .type = (type_), .offset = offsetof(struct_, member),                                   \
		.size = sizeof(((struct_ *)NULL)->member), .absent = (absent_), .help = (help_)                        \
	}
#define CODEC_FIELD_NAMES(struct_, member, key_, type_, absent_, names_, help_)                                        \
	{                                                                                                              \
		.key = (key_), .type = (type_), .offset = offsetof(struct_, member),                                   \
		.size = sizeof(((struct_ *)NULL)->member), .absent = (absent_), .names = (names_),                     \
		.n_names = ARRAY_LEN(names_), .help = (help_)                                                          \
	}

/** All of a JSON object as a doc in the arena: from text (a store holds 100,000 of them), or from a json-c tree.
 *  @return 0; -EINVAL; -E2BIG; -ENOMEM. */
int codec_doc_read(const char *text, size_t n, struct arena *arena, struct doc *ret, struct err *err) ATTR_NODISCARD;
int codec_doc_of_json(struct json_object *object, struct arena *arena, struct doc *ret, struct err *err) ATTR_NODISCARD;

/** Members by type; `object` may be NULL (nothing is there). A null member is absent.
 *  @return 0; CODEC_ABSENT with *ret untouched; -EINVAL with `path`.`key` in err. */
enum { CODEC_ABSENT = 1 };
int codec_get_string(const struct doc *object, const char *path, const char *key, const char **ret,
		     struct err *err) ATTR_NODISCARD;
int codec_get_object(const struct doc *object, const char *path, const char *key, const struct doc **ret,
		     struct err *err) ATTR_NODISCARD;
int codec_get_array(const struct doc *object, const char *path, const char *key, const struct doc **ret,
		    struct err *err) ATTR_NODISCARD;
/** A number without fraction and exponent; cut to int64. */
bool codec_is_integer(const struct doc *value, int64_t *ret);
/** Set every figure of the table to its absent value. */
void codec_reset(const struct codec_field *fields, size_t n, void *self);
/** Read the members that are there. @return 0 or -EINVAL with the field's path in err. */
int codec_decode(const struct codec_field *fields, size_t n, const struct doc *object, const char *path, void *self,
		 struct err *err) ATTR_NODISCARD;
/** Append `"key":value` for every figure that is not absent; `*comma` is "" before the first member, "," after.
 *  With a baseline a figure is left out when it equals the baseline's, instead. */
void codec_encode(const struct codec_field *fields, size_t n, const void *self, const void *baseline,
		  struct strbuf *buf, const char **comma);
/** Are all figures of the table the same in both? */
bool codec_same(const struct codec_field *fields, size_t n, const void *a, const void *b);
/** Append `"key":` with the comma before it. */
void codec_key(struct strbuf *buf, const char **comma, const char *key);
/** Append `"key":"text"`; nothing when the text is NULL or "". */
void codec_text(struct strbuf *buf, const char **comma, const char *key, const char *text);
/** Append `"key":["text",...]`; nothing when there are none. */
void codec_texts(struct strbuf *buf, const char **comma, const char *key, const char *const *texts, size_t n);
/** Append the head that all objects share: `{"apiVersion":...,"kind":...,"metadata":{...}`. Namespace "" is left out.
 */
void codec_head(struct strbuf *buf, const char *kind, const char *namespace_name, const char *name);
/** Check apiVersion and kind, read metadata. Borrowed text; `*ret_namespace` is "" when absent. */
int codec_head_decode(const struct doc *object, const char *kind, const char **ret_namespace, const char **ret_name,
		      struct err *err) ATTR_NODISCARD;
/** A Quantity string as bytes >= 0. */
int codec_parse_bytes(const char *text, const char *path, int64_t *ret, struct err *err) ATTR_NODISCARD;
/** Member text of at most `max` bytes, "" when absent. Borrowed. */
int codec_get_text(const struct doc *object, const char *path, const char *key, size_t max, const char **ret,
		   struct err *err) ATTR_NODISCARD;
/** Array of strings of at most `max_items` items of at most `max` bytes each. Borrowed. */
int codec_get_texts(const struct doc *object, const char *path, const char *key, size_t max_items, size_t max,
		    const char **ret, size_t *ret_n, struct err *err) ATTR_NODISCARD;
