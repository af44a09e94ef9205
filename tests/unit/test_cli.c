/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/strbuf.h"
#include "cli/cli.h"
#include "cli/cli_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int show_run(const struct cli_args *args)
{
	printf("config=%s output=%s quiet=%d", cli_get(args, "config") ? cli_get(args, "config") : "-",
	       cli_get(args, "output"), cli_has(args, "quiet"));
	for (size_t i = 0; cli_list(args, "set", i); i++)
		printf(" set=%s", cli_list(args, "set", i));
	for (size_t i = 0; i < args->n_operands; i++)
		printf(" [%s]", args->operands[i]);
	return EXIT_FINDINGS;
}

static int globals_run(const struct cli_args *args)
{
	printf("globals config=%s", cli_get(args, "config"));
	return EXIT_CLEAN;
}

static const struct cli_option show_options[] = {
	{"config", 'c', CLI_STRING, "FILE", "the configuration", NULL},
	{"output", 'o', CLI_STRING, "text|json", "how to print", "text"},
	{"quiet", 'q', CLI_FLAG, NULL, "say less", NULL},
	{"verbose", 'v', CLI_FLAG, NULL, "say more, in words that are so many that they do not fit into a line of help",
	 NULL},
	{"set", 's', CLI_LIST, "KEY=VALUE", "set a key", NULL},
	{0},
};
static const struct cli_option globals[] = {{"config", 'c', CLI_STRING, "FILE", "the configuration", NULL}, {0}};
static const struct cli_command commands[] = {
	{"show", "[FILE...]", "Show things.\nAt length.", "-q a.yaml", show_options, show_run},
	{"must", "FILE...", "Needs a file.", NULL, NULL, show_run},
	{"one", "FILE", "Needs one file.", NULL, show_options, show_run},
	{"none", NULL, "Takes nothing.", NULL, NULL, show_run},
	{0},
};
static const struct cli_program program = {"prog", "A program.", commands, globals, globals_run};

/* Run the program with standard output and error in files; the caller compares them. */
static int run(const char *line, struct strbuf *out, struct strbuf *err)
{
	char words[256], *argv[16];
	int argc = 0, saved[2] = {dup(1), dup(2)}, code;
	FILE *files[2] = {tmpfile(), tmpfile()};
	struct strbuf *bufs[2] = {out, err};

	snprintf(words, sizeof(words), "%s", line);
	for (char *at = strtok(words, " "); at; at = strtok(NULL, " "))
		argv[argc++] = streq(at, "''") ? at + 2 : at;
	argv[argc] = NULL;
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		dup2(fileno(files[i]), i + 1);
	code = cli_main(&program, argc, argv);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		char block[4096];
		size_t n;

		dup2(saved[i], i + 1);
		close(saved[i]);
		rewind(files[i]);
		while ((n = fread(block, 1, sizeof(block), files[i])) > 0)
			strbuf_add(bufs[i], block, n);
		fclose(files[i]);
	}
	return code;
}

static void accepted_rows(void **state)
{
	static const struct {
		const char *name, *line;
		int code;
		const char *out;
	} rows[] = {
		{"defaults", "prog show", 1, "config=- output=text quiet=0"},
		{"separate value", "prog show --config a", 1, "config=a output=text quiet=0"},
		{"attached value", "prog show --config=a=b", 1, "config=a=b output=text quiet=0"},
		{"empty value", "prog show --config=", 1, "config= output=text quiet=0"},
		{"letter", "prog show -o json", 1, "config=- output=json quiet=0"},
		{"letter with value", "prog show -ojson", 1, "config=- output=json quiet=0"},
		{"flags together, then a value", "prog show -qvca", 1, "config=a output=text quiet=1"},
		{"operands between options", "prog show x -q y", 1, "config=- output=text quiet=1 [x] [y]"},
		{"double dash", "prog show -q -- -o --config", 1, "config=- output=text quiet=1 [-o] [--config]"},
		{"single dash is an operand", "prog show -", 1, "config=- output=text quiet=0 [-]"},
		{"a value may start with a dash", "prog show --config -q", 1, "config=-q output=text quiet=0"},
		{"list", "prog show --set a -s b", 1, "config=- output=text quiet=0 set=a set=b"},
		{"globals", "prog --config a", 0, "globals config=a"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * 1024);
		CLEANUP(strbuf_release) struct strbuf err = STRBUF_INIT(64 * 1024);

		test_row(rows[i].name);
		assert_int_equal(run(rows[i].line, &out, &err), rows[i].code);
		assert_string_equal(strbuf_text(&out), rows[i].out);
		assert_string_equal(strbuf_text(&err), "");
	}
}

