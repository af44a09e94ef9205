/* SPDX-License-Identifier: Apache-2.0 */
/* golden_runner [--update | --untouched] FOLDER: run every case in FOLDER through decide() and render.
 *   (none)       the answer must equal expected.json; a patch must apply, and deciding again must change nothing
 *   --update     write expected.json (read every difference against docs before committing it)
 *   --untouched  no expected.json: nothing may be found, sized, warned about or patched */
#include "base/io.h"
#include "golden_case.h"
#include "json_patch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum mode_of_run { COMPARE, UPDATE, UNTOUCHED };

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

static int run_case(const char *folder, enum mode_of_run run)
{
	struct golden_case self;
	struct json_object *answer = NULL;
	int r = golden_load(folder, &self);

	if (!r) {
		answer = golden_answer(&self, self.object);
		r = answer ? check(&self, run, answer) : say(&self, "no answer", NULL);
	}
	json_object_put(answer);
	golden_release(&self);
	return r;
}

static int is_case(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	enum mode_of_run run = COMPARE;
	struct dirent **entries;
	int n, failed = 0;

	if (argc == 3)
		run = strcmp(argv[1], "--update") == 0 ? UPDATE : UNTOUCHED;
	n = argc < 2 ? -1 : scandir(argv[argc - 1], &entries, is_case, alphasort);
	if (n <= 0) {
		fprintf(stderr, "golden_runner: no cases\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		char folder[1024];

		snprintf(folder, sizeof(folder), "%s/%s", argv[argc - 1], entries[i]->d_name);
		failed += run_case(folder, run) != 0;
		free(entries[i]);
	}
	free(entries);
	printf("%d cases, %d failed\n", n, failed);
	return failed ? 1 : 0;
}
