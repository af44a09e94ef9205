/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* codec_internal: shared by codec.c (values of fields, encoder), codec_decode.c (decoder of fields) and codec_get.c
 * (members by type), codec_pack.c (compressed members), diagnosis_codec.c (the diagnosis of a profile). */
#include "model/codec.h"

/* A value of any type, so that comparing and copying need no case for each type. */
struct codec_value {
	int64_t number;
	const char *text;
};

/* VEC() of any struct. */
struct codec_list {
	void *items;
	size_t n, capacity;
};

/* Of struct diagnosis, which profile_codec.c reads and writes. */
extern const struct codec_table diagnosis_table;

/** Stores a value in the field of `self`; a text is truncated to fit. */
void codec_store(const struct codec_field *field, void *self, struct codec_value value);
/** Reads any JSON value completely into a doc in the arena. @return as codec_doc_read. */
int codec_doc_read_any(const char *text, size_t n, struct arena *arena, struct doc *ret,
		       struct err *err) ATTR_NODISCARD;
