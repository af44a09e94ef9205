/* SPDX-License-Identifier: Apache-2.0 */
/* memtamer-docs ROOT: write what is made of tables into the folders of a source tree, or of an empty one of the same
 * folders. Part of the build, not of the product. */
#include "config/config.h"
#include "config/docs.h"
#include "config/docs_objects.h"

#include "base/attr.h"
#include "base/io.h"
#include "base/limits.h"

#include <stdio.h>

static int profiles_template(struct strbuf *buf)
{
	return crd_render_template(SCHEMA_PROFILE, buf);
}

static int histories_template(struct strbuf *buf)
{
	return crd_render_template(SCHEMA_HISTORY, buf);
}

static int shapes_template(struct strbuf *buf)
{
	return crd_render_template(SCHEMA_SHAPE, buf);
}

static const struct page {
	const char *path;
	int (*render)(struct strbuf *buf);
} pages[] = {
	{"docs/CONFIGURATION.md", config_render_docs},
	{"docs/CHECKS.md", checks_render_docs},
	{"docs/OBJECTS.md", schema_render_docs},
	{"charts/memtamer/templates/crds/memoryprofiles.yaml", profiles_template},
	{"charts/memtamer/templates/crds/memoryhistories.yaml", histories_template},
	{"charts/memtamer/templates/crds/nodeshapes.yaml", shapes_template},
	{"manifests/crds.yaml", crd_render_manifest},
};

static int write_page(const char *root, const struct page *page)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct err err = ERR_INIT;
	char path[4096], words[1024];
	int r = page->render(&text);

	snprintf(path, sizeof(path), "%s/%s", root, page->path);
	if (r)
		err_set(&err, r, "cannot render %s", page->path);
	else
		r = io_write_file_atomic(path, strbuf_text(&text), text.len, 0644, &err);
	if (r)
		fprintf(stderr, "memtamer-docs: %s\n", err_text(&err, words, sizeof(words)));
	return r;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "Usage: memtamer-docs ROOT\n");
		return 2;
	}
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		if (write_page(argv[1], &pages[i]))
			return 3;
	return 0;
}