static void refused_rows(void **state)
{
	static const struct {
		const char *name, *line, *err;
	} rows[] = {
		{"unknown option", "prog show --confg a",
		 "prog show: unknown option --confg; did you mean --config?\n"},
		{"unknown option, nothing near", "prog show --zzzzzz", "prog show: unknown option --zzzzzz\n"},
		{"unknown letter", "prog show -x", "prog show: unknown option -x\n"},
		{"twice", "prog show --config a -c b", "prog show: option --config is given twice\n"},
		{"flag twice", "prog show -qq", "prog show: option --quiet is given twice\n"},
		{"no value", "prog show --config", "prog show: option --config needs a value: FILE\n"},
		{"value for a flag", "prog show --quiet=1", "prog show: option --quiet takes no value\n"},
		{"not a choice", "prog show -o yaml", "prog show: option --output is one of text|json, not \"yaml\"\n"},
		{"prefix of a choice", "prog show -o tex",
		 "prog show: option --output is one of text|json, not \"tex\"\n"},
		{"empty choice", "prog show --output=", "prog show: option --output is one of text|json, not \"\"\n"},
		{"operand missing", "prog must", "prog must: missing operand: FILE...\n"},
		{"operand too many", "prog none a", "prog none: unexpected operand \"a\"\n"},
		{"second operand", "prog one a -q b", "prog one: unexpected operand \"b\"\n"},
		{"unknown command", "prog shwo", "prog: unknown command \"shwo\"; did you mean show?\n"},
		{"command behind options", "prog --config a show",
		 "prog: the command comes first: prog show [OPTIONS]\n"},
		{"unknown command behind options", "prog -c a zzz", "prog: unknown command \"zzz\"\n"},
		{"help of an unknown command", "prog help nope",
		 "prog: unknown command \"nope\"; did you mean none?\n"},
		{"completion without a shell", "prog completion", "prog completion: missing operand: bash\n"},
		{"completion of another shell", "prog completion fish",
		 "prog completion: there is a script for bash only, not for fish\n"},
		{"unknown global", "prog --versoin", "prog: unknown option --versoin; did you mean --version?\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * 1024);
		CLEANUP(strbuf_release) struct strbuf err = STRBUF_INIT(64 * 1024);
		size_t n = strlen(rows[i].err);

		test_row(rows[i].name);
		assert_int_equal(run(rows[i].line, &out, &err), EXIT_USAGE);
		assert_string_equal(strbuf_text(&out), "");
		assert_true(err.len >= n);
		assert_memory_equal(strbuf_text(&err), rows[i].err, n);
		assert_non_null(strstr(strbuf_text(&err), "--help'."));
	}
}

static void help_is_made_of_the_tables(void **state)
{
	static const char *const lines[] = {"prog show --help", "prog show -h", "prog help show"};
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(64 * 1024);
	CLEANUP(strbuf_release) struct strbuf err = STRBUF_INIT(64 * 1024);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * 1024);

		test_row(lines[i]);
		assert_int_equal(run(lines[i], &out, &err), 0);
		if (i == 0)
			strbuf_adds(&first, strbuf_text(&out));
		assert_string_equal(strbuf_text(&out), strbuf_text(&first));
	}
	assert_string_equal(strbuf_text(&err), "");
	assert_non_null(strstr(strbuf_text(&first), "Usage: prog show [OPTIONS] [FILE...]\n"));
	assert_non_null(strstr(strbuf_text(&first), "  -o, --output text|json  how to print (default: text)\n"));
	assert_non_null(strstr(strbuf_text(&first), "set a key; can be repeated\n"));
	assert_non_null(strstr(strbuf_text(&first), "\n\nExample:\n  prog show -q a.yaml\n"));
}

