/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes parse or are refused; what parses reads back from its own canonical text with the same value. */
#include "k8s/quantity.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct quantity quantity, again;
	char text[QUANTITY_TEXT_BYTES], text_again[QUANTITY_TEXT_BYTES];
	struct err err = ERR_INIT;

	if (quantity_parse((const char *)data, size, &quantity, &err))
		return 0;
	quantity_render(&quantity, text);
	if (quantity_parse(text, strlen(text), &again, &err) || quantity_cmp(&quantity, &again) != 0)
		abort();
	if (quantity_value(&quantity) != quantity_value(&again) ||
	    quantity_milli_value(&quantity) != quantity_milli_value(&again))
		abort();
	if (strcmp(quantity_render(&again, text_again), text) != 0)
		abort();
	return 0;
}
