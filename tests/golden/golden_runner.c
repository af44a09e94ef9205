/* SPDX-License-Identifier: Apache-2.0 */
/* golden_runner [--all-checks | --update | --untouched] FOLDER: run every case in FOLDER through decide() and render.
 *   (none)       the answer must equal expected.json; a patch must apply, and deciding again must change nothing; all
 *                warnings must be those of FOLDER/../warnings.txt
 *   --all-checks the same, and every check must have fired in some case and kept quiet in another
 *   --update     write expected.json and warnings.txt (read every difference against docs before committing it)
 *   --untouched  no expected.json: nothing may be found, sized, warned about or patched */
#include "base/io.h"
#include "golden_case.h"
#include "golden_lines.h"
#include "json_patch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum mode_of_run { COMPARE, ALL_CHECKS, UPDATE, UNTOUCHED };
static const char *const options[] = {"", "--all-checks", "--update", "--untouched"};

static const int pretty = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;

static int say(const struct golden_case *self, const char *what, struct json_object *got)
{
	fprintf(stderr, "%s: %s\n", self->folder, what);
	if (got)
		fprintf(stderr, "got: %s\n", json_object_to_json_string_ext(got, pretty));
	return -1;
}

static bool is_empty(struct json_object *answer, const char *key)
{
	return json_object_array_length(json_member(answer, key)) == 0;
}

/* Applied to the pod, the patch must go in, and the next replica must find nothing left to do. */
static int check_fixed_point(struct golden_case *self, struct json_object *answer)
{
	struct json_object *patched = NULL, *again;
	int r = 0;

	if (json_member(answer, "templates") || is_empty(answer, "patch"))
		return 0;
	if (json_object_deep_copy(self->object, &patched, NULL))
		return -1;
	if (json_patch_apply(patched, json_member(answer, "patch"))) {
		json_object_put(patched);
		return say(self, "the patch does not apply", answer);
	}
	again = golden_answer(self, patched);
	if (!again || !is_empty(again, "patch") || !is_empty(again, "sizes"))
		r = say(self, "deciding about the patched pod changes it again", again);
	json_object_put(again);
	json_object_put(patched);
	return r;
}

static int check_untouched(struct golden_case *self, struct json_object *answer)
{
	struct json_object *templates = json_member(answer, "templates");

	for (size_t i = 0; templates && i < json_object_array_length(templates); i++)
		if (check_untouched(self, json_object_array_get_idx(templates, i)))
			return -1;
	if (templates)
		return 0;
	if (!json_member(answer, "skip") || !is_empty(answer, "findings") || !is_empty(answer, "sizes") ||
	    !is_empty(answer, "warnings") || !is_empty(answer, "patch"))
		return say(self, "touched, but it is no training pod", answer);
	return 0;
}

static int update(struct golden_case *self, struct json_object *answer)
{
	const char *text = json_object_to_json_string_ext(answer, pretty);
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	char path[1024];

	strbuf_adds(&line, text);
	strbuf_adds(&line, "\n");
	snprintf(path, sizeof(path), "%s/expected.json", self->folder);
	return io_write_file_atomic(path, strbuf_text(&line), line.len, 0644, NULL) ? say(self, "cannot write", NULL)
										    : 0;
}

static int check(struct golden_case *self, enum mode_of_run run, struct json_object *answer)
{
	if (run == UNTOUCHED)
		return check_untouched(self, answer);
	if (run == UPDATE)
		return update(self, answer);
	if (!self->expected)
		return say(self, "no expected.json", answer);
	if (!json_object_equal(self->expected, answer))
		return say(self, "differs from expected.json", answer);
	return check_fixed_point(self, answer);
}

/* How many of the cases each check fired in. */
static void count_checks(struct json_object *answer, int counts[CHECK_COUNT_])
{
	struct json_object *templates = json_member(answer, "templates"), *findings = json_member(answer, "findings");
	bool is_seen[CHECK_COUNT_] = {false};

	for (size_t i = 0; templates && i < json_object_array_length(templates); i++)
		count_checks(json_object_array_get_idx(templates, i), counts);
	for (size_t i = 0; findings && i < json_object_array_length(findings); i++) {
		struct json_object *finding = json_object_array_get_idx(findings, i);
		int check = check_parse(json_object_get_string(json_member(finding, "check")));

		counts[check] += !is_seen[check];
		is_seen[check] = true;
	}
}

static int check_counts(const int counts[CHECK_COUNT_], int n)
{
	int failed = 0;

	for (int i = 0; i < CHECK_COUNT_; i++)
		if (counts[i] == 0 || counts[i] >= n) {
			fprintf(stderr, "check %s fired in %d of %d cases\n", check_table[i].name, counts[i], n);
			failed++;
		}
	return failed;
}

static int run_case(const char *folder, enum mode_of_run run, struct golden_lines *lines, int counts[CHECK_COUNT_])
{
	struct golden_case self;
	struct json_object *answer = NULL;
	int r = golden_load(folder, &self);

	if (!r) {
		self.lines = lines;
		answer = golden_answer(&self, self.object);
		self.lines = NULL;
		r = answer ? check(&self, run, answer) : say(&self, "no answer", NULL);
	}
	count_checks(answer, counts);
	json_object_put(answer);
	golden_release(&self);
	return r;
}

static int is_case(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int check_lines(const char *folder, enum mode_of_run run, struct golden_lines *lines)
{
	char path[1024];

	if (run == UNTOUCHED)
		return 0;
	snprintf(path, sizeof(path), "%s/../warnings.txt", folder);
	return golden_lines_check(lines, path, run == UPDATE);
}

int main(int argc, char **argv)
{
	CLEANUP(golden_lines_release) struct golden_lines lines = {0};
	enum mode_of_run run = COMPARE;
	struct dirent **entries;
	int counts[CHECK_COUNT_] = {0};
	int n, failed = 0;

	for (size_t i = 0; argc == 3 && i < ARRAY_LEN(options); i++)
		if (streq(argv[1], options[i]))
			run = (enum mode_of_run)i;
	n = argc < 2 ? -1 : scandir(argv[argc - 1], &entries, is_case, alphasort);
	if (n <= 0) {
		fprintf(stderr, "golden_runner: no cases\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		char folder[1024];

		snprintf(folder, sizeof(folder), "%s/%s", argv[argc - 1], entries[i]->d_name);
		failed += run_case(folder, run, &lines, counts) != 0;
		free(entries[i]);
	}
	free(entries);
	failed += check_lines(argv[argc - 1], run, &lines) != 0;
	if (run == ALL_CHECKS)
		failed += check_counts(counts, n);
	printf("%d cases, %d failed\n", n, failed);
	return failed ? 1 : 0;
}