static void help_wraps(void **state)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * 1024);
	CLEANUP(strbuf_release) struct strbuf err = STRBUF_INIT(64 * 1024);
	size_t longest = 0;

	(void)state;
	assert_int_equal(run("prog show --help", &out, &err), 0);
	for (const char *at = strbuf_text(&out); *at; at += strcspn(at, "\n") + 1)
		longest = MAX(longest, strcspn(at, "\n"));
	assert_in_range(longest, 60, 80);
}

static void program_help_lists_commands(void **state)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * 1024);
	CLEANUP(strbuf_release) struct strbuf err = STRBUF_INIT(64 * 1024);
	CLEANUP(strbuf_release) struct strbuf version = STRBUF_INIT(1024);

	(void)state;
	assert_int_equal(run("prog --help", &out, &err), 0);
	assert_non_null(strstr(strbuf_text(&out), "  show                    Show things.\n"));
	assert_null(strstr(strbuf_text(&out), "At length"));
	strbuf_clear(&out);
	assert_int_equal(run("prog --version", &out, &err), 0);
	assert_memory_equal(strbuf_text(&out), "prog ", 5);
	assert_true(out.len > 6);
	assert_int_equal(run("prog version", &version, &err), 0);
	assert_string_equal(strbuf_text(&version), strbuf_text(&out));
	strbuf_clear(&out);
	assert_int_equal(run("prog", &out, &err), EXIT_USAGE);
	assert_int_equal(out.len, 0);
	assert_non_null(strstr(strbuf_text(&err), "Commands:"));
}

static void completions(void **state)
{
	static const struct {
		const char *line, *out;
	} rows[] = {
		{"prog __complete ''", "show\nmust\none\nnone\ncompletion\nhelp\nversion\n"},
		{"prog __complete s", "show\n"},
		{"prog __complete --c", "--config\n"},
		{"prog __complete --config ''", ""},
		{"prog __complete help o", "one\n"},
		{"prog __complete completion ''", "bash\n"},
		{"prog __complete nothing ''", ""},
		{"prog __complete", ""},
		{"prog __complete show a", ""},
		{"prog __complete show -", "--config\n--output\n--quiet\n--verbose\n--set\n--help\n"},
		{"prog __complete show x --q", "--quiet\n"},
		{"prog __complete show --quiet --q", "--quiet\n"},
		{"prog __complete show -o ''", "text\njson\n"},
		{"prog __complete show --output j", "json\n"},
		{"prog __complete show --output x", ""},
		{"prog __complete show --output=t", "--output=text\n"},
		{"prog __complete show --config=t", ""},
		{"prog __complete show --output =", "text\njson\n"}, /* as bash splits words */
		{"prog __complete show --output = t", "text\n"},
		{"prog __complete none --", "--help\n"},
		{"dir/kubectl_complete-prog show -o j", "json\n"},
		{"dir/kubectl_complete-prog mu", "must\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * 1024);
		CLEANUP(strbuf_release) struct strbuf err = STRBUF_INIT(64 * 1024);

		test_row(rows[i].line);
		assert_int_equal(run(rows[i].line, &out, &err), EXIT_CLEAN);
		assert_string_equal(strbuf_text(&out), rows[i].out);
		assert_string_equal(strbuf_text(&err), "");
	}
}

static void a_full_disk_is_said(void **state)
{
	char *argv[] = {(char[]){"prog"}, (char[]){"--help"}, NULL};
	FILE *full = fopen("/dev/full", "w");
	int saved = dup(1), code;

	(void)state;
	assert_non_null(full);
	fflush(stdout);
	dup2(fileno(full), 1);
	code = cli_main(&program, 2, argv);
	dup2(saved, 1);
	close(saved);
	fclose(full);
	clearerr(stdout);
	assert_int_equal(code, EXIT_DEPENDENCY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted_rows),
		cmocka_unit_test(refused_rows),
		cmocka_unit_test(help_is_made_of_the_tables),
		cmocka_unit_test(help_wraps),
		cmocka_unit_test(program_help_lists_commands),
		cmocka_unit_test(completions),
		cmocka_unit_test(a_full_disk_is_said),
	};

	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
