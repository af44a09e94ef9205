/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* codec_internal: what codec.c (values of fields, encoder), codec_decode.c (decoder of fields) and codec_get.c (members
 * by type) share. */
#include "model/codec.h"

/* Every type's value as one of these, so that comparing and copying need no case of their own. */
struct codec_value {
	int64_t number;
	double real;
	const char *text;
};

/** Put a value where the field is in `self`; a text is cut to fit. */
void codec_store(const struct codec_field *field, void *self, struct codec_value value);
/** "path.key", or "key" where the path is "". @return buf. */
const char *codec_path(const char *path, const char *key, char *buf, size_t size);
