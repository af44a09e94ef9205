/* SPDX-License-Identifier: Apache-2.0 */
/* memtamer-docs ROOT: writes the documents that are made from tables into the folders of a source tree, or of an empty
 * tree with the same folders. Part of the build, not of the product. */
#include "config/config.h"
#include "generate/docs.h"
#include "generate/docs_crds.h"

#include "base/attr.h"
#include "base/io.h"
#include "base/limits.h"

#include <stdio.h>

static const struct page {
	const char *path;
	int (*render)(struct strbuf *buf); /* NULL: the template of `object` */
	enum schema_object object;
} pages[] = {
	{"docs/CONFIGURATION.md", config_render_docs, SCHEMA_COUNT_},
	{"docs/CHECKS.md", checks_render_docs, SCHEMA_COUNT_},
	{"docs/LABELS.md", labels_render_docs, SCHEMA_COUNT_},
	{"docs/OBJECTS.md", objects_render_docs, SCHEMA_COUNT_},
	{"docs/TRIAGE.md", triage_render_docs, SCHEMA_COUNT_},
	{"charts/memtamer/templates/crds/memoryprofiles.yaml", NULL, SCHEMA_PROFILE},
	{"charts/memtamer/templates/crds/memoryhistories.yaml", NULL, SCHEMA_HISTORY},
	{"charts/memtamer/templates/crds/nodeshapes.yaml", NULL, SCHEMA_SHAPE},
	{"manifests/crds.yaml", crd_render_manifest, SCHEMA_COUNT_},
};

static int write_page(const char *root, const struct page *page)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct err err = ERR_INIT;
	char path[4096], words[1024];
	int r = page->render ? page->render(&text) : crd_render_template(page->object, &text);

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
	bool wants_help = argc == 2 && streq(argv[1], "--help");

	if (argc != 2 || *argv[1] == '-') {
		fputs("Usage: memtamer-docs FOLDER\n\nWrite the pages and object definitions that are made from the "
		      "programs' tables into\nFOLDER, the root of the source tree.\n",
		      wants_help ? stdout : stderr);
		return wants_help ? 0 : 2;
	}
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		if (write_page(argv[1], &pages[i]))
			return 3;
	return 0;
}
