/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes load or are refused with words. What loads prints as a configuration that loads and prints the same. */
#include "base/limits.h"
#include "config/config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
	if (!is_true)
		abort();
}

/* The text without what is behind "  # ": lines differ between the two, values must not. */
static void strip(const char *text, struct strbuf *ret)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *comment = memmem(text, n, "  # ", 4);

		strbuf_add(ret, text, comment ? (size_t)(comment - text) : n);
		strbuf_addc(ret, '\n');
		text += n + (text[n] == '\n');
	}
}

static void print(const struct config *config, struct strbuf *ret_text, struct strbuf *ret_values)
{
	check(!config_print(config, ret_text));
	strip(strbuf_text(ret_text), ret_values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16 * MIB), values = STRBUF_INIT(16 * MIB);
	CLEANUP(strbuf_release) struct strbuf text2 = STRBUF_INIT(16 * MIB), values2 = STRBUF_INIT(16 * MIB);
	CLEANUP(config_freep) struct config *config = NULL, *again = NULL;
	struct err err = ERR_INIT;

	if (config_parse((const char *)data, size, "input", "/folder", &config, &err)) {
		check(err.code && err.msg[0]);
		return 0;
	}
	print(config, &text, &values);
	if (text.len > LIMIT_CONFIG_BYTES)
		return 0;
	check(!config_parse(strbuf_text(&text), text.len, "printed", NULL, &again, &err));
	print(again, &text2, &values2);
	check(strcmp(strbuf_text(&values), strbuf_text(&values2)) == 0);
	return 0;
}
