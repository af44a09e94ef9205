/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decode: shared by the decoders in k8s/ and model/. Paths in errors are built backwards: a decoder names its
 * own field and its caller adds the path of the object, so that decoding without errors formats no text. An absent
 * or null member is never an error here, and leaves `ret` unchanged. Functions return 0, -EINVAL with the field, or
 * -ENOMEM. Cost: the members of `object` before the key, and linear in what is decoded. */
#include "k8s/doc.h"
#include "k8s/pod.h"

/** Sets err to "out of memory". @return -ENOMEM. */
int decode_oom(struct err *err);
/** Puts "path." before err->where. @return r. */
int decode_at(int r, struct err *err, const char *fmt, ...) ATTR_PRINTF(3, 4);
/** Sets err to "expected `wanted`, found ...". @return -EINVAL. */
int decode_type_error(const struct doc *found, const char *wanted, struct err *err);
/** A text of any length, borrowed from the doc; "" if absent. */
int decode_string(const struct doc *object, const char *key, const char **ret, struct err *err);
/** A name, "" if absent: -EINVAL beyond LIMIT_QUALIFIED_NAME_BYTES. The API server rejects such a name too, but only
 * after the webhooks, and names are compared and hashed many times. */
int decode_name(const struct doc *object, const char *key, const char **ret, struct err *err);
int decode_object(const struct doc *object, const char *key, const struct doc **ret, struct err *err);
int decode_array(const struct doc *object, const char *key, const struct doc **ret, struct err *err);
/** An array whose items must be objects. `*ret_first`: the first item; `*ret_n`: their number (0 if absent). */
int decode_items(const struct doc *object, const char *key, const struct doc **ret_first, size_t *ret_n,
		 struct err *err);
/** A map of strings. Keys are names, and so are values unless `has_free_values` (annotations). A null value is read as
 * "". */
int decode_labels(const struct doc *object, const char *key, bool has_free_values, struct arena *arena,
		  struct k8s_labels *ret, struct err *err);
/** A quantity (string or number). `value` may be NULL. */
int decode_amount(const struct doc *value, bool is_milli, struct k8s_amount *ret, struct err *err);

/* Tables: a row for each member that is decoded. */
enum decode_type {
	DECODE_NAME,	    /* const char *, as decode_name() */
	DECODE_STRING,	    /* const char * of any length, borrowed from the doc; "" if absent */
	DECODE_BOOL,	    /* bool */
	DECODE_IS_PRESENT,  /* bool: whether the member is there, whatever its type */
	DECODE_COUNT,	    /* size_t: the number of objects in an array */
	DECODE_TEXTS,	    /* const char **, with their number in the size_t at n_offset */
	DECODE_LABELS,	    /* struct k8s_labels whose values are names */
	DECODE_ANNOTATIONS, /* struct k8s_labels with any values */
	DECODE_OBJECT,	    /* the members in `table`, into the struct at `offset`; also if absent */
	DECODE_LIST, /* an array of structs of `size` bytes by `table`, with their number in the size_t at n_offset */
	DECODE_BY,   /* by `decode` */
};
/** Decodes the member `key` of an object into `ret`, which is the place of its row in the struct. */
typedef int decode_fn(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err);

struct decode_field {
	const char *key;
	enum decode_type type;
	size_t offset, n_offset, size;
	size_t max; /* items of DECODE_LIST, -E2BIG beyond; 0: no maximum */
	const struct decode_table *table;
	decode_fn *decode;
};
struct decode_table {
	const struct decode_field *fields;
	size_t n;
};
/* A table of rows, and rows for a member of a struct: by its type, by a function; an array with its number in
 * n_`member`; and an object inside the object whose members belong to the same struct. */
#define DECODE_TABLE(...)                                                                                              \
	{                                                                                                              \
		.fields = (const struct decode_field[]){__VA_ARGS__},                                                  \
		.n = ARRAY_LEN(((const struct decode_field[]){__VA_ARGS__}))                                           \
	}
#define DECODE(struct_, member, key, type)                                                                             \
	{                                                                                                              \
		(key), (type), .offset = offsetof(struct_, member)                                                     \
	}
#define DECODE_WITH(struct_, member, key, fn)                                                                          \
	{                                                                                                              \
		(key), DECODE_BY, .offset = offsetof(struct_, member), .decode = (fn)                                  \
	}
#define DECODE_ARRAY(struct_, member, key, type, ...)                                                                  \
	{                                                                                                              \
		(key), (type), .offset = offsetof(struct_, member), .n_offset = offsetof(struct_, n_##member),         \
			       .size = sizeof(*((struct_ *)NULL)->member), __VA_ARGS__                                 \
	}
#define DECODE_INSIDE(key, table_)                                                                                     \
	{                                                                                                              \
		(key), DECODE_OBJECT, .table = &(table_)                                                               \
	}

/** Decodes all members of a table, in its order. `object` may be NULL. Arrays are in the arena. */
int decode_fields(const struct decode_table *table, const struct doc *object, struct arena *arena, void *ret,
		  struct err *err);

/* Functions of rows: quantities of cpu, memory and ephemeral-storage (struct k8s_amount[]); the resources of a
 * container or pod (struct k8s_resources). */
decode_fn decode_amounts, decode_resources;
