/* SPDX-License-Identifier: Apache-2.0 */
/* Files that no store wrote: torn, somebody else's or nested too deep, they are refused and kept as they are; broken
 * into other lines, they are read. */
#include "store_file_fixture.h"

#include <errno.h>

/* Reading fails, committing refuses, and the file is what it was. An object of ours with a bad field is no torn file:
 * a commit keeps its bytes for a person to mend. */
static void assert_refused(const struct place *place, const char *text, size_t n, bool is_ours, struct err *ret_err)
{
	CLEANUP(store_closep) struct store *store = open_store(place, true);
	CLEANUP(freep) char *after = NULL;
	struct snapshot *snapshot = NULL;
	struct err err = ERR_INIT;

	write_text(place->path, text, n);
	assert_int_equal(load(store, &snapshot, ret_err), -EINVAL);
	assert_int_equal(commit_generation(store, 1, 9, 1, &err), is_ours ? 0 : -EINVAL);
	after = read_text(place->path);
	if (is_ours)
		return;
	assert_int_equal(strlen(after), n);
	assert_memory_equal(after, text, n);
	assert_int_equal(count_files(place->folder, "profiles.json.", false), 1); /* the lock */
}

static void torn_file_is_refused_and_kept(void **state)
{
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;
	struct place place;
	struct store *store;
	size_t n, refused = 0;

	(void)state;
	place_init(&place);
	store = open_store(&place, true);
	commit(store, 3, 1);
	store_close(store);
	text = read_text(place.path);
	n = strlen(text);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	for (size_t cut = 0; cut < n; cut += cut < 200 || n - cut < 200 ? 1 : 37) {
		assert_refused(&place, text, cut, false, &err);
		refused++;
	}
	print_message("  %zu cuts refused\n", refused);
	/* A whole file again is taken again. */
	write_text(place.path, text, strlen(text));
	store = open_store(&place, true);
	commit(store, 3, 2);
	store_close(store);
	place_release(&place);
}

#define LIST(items) "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" items "]}"
#define HEAD(kind)  "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"a\"}"

static void foreign_file_is_refused_and_kept(void **state)
{
	static const struct {
		const char *name, *text, *says; /* a word that the error must hold */
	} rows[] = {
		{"empty file", "", "byte 0"},
		{"plain text", "These are not the profiles you are looking for.\n", "byte 0"},
		{"YAML", "apiVersion: v1\nkind: List\nitems: []\n", "byte 0"},
		{"array", "[]", "byte 0"},
		{"empty object", "{}", "byte"},
		{"ConfigMap", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{}}", "byte"},
		{"List of ConfigMaps", LIST("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}"), "byte"},
		{"List of another version", "{\"apiVersion\":\"v2\",\"kind\":\"List\",\"items\":[]}", "byte"},
		{"object of another version",
		 LIST("{\"apiVersion\":\"memtamer.io/v9\",\"kind\":\"MemoryProfile\",\"metadata\":{\"name\":\"a\"}}"),
		 "byte"},
		{"unknown kind of ours", LIST(HEAD("MemoryDream") "}"), "byte"},
		{"items no array", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":{}}", "byte"},
		{"item no object", LIST("7"), "byte"},
		{"bad field", LIST(HEAD("NodeShape") ",\"spec\":{\"memory\":\"1Gb\"}}"), "spec.memory"},
		{"bad item behind a good one", LIST(HEAD("NodeShape") "}," HEAD("NodeShape") ",\"spec\":5}"), "spec"},
		{"text behind", LIST("") " x", "byte"},
		{"second value", LIST("") LIST(""), "byte"},
		{"comma at the end", LIST(HEAD("NodeShape") "},"), "byte"},
		{"no comma", LIST(HEAD("NodeShape") "}" HEAD("NodeShape") "}"), "byte"},
		{"brackets that do not match", LIST(HEAD("NodeShape") ",\"spec\":{]}"), "byte"},
	};
	struct place place;

	(void)state;
	place_init(&place);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = ERR_INIT;
		char text[700];

		test_row(rows[i].name);
		assert_refused(&place, rows[i].text, strlen(rows[i].text), strstarts(rows[i].says, "spec"), &err);
		err_text(&err, text, sizeof(text));
		if (!strstr(text, rows[i].says))
			fail_msg("\"%s\" does not say \"%s\"", text, rows[i].says);
		assert_non_null(strstr(text, place.path));
	}
	place_release(&place);
}

/* The fast way over histories must not mistake a file that somebody has broken into other lines. */
static void histories_on_many_lines_are_read(void **state)
{
	static const char file[] = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" HEAD(
		"MemoryHistory") ",\n\"spec\":{\"runs\":[{\"uid\":\"a\"},\n{\"uid\":\"b\"}]}},"
				 "\n" HEAD("MemoryHistory") "}\n," HEAD("MemoryProfile") ",\"sp"
											 "ec\":"
											 "{\"fl"
											 "oor\""
											 ":\"1G"
											 "i\"}}"
											 "\n]}";
	CLEANUP(store_closep) struct store *store = NULL;
	struct snapshot *snapshot = NULL;
	struct err err = ERR_INIT;
	struct place place;

	(void)state;
	place_init(&place);
	write_text(place.path, file, strlen(file));
	store = open_store(&place, false);
	if (load(store, &snapshot, &err))
		fail_msg("%s: %s", err.where, err.msg);
	assert_int_equal(snapshot_profile_count(snapshot), 1);
	assert_int_equal(snapshot_profile_by_name(snapshot, "", "a")->spec->floor_bytes, 1 << 30);
	snapshot_unref(snapshot);
	place_release(&place);
}

static void deep_nesting_is_refused(void **state)
{
	static char text[200000];
	struct err err = ERR_INIT;
	struct place place;
	int n;

	(void)state;
	place_init(&place);
	n = snprintf(text, sizeof(text),
		     "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" HEAD("NodeShape") ",\"x\":");
	memset(text + n, '[', sizeof(text) - (size_t)n - 1);
	assert_refused(&place, text, sizeof(text) - 1, false, &err);
	place_release(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(torn_file_is_refused_and_kept),
		cmocka_unit_test(foreign_file_is_refused_and_kept),
		cmocka_unit_test(histories_on_many_lines_are_read),
		cmocka_unit_test(deep_nesting_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
