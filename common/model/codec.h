/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* codec: converts structs to JSON objects and back, by tables of fields. One row has key, type and place of a member;
 * decoder, encoder, schema and documentation of an object are made from the rows. A member that has no simple type has
 * functions in its row. A value equal to its row's `absent`
 * is not written, and an absent member leaves the struct unchanged (codec_reset sets the absent values first). Private
 * to the layer model. Any thread. */
#include "base/err.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/decode.h"

#include <stdint.h>

enum codec_type {
	CODEC_BYTES,	/* int64_t as a canonical Quantity string */
	CODEC_INT64,	/* int64_t, 0 to CODEC_INT64_MAX */
	CODEC_INT32,	/* int32_t or int, not negative */
	CODEC_TIME,	/* int64_t ms as RFC 3339 */
	CODEC_DURATION, /* int64_t ms as "1h30m" */
	CODEC_DATE,	/* int32_t days since 1970 as "2026-11-02" */
	CODEC_TEXT,	/* char[size]; with names: one of them, "" if absent */
	CODEC_STRING,	/* const char *, borrowed from the doc, of at most `max` bytes; "" or NULL if absent */
	CODEC_BOOL,	/* bool */
	CODEC_ENUM,	/* int: index into names; an unknown name is an error */
	CODEC_ENUM8,	/* the same in a uint8_t */
	CODEC_FLAGS8,	/* uint8_t: an array of names of its bits; unknown names are ignored */
	CODEC_NAME,	/* const char *: one of names (static); an unknown name is read as "unknown" */
	/* Members of several values. They are read after the values above, in the order of the table. */
	CODEC_OBJECT,  /* a struct at `offset`, as in `table`; or by `read` and `write` */
	CODEC_OBJECTS, /* VEC() of structs of `size` bytes, as in `table`; or by `read_item` (or `read`) and `write`. At
			* most `max` objects are read, and the last `max` written. */
	CODEC_TEXTS,   /* const char *const * to an array of at most `max_items` texts of at most `max` bytes, with
			* their number in the uint8_t at n_offset; or by `read` and `write` */
	CODEC_INTEGERS, /* an array of integers, by `read` and `write` */
	CODEC_CUSTOM,	/* a string, by `read` and `write` */
	CODEC_ROWS,	/* no member, but all rows of `table`, for the same struct; or by `write` */
	CODEC_TYPES
};

/** 2^53: every JSON reader keeps such numbers exact, and sums of counters from outside cannot overflow. */
#define CODEC_INT64_MAX ((int64_t)1 << 53)

struct codec_field;

struct codec_table {
	const struct codec_field *fields;
	size_t n;
};

/** Reads and writes the member of a row by hand. `object` is the one that has the member, or lacks it. Errors name the
 * place from the member on (decode.h). */
typedef int codec_read_fn(const struct codec_field *field, const struct doc *object, void *self, struct err *err);
typedef void codec_write_fn(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma);
/** Reads one object of an array. */
typedef int codec_item_fn(void *context, const struct doc *item, struct err *err);

struct codec_field {
	const char *key;
	enum codec_type type;
	size_t offset, size; /* size: of the value; of CODEC_OBJECTS: of the struct of an item */
	int64_t absent;
	int64_t min; /* of CODEC_BYTES: MIB, smaller values but `absent` are rejected; 0: no minimum */
	int64_t max; /* maximum of an integer, bytes of a text, items of CODEC_OBJECTS; 0: that of the type */
	const char *const *names;
	size_t n_names;
	const char *help; /* for the object's documentation */
	/* For the types from CODEC_OBJECT on. A member with only a `write` is for people and never read. */
	const struct codec_table *table;
	codec_read_fn *read;
	codec_item_fn *read_item; /* of CODEC_OBJECTS, instead of `read` */
	codec_write_fn *write;
	size_t max_items, n_offset; /* of CODEC_TEXTS */
};

/* Further members of a row follow as designated initialisers. */
#define CODEC_FIELD(struct_, member, key_, type_, help_, ...)                                                          \
	{                                                                                                              \
		.key = (key_), .type = (type_), .help = (help_), .offset = offsetof(struct_, member),                  \
		.size = sizeof(((struct_ *)NULL)->member), __VA_ARGS__                                                 \
	}
/* A member that is not one of a struct, or by functions. */
#define CODEC_MEMBER(key_, type_, help_, ...)                                                                          \
	{                                                                                                              \
		.key = (key_), .type = (type_), .help = (help_), __VA_ARGS__                                           \
	}
#define CODEC_NAMES(names_) .names = (names_), .n_names = ARRAY_LEN(names_)
#define CODEC_ROWS_OF(table_)                                                                                          \
	{                                                                                                              \
		.key = "", .type = CODEC_ROWS, .table = &(table_)                                                      \
	}
#define CODEC_TABLE(fields_)                                                                                           \
	{                                                                                                              \
		.fields = (fields_), .n = ARRAY_LEN(fields_)                                                           \
	}
