/* SPDX-License-Identifier: Apache-2.0 */
/* memtamer-docs FOLDER: write the pages that are made of tables. Part of the build, not of the product. */
#include "config/config.h"
#include "config/docs.h"

#include "base/io.h"
#include "base/limits.h"

#include <stdio.h>

static int write_page(const char *folder, const char *name, int (*render)(struct strbuf *buf))
{
	CLEANUP(strbuf_release) struct strbuf page = STRBUF_INIT(MIB);
	struct err err = ERR_INIT;
	char path[4096], text[1024];
	int r = render(&page);

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (r)
		err_set(&err, r, "cannot render %s", name);
	else
		r = io_write_file_atomic(path, strbuf_text(&page), page.len, 0644, &err);
	if (r)
		fprintf(stderr, "memtamer-docs: %s\n", err_text(&err, text, sizeof(text)));
	return r;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "Usage: memtamer-docs FOLDER\n");
		return 2;
	}
	if (write_page(argv[1], "CONFIGURATION.md", config_render_docs))
		return 3;
	return write_page(argv[1], "CHECKS.md", checks_render_docs) ? 3 : 0;
}
