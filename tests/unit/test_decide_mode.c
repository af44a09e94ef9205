/* SPDX-License-Identifier: Apache-2.0 */
/* The precedence of modes: decide() answers as each row of the table in docs/TRUST.md says. */
#include "decide_fixture.h"
#include "k8s/keys.h"

#include <stdio.h>

enum { CELL_BYTES = 24, LEAST_ROWS = 20 };

/* A row of the table; "" for an empty cell. */
struct row {
	char configured[CELL_BYTES], label[CELL_BYTES], annotation[CELL_BYTES], kind[CELL_BYTES], cap[CELL_BYTES],
		effective[CELL_BYTES];
};

static void read_cell(const char **text, char ret[CELL_BYTES])
{
	const char *end = strchr(*text + 1, '|');
	size_t n = 0;

	assert_non_null(end);
	for (const char *p = *text + 1; p < end; p++)
		if (*p != ' ' && *p != '`' && n < CELL_BYTES - 1)
			ret[n++] = *p;
	ret[n] = '\0';
	*text = end;
}

static void read_row(const char *line, struct row *ret)
{
	read_cell(&line, ret->configured);
	read_cell(&line, ret->label);
	read_cell(&line, ret->annotation);
	read_cell(&line, ret->kind);
	read_cell(&line, ret->cap);
	read_cell(&line, ret->effective);
	assert_string_equal(line, "|\n");
}

static struct snapshot *snapshot_of(const struct row *row)
{
	const struct namespace_facts facts = {.name = "team-a", .mode = row->label[0] ? row->label : NULL};
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct profile_spec spec = profile_spec_none;
	struct profile cap = {.namespace_name = "team-a",
			      .name = "memtamer-namespace",
			      .workload = "",
			      .role = "",
			      .container = "",
			      .spec = &spec};

	assert_non_null(builder);
	assert_int_equal(snapshot_builder_put_namespace(builder, &facts), 0);
	snprintf(spec.mode_cap, sizeof(spec.mode_cap), "%s", row->cap);
	if (row->cap[0])
		assert_int_equal(snapshot_builder_put(builder, profile_dup(&cap)), 0);
	return snapshot_builder_finish(builder, 0);
}

static void check_row(const struct row *row)
{
	bool is_bare = strcmp(row->kind, "bare") == 0;
	struct decide_fixture f;
	char pod[600];

	snprintf(pod, sizeof(pod),
		 "{\"metadata\":{\"name\":\"train-1\",\"labels\":{\"memtamer.io/training\":\"true\"},"
		 "\"annotations\":{\"%s\":\"%s\"}%s},\"spec\":{\"containers\":[{\"name\":\"main\"}]}}",
		 row->annotation[0] ? KEY_MODE : "other", row->annotation,
		 is_bare ? ""
			 : ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"train\","
			   "\"uid\":\"u\",\"controller\":true}]");
	assert_true(is_bare || strcmp(row->kind, "owned") == 0);
	fixture_init(&f, pod, snapshot_of(row));
	f.policy.mode = (enum mode)mode_parse(row->configured);
	fixture_decide(&f);
	if (strcmp(mode_names[f.decision.mode], row->effective) != 0)
		fail_msg("config %s, label %s, annotation %s, %s, modeCap %s: mode is %s, the table says %s",
			 row->configured, row->label, row->annotation, row->kind, row->cap, mode_names[f.decision.mode],
			 row->effective);
	fixture_release(&f);
}

static void test_modes_are_as_the_table_says(void **state)
{
	static const char head[] = "| config | namespace label | pod annotation | pod | modeCap | effective mode |\n";
	FILE *file = fopen(TEST_SOURCE_DIR "/../docs/TRUST.md", "re");
	bool is_found = false;
	char line[300];
	int n = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct row row;

		is_found |= strcmp(line, head) == 0;
		if (!is_found || line[0] != '|' || line[2] != '`') {
			if (n)
				break;
			continue;
		}
		read_row(line, &row);
		check_row(&row);
		n++;
	}
	fclose(file);
	assert_true(n >= LEAST_ROWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_modes_are_as_the_table_says)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
