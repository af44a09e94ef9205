/* SPDX-License-Identifier: Apache-2.0 */
/* review -o yaml edits manifests in place. */
#include "support/test.h"

#include "unit/review_run.h"

#include "base/io.h"
#include "base/str.h"
#include "cli/cli.h"

#include <dirent.h>
#include <stdlib.h>

#define EDITS TEST_SOURCE_DIR "/support/edits/"

static void read_file(const char *folder, const char *name, const char *ending, struct strbuf *ret)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(4096);
	struct err err = ERR_INIT;

	strbuf_addf(&path, "%s%s%s", folder, name, ending);
	assert_int_equal(io_read_file(strbuf_text(&path), ret, &err), 0);
}

static int is_manifest(const struct dirent *entry)
{
	return (str_ends(str_c(entry->d_name), STR(".yaml")) || str_ends(str_c(entry->d_name), STR(".json"))) &&
	       !streq(entry->d_name, "store.json");
}

/* NAME becomes NAME.after; if there is NAME.err, that is standard error. What was edited is not edited again. */
static void check_edits(const char *name)
{
	CLEANUP(strbuf_release)
	struct strbuf text = STRBUF_INIT(MIB), after = STRBUF_INIT(MIB), errors = STRBUF_INIT(MIB);
	CLEANUP(output_release) struct output first = {0}, second = {0};
	bool is_refused = strcmp(name, "shared.yaml") == 0;

	test_row(name);
	read_file(EDITS, name, "", &text);
	read_file(EDITS, name, ".after", &after);
	if (is_refused)
		read_file(EDITS, name, ".err", &errors);
	write_n(name, strbuf_text(&text), text.len);
	first = REVIEW("--store", EDITS "store.json", "-o", "yaml", name);
	assert_string_equal(strbuf_text(&first.err), strbuf_text(&errors));
	assert_int_equal(first.code, is_refused ? EXIT_USAGE : EXIT_FINDINGS);
	assert_string_equal(strbuf_text(&first.out), strbuf_text(&after));
	write_n(name, strbuf_text(&first.out), first.out.len);
	second = REVIEW("--store", EDITS "store.json", "-o", "yaml", name);
	assert_string_equal(strbuf_text(&second.out), strbuf_text(&after));
}

static void sizes_are_edited_in_place(void **state)
{
	struct dirent **entries;
	int n = scandir(EDITS, &entries, is_manifest, alphasort);

	(void)state;
	assert_true(n >= 15);
	for (int i = 0; i < n; i++) {
		check_edits(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void a_file_without_findings_is_printed_as_it_is(void **state)
{
	static const char *const rows[] = {
		"# x\r\n" JOB_CLEAN "# behind\n",
		JOB_CLEAN "# no line break",
		"{\"apiVersion\": \"v1\", \"kind\": \"Service\"} {\"apiVersion\"\n: \"v1\", \"kind\": \"Service\"}\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = {0};

		write_text("clean.yaml", rows[i]);
		o = REVIEW("-o", "yaml", "clean.yaml");
		assert_int_equal(o.code, EXIT_CLEAN);
		assert_string_equal(strbuf_text(&o.out), rows[i]);
	}
}

/* The output is one stream of documents. A byte order mark may only stand at its beginning. */
static void files_are_joined_as_documents(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("a.yaml", "\xef\xbb\xbf"
			     "kind: A");
	write_text("b.json", "{\"kind\": \"B\"}\n{\"kind\": \"C\"}");
	write_text("c.yaml", "\xef\xbb\xbf"
			     "# d\nkind: D\n...\n");
	write_text("d.yaml", "# e\n--- # f\nkind: E\n");
	write_text("e.yaml", "null\n---\nkind: F\n");
	o = REVIEW("-o", "yaml", "a.yaml", "b.json", "c.yaml", "d.yaml", "e.yaml");
	assert_string_equal(strbuf_text(&o.out), "\xef\xbb\xbf"
						 "kind: A\n---\n{\"kind\": \"B\"}\n---\n{\"kind\": \"C\"}\n"
						 "---\n# d\nkind: D\n...\n# e\n--- # f\nkind: E\n"
						 "---\nnull\n---\nkind: F\n");
}

static void patched_manifests_are_a_fixed_point(void **state)
{
	CLEANUP(output_release) struct output first = REVIEW("-o", "yaml", MANIFESTS), second = {0};

	(void)state;
	assert_true(first.out.len > 1000);
	write_n("first.yaml", strbuf_text(&first.out), first.out.len);
	second = REVIEW("-o", "yaml", "first.yaml");
	assert_string_equal(strbuf_text(&second.err), "");
	assert_string_equal(strbuf_text(&first.out), strbuf_text(&second.out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_edited_in_place),
		cmocka_unit_test(a_file_without_findings_is_printed_as_it_is),
		cmocka_unit_test(files_are_joined_as_documents),
		cmocka_unit_test(patched_manifests_are_a_fixed_point),
	};

	return cmocka_run_group_tests_name("review-yaml", tests, enter_work, leave_work);
}