/* The members with which profiles and histories identify their workload. */
#define CODEC_WORKLOAD(struct_)                                                                                        \
	CODEC_FIELD(struct_, workload, "workload", CODEC_STRING, "The workload, by the best key that is known of it.", \
		    .max = LIMIT_KEY_BYTES),                                                                           \
		CODEC_FIELD(struct_, role, "role", CODEC_STRING,                                                       \
			    "Which of the workload's pods; absent where there is one kind.",                           \
			    .max = LIMIT_NAMESPACE_BYTES),                                                             \
		CODEC_FIELD(struct_, container, "container", CODEC_STRING, "The container's name.",                    \
			    .max = LIMIT_NAMESPACE_BYTES),                                                             \
		CODEC_FIELD(struct_, aliases, "aliases", CODEC_TEXTS,                                                  \
			    "Every key by which the workload was seen, best first.", .max = LIMIT_KEY_BYTES,           \
			    .max_items = LIMIT_PROFILE_ALIASES, .n_offset = offsetof(struct_, n_aliases))

/** Reads a JSON object completely into a doc in the arena: from text (a store holds 100,000 objects) or from a json-c
 * tree. The member `spec` keeps its source text, borrowed from the text or the tree. Cost: linear in the object.
 * @return 0; -EINVAL; -E2BIG; -ENOMEM. */
int codec_doc_read(const char *text, size_t n, struct arena *arena, struct doc *ret, struct err *err) ATTR_NODISCARD;
int codec_doc_of_json(struct json_object *object, struct arena *arena, struct doc *ret, struct err *err) ATTR_NODISCARD;

/** Compressed members: a JSON object as one string, since the API server holds every map of an object in memory at five
 * times its length. codec_pack appends `"key":"v1:..."`. @return 0; -ENOMEM; -E2BIG. */
int codec_pack(struct strbuf *buf, const char **comma, const char *key, const struct strbuf *json) ATTR_NODISCARD;
/** Reads the JSON object of at most `max` bytes that codec_pack wrote as `key`, into a doc in the arena. @return 0;
 * CODEC_ABSENT; -EINVAL with the field (damaged, too long, or of an unknown version); -ENOMEM. */
enum { CODEC_ABSENT = 1 };
int codec_unpack(const struct doc *object, const char *key, size_t max, struct arena *arena, struct doc *ret,
		 struct err *err) ATTR_NODISCARD;

/** Whether a value is a number without fraction and exponent. `*ret` is clamped to int64. */
bool codec_is_integer(const struct doc *value, int64_t *ret);
/** Sets every value of the table to its absent value, also in structs inside the struct. */
void codec_reset(const struct codec_table *table, void *self);
/** Reads the members that are present. CODEC_TEXTS must point to an array with room for `max_items`. @return 0; -EINVAL
 * with the field's path in err; what the functions of rows return. */
int codec_decode(const struct codec_table *table, const struct doc *object, void *self, struct err *err) ATTR_NODISCARD;
/** Appends `"key":value` for every value that is not absent, and all objects of the table. `*comma` is "" before the
 * first member, then ",". With a baseline, values equal to the baseline's are omitted instead. */
void codec_encode(const struct codec_table *table, const void *self, const void *baseline, struct strbuf *buf,
		  const char **comma);
/** Appends the same as one object, `{...}`. */
void codec_encode_object(const struct codec_table *table, const void *self, const void *baseline, struct strbuf *buf);
/** Appends `"key":[{...},...]` of `n` structs as in the row's table; nothing if there are none. */
void codec_encode_objects(const struct codec_field *field, const void *items, size_t n, const void *baseline,
			  struct strbuf *buf, const char **comma);
/** Appends the same values as one string for people, `"key=value key=value"`. The table has only values, and no
 * CODEC_FLAGS8. */
void codec_encode_line(const struct codec_table *table, const void *self, struct strbuf *buf);
/** Whether all values and texts of the table are equal in both structs. Lists of objects and members that have
 * functions are not compared. */
bool codec_same(const struct codec_table *table, const void *a, const void *b);
/** Appends `"key":`, after a comma if needed. */
void codec_key(struct strbuf *buf, const char **comma, const char *key);
/** Appends `"key":"text"`; nothing if the text is NULL or "". */
void codec_text(struct strbuf *buf, const char **comma, const char *key, const char *text);
/** Appends `"key":["text",...]`; nothing if there are no texts. */
void codec_texts(struct strbuf *buf, const char **comma, const char *key, const char *const *texts, size_t n);
/** Appends the head that all objects share: `{"apiVersion":...,"kind":...,"metadata":{...}`. A namespace "" is
 * omitted. */
void codec_head(struct strbuf *buf, const char *kind, const char *namespace_name, const char *name);
/** The members that all objects share. Texts are borrowed, "" if absent; numbers are 0 if absent. */
struct codec_head {
	const char *api_version, *kind, *namespace_name, *name;
	int64_t created_ms, generation;
};
/** Reads the head and checks apiVersion, kind and that there is a name. @return 0; -EINVAL with the field. */
int codec_head_decode(const struct doc *object, const char *kind, struct codec_head *ret,
		      struct err *err) ATTR_NODISCARD;
/** Parses a Quantity as bytes, which must not be negative. @return 0; -EINVAL. */
int codec_parse_bytes(const char *text, int64_t *ret, struct err *err) ATTR_NODISCARD;
/** An array of at most `max_items` texts of at most `max` bytes each, borrowed. @return 0; -EINVAL with the field. */
int codec_get_texts(const struct doc *object, const char *key, size_t max_items, size_t max, const char **ret,
		    size_t *ret_n, struct err *err) ATTR_NODISCARD;
/** Calls `decode` for each object of an array of at most `max` objects. @return 0; -EINVAL with the field; what
 * `decode` returned, which ends it. */
int codec_get_objects(const struct doc *object, const char *key, size_t max, codec_item_fn *decode, void *context,
		      struct err *err) ATTR_NODISCARD;
