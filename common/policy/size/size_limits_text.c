/* SPDX-License-Identifier: Apache-2.0 */
/* size_limits_text: amounts of the rules of a namespace as bytes and as text. */
#include "policy/size/size_limits.h"

int64_t limits_bytes(__int128 nano)
{
	const __int128 nano_of_byte = 1000000000;
	__int128 bytes = (nano + nano_of_byte - 1) / nano_of_byte;

	return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

const char *limits_name(const struct deciding *self, const char *name)
{
	return text_clean(self->arena, name, TEXT_VALUE_CHARS);
}

const char *limits_amount_text(const struct deciding *self, enum k8s_resource resource, int64_t amount)
{
	struct quantity milli = {.nano = k8s_bound_nano(K8S_CPU, amount), .format = QUANTITY_DECIMAL_SI};
	char text[QUANTITY_TEXT_BYTES];

	return arena_printf(self->arena, "%s",
			    resource == K8S_CPU ? quantity_render(&milli, text) : text_exact(amount, text));
}
