/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* prom_stream_internal: what prom_stream.c (JSON's grammar, byte by byte) and prom_places.c (what stands where in an
 * answer of Prometheus) share. */
#include "evidence/prom_stream.h"

enum state {
	STATE_VALUE,	    /* a value must begin */
	STATE_VALUE_OR_END, /* the same, or `]` of an empty array */
	STATE_KEY,	    /* a member's name must begin */
	STATE_KEY_OR_END,   /* the same, or `}` of an empty object */
	STATE_IN_KEY,
	STATE_COLON,
	STATE_AFTER, /* `,` or the end of what we are in */
	STATE_STRING,
	STATE_NUMBER,
	STATE_LITERAL, /* true, false, null */
	STATE_END,     /* only blanks */
};

enum place {
	PLACE_ROOT,
	PLACE_DATA,
	PLACE_SERIES,
	PLACE_OTHER_OBJECT,
	PLACE_ARRAYS_, /* objects above, arrays below */
	PLACE_RESULT,
	PLACE_VALUES,
	PLACE_PAIR,
	PLACE_WARNINGS,
	PLACE_OTHER_ARRAY,
};

enum field {
	FIELD_OTHER,
	FIELD_STATUS,
	FIELD_DATA,
	FIELD_ERROR_TYPE,
	FIELD_ERROR,
	FIELD_WARNINGS,
	FIELD_RESULT_TYPE,
	FIELD_RESULT,
	FIELD_METRIC,
	FIELD_VALUE,
	FIELD_VALUES,
};

/** The longest number, in bytes with its end. */
enum { SAMPLE_TEXT_BYTES = 64 };

/** Where in an answer the stream is; only at depth > 0. */
enum place prom_place_of(const struct prom_stream *self);
/** Is a value that begins with `c` of the type that belongs here? */
bool prom_is_value_expected(const struct prom_stream *self, char c);
/** Is the text of the string or number that begins here wanted? */
bool prom_wants_text(const struct prom_stream *self);
/** An object, an array begins; the innermost of them ends. */
int prom_begin_object(struct prom_stream *self, struct err *err) ATTR_NODISCARD;
int prom_begin_array(struct prom_stream *self, struct err *err) ATTR_NODISCARD;
int prom_pop(struct prom_stream *self, struct err *err) ATTR_NODISCARD;
/** A member's name, a wanted string or number is complete in `token`. */
int prom_key_done(struct prom_stream *self, struct err *err) ATTR_NODISCARD;
int prom_text_done(struct prom_stream *self, bool is_string, struct err *err) ATTR_NODISCARD;
/** -EPROTO, with the place in bytes; -ENOMEM or -E2BIG for a `token` that failed. */
int prom_refuse(struct prom_stream *self, struct err *err, const char *what);
int prom_text_failed(struct prom_stream *self, struct err *err);
