/* SPDX-License-Identifier: Apache-2.0 */
/* Logs as lines: their ends, encodings and lengths; the search for words; rank and message of a line. */
#include "support/test.h"

#include "triage/line.h"
#include "triage/lines.h"
#include "triage/scan.h"
#include "triage/signals.h"
#include "triage_fixture.h"

#include <ctype.h>
#include <stdlib.h>

struct seen {
	char text[1024];
	size_t n, longest;
	uint64_t number;
};

static void see(void *context, const struct raw_line *line)
{
	struct seen *seen = context;
	size_t used = strlen(seen->text);

	if (line->is_last)
		return;
	seen->n++;
	seen->number = line->number;
	seen->longest = MAX(seen->longest, line->text.n);
	snprintf(seen->text + used, sizeof(seen->text) - used, "%llu:%.*s;", (unsigned long long)line->number,
		 (int)MIN(line->text.n, (size_t)100), line->text.p);
}

static void lines_end_and_are_counted(void **state)
{
	static const struct {
		const char *name, *bytes;
		size_t n;
		const char *want;
	} rows[] = {
		{"empty", "", 0, ""},
		{"one without an end", "a", 1, "1:a;"},
		{"newlines", "a\n\nb\n", 5, "1:a;3:b;"},
		{"carriage returns", "1%\r2%\r3%\nx\r\ny", 14, "1:1%;1:2%;1:3%;2:x;3:y;"},
		{"UTF-8 mark",
		 "\xef\xbb\xbf"
		 "a\n",
		 5, "1:a;"},
		{"UTF-16 little",
		 "\xff\xfe"
		 "a\0b\0\n\0\xe4\0",
		 10, "1:ab;2:\xc3\xa4;"},
		{"UTF-16 big", "\xfe\xff\0a\0\n\xd8\x3d\xde\x00", 10, "1:a;2:\xf0\x9f\x98\x80;"},
		{"UTF-16 cut",
		 "\xff\xfe"
		 "a\0b",
		 5, "1:a;"},
		{"UTF-16 little, without a mark", "s\0t\0e\0p\0\n\0\xe4\0", 12, "1:step;2:\xc3\xa4;"},
		{"UTF-16 big, without a mark", "\0s\0t\0e\0p\0\n", 10, "1:step;"},
		{"three pairs prove nothing", "s\0t\0e\0", 6, "1:s;"},
		{"UTF-16 half of a pair",
		 "\xff\xfe\x3d\xd8"
		 "a\0",
		 6, "1:?a;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct seen seen = {.n = 0};
		struct lines_result result;

		assert_int_equal(lines_read_bytes(rows[i].bytes, rows[i].n, see, &seen, &result), 0);
		if (strcmp(seen.text, rows[i].want) != 0)
			fail_msg("%s: %s", rows[i].name, seen.text);
		assert_int_equal(result.n_bytes, rows[i].n);
	}
}

static void other_forms_are_told(void **state)
{
#define BYTES(text) (text), sizeof(text) - 1
	static const struct {
		const char *name, *bytes;
		size_t n;
		const char *packer;
		bool is_binary;
		size_t n_lines;
	} rows[] = {
		{"xz",
		 BYTES("\xfd"
		       "7zXZ\0\0\4\n\n"),
		 "xz", false, 0},
		{"bzip2", BYTES("BZh91AY&SY\n\n"), "bzip2", false, 0},
		{"zip", BYTES("PK\3\4\24\0\n\n"), "zip", false, 0},
		{"lz4", BYTES("\x04\x22\x4d\x18\n\n"), "lz4", false, 0},
		{"7z", BYTES("7z\xbc\xaf\x27\x1c\n\n"), "7z", false, 0},
		{"a line about it", BYTES("BZh9 is how bzip2 begins\n"), NULL, false, 1},
		{"noise",
		 BYTES("\x80\x03\x02}q\x00(X\x05\x00\x00\x00"
		       "abcdefghijklmnopqrstuvwxyz\nstep 1\n"),
		 NULL, true, 2},
		{"few bytes", BYTES("\x80\x03\x02}q\x00(\n"), NULL, false, 1},
		{"colours and a bar", BYTES("\x1b[32mINFO\x1b[0m 10%\r\x1b[32m20%\x1b[0m\b\b\b\t30%\r40%\r\n"), NULL,
		 false, 3},
		{"Latin-1",
		 BYTES("Fehler: zu wenig Speicher f\xfcr 3 Bl\xf6"
		       "cke, \xe4\xf6\xfc\n"),
		 NULL, false, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct seen seen = {.n = 0};
		struct lines_result result;

		test_row(rows[i].name);
		assert_int_equal(lines_read_bytes(rows[i].bytes, rows[i].n, see, &seen, &result), 0);
		assert_string_equal(result.packer ? result.packer : "", rows[i].packer ? rows[i].packer : "");
		assert_int_equal(result.is_binary, rows[i].is_binary);
		assert_int_equal(seen.n, rows[i].n_lines);
		assert_int_equal(result.n_bytes, rows[i].n);
	}
}

static void long_lines_come_in_pieces(void **state)
{
	size_t n = 3 * LIMIT_TRIAGE_LINE_BYTES + 10;
	char *bytes = malloc(n);
	struct seen seen = {.n = 0};
	struct lines_result result;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'x', n);
	bytes[n - 2] = '\n';
	assert_int_equal(lines_read_bytes(bytes, n, see, &seen, &result), 0);
	assert_int_equal(seen.n, 5);
	assert_int_equal(seen.number, 2);
	assert_int_equal(seen.longest, LIMIT_TRIAGE_LINE_BYTES);
	free(bytes);
}

static void words_are_found(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} rows[] = {
		{"", 0},
		{"out", 0},
		{"CUDA OUT OF memory.", 1},
		{"xout of memoryx", 1},
		{"out of memor", 0},
		{"Xid (PCI", 2},
		{"one step and xid (", 6},
		{"STEP", 4},
		{"stexstep", 4},
		{"ssstteepstep", 4},
		{"errno 12] step", 12},
		{"out of out of memory", 1},
		{"aaaaaaaaaaaaaaaaaaaxid (", 2},
		{"row remap", 2},
		{"ow remap", 0},
		{"row remaprow rema", 2},
		{"remap", 0},
		{"no 12] errno 12", 0},
	};
	struct scanner *scanner = malloc(sizeof(*scanner));

	(void)state;
	assert_non_null(scanner);
	scanner_init(scanner);
	scanner_add(scanner, "out of memory", 0);
	scanner_add(scanner, "xid (|row remap", 1);
	scanner_add(scanner, "step", 2);
	scanner_add(scanner, "errno 12]", 3);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct scan_set set = {{0}};

		assert_int_equal(scanner_find(scanner, str_c(rows[i].text), &set), rows[i].want != 0);
		if (set.bits[0] != rows[i].want)
			fail_msg("%s: %llx", rows[i].text, (unsigned long long)set.bits[0]);
	}
	free(scanner);
}

/* Words about exit codes count only with a code that a signal asks for, or where it cannot be seen. */
static void codes_guard_their_words(void **state)
{
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
		{"exit code 1", false},
		{"exit code 137", true},
		{"Exit Code:    139", true},
		{"exitcode: -9", true},
		{"\"ExitCode\" : 137", true},
		{"exit_code=`135`", true},
		{"exit code", false},
		{"exit code was 137", false},
		{"exit code\t143", true},
		{"exit code\001137", true},
		{"exit code 0", true},
		{"exit code 1370", false},
		{"exit code 1, exit code -7", true},
		{"exit status 2", false},
		{"step, exit code 1", false},
		{"exit code 99999999999137", false},
		{"exit code \xe2\x80\x94 137", true},
	};
	struct scanner *scanner = malloc(sizeof(*scanner));

	(void)state;
	assert_non_null(scanner);
	scanner_init(scanner);
	scanner_add(scanner, EXIT_CODE_WORDS, 0);
	scanner_add(scanner, "exited with exit code|step", 1);
	scanner_set_guard(scanner, EXIT_CODE_WORDS, is_exit_code_next);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct scan_set set = {{0}};

		scanner_find(scanner, str_c(rows[i].text), &set);
		if (scan_set_has(&set, 0) != rows[i].want)
			fail_msg("%s", rows[i].text);
		assert_int_equal(scan_set_next(&set, 0), set.bits[0] ? (set.bits[0] & 1 ? 0 : 1) : SCAN_VALUES_MAX);
	}
	free(scanner);
}

/* The words of a signal in `text` by a plain search. */
static bool has_word(const char *text, const char *words)
{
	char word[96];

	for (size_t n; *words; words += n + (words[n] == '|')) {
		n = strcspn(words, "|");
		snprintf(word, sizeof(word), "%.*s", (int)n, words);
		if (strcasestr(text, word))
			return true;
	}
	return false;
}

/* Signals that are in no log have no words: here they get one, so that all numbers are searched for. */
static const char *words_of(unsigned int signal)
{
	return signals[signal].words ? signals[signal].words : "in no log";
}

/* A text made of pieces of the table's own words, so that words begin, overlap and break off everywhere. */
static void make_text(uint32_t *seed, char *buf, size_t size)
{
	size_t used = 0;

	while (used + 40 < size) {
		const char *words;
		size_t n, from;

		*seed = *seed * 1664525 + 1013904223;
		words = words_of((*seed >> 8) % SIGNAL_COUNT_);
		from = (*seed >> 16) % strlen(words);
		n = MIN(strcspn(words + from, "|"), 1 + (*seed >> 20) % 39);
		for (size_t i = 0; i < n; i++)
			buf[used++] = (char)(*seed >> i % 24 & 1 ? toupper((unsigned char)words[from + i])
								 : words[from + i]);
	}
	buf[used] = '\0';
}

static void the_search_finds_what_a_plain_one_finds(void **state)
{
	struct scanner *scanner = malloc(sizeof(*scanner));
	uint32_t seed = 1;
	size_t n_found = 0;
	char text[400];

	(void)state;
	assert_non_null(scanner);
	scanner_init(scanner);
	for (unsigned int i = 0; i < SIGNAL_COUNT_; i++)
		scanner_add(scanner, words_of(i), i);
	for (int round = 0; round < 2000; round++) {
		struct scan_set set = {{0}};

		make_text(&seed, text, sizeof(text));
		scanner_find(scanner, str_c(text), &set);
		for (unsigned int i = 0; i < SIGNAL_COUNT_; i++) {
			n_found += scan_set_has(&set, i);
			if (scan_set_has(&set, i) != has_word(text, words_of(i)))
				fail_msg("%s in %s", signals[i].name, text);
		}
	}
	assert_in_range(n_found, 2000, 2000 * SIGNAL_COUNT_ / 2);
	free(scanner);
}

static void ranks_and_messages_are_found(void **state)
{
	static const struct {
		const char *raw;
		int rank;
		const char *body;
	} rows[] = {
		{"plain", RANK_NONE, "plain"},
		{"[rank3]: boom", 3, "boom"},
		{"[rank12]:[E1102 22:05:26 x.cpp:1] boom", 12, "boom"},
		{"[3]: boom", 3, "boom"},
		{"3: boom", 3, "boom"},
		{"[TRT] [E] 2: [virtualMemoryBuffer.cpp::resizePhysical::145] boom", RANK_NONE,
		 "2: [virtualMemoryBuffer.cpp::resizePhysical::145] boom"},
		{"2: [info] boom", 2, "boom"},
		{"12 monkeys", RANK_NONE, "12 monkeys"},
		{"[default7]:boom", 7, "boom"},
		{"[1,5]<stderr>:boom", 5, "boom"},
		{"[pod/train-worker-3/pytorch] boom", 3, "boom"},
		{"train-worker-2: boom", 2, "boom"},
		{"2024-01-02T03:04:05.678Z stderr F boom", RANK_NONE, "F boom"},
		{"2024-01-02 03:04:05,678 - ERROR - boom", RANK_NONE, "boom"},
		{"[  123.456789] boom", RANK_NONE, "boom"},
		{"\x1b[31m[rank1]: bo\x1b[0mom", 1, "boom"},
		{"\x1b]0;title\aboom", RANK_NONE, "boom"},
		{"a\x01"
		 "b\xff"
		 "c",
		 RANK_NONE, "a b?c"},
	};
	struct line_buffer *buffer = calloc(1, sizeof(*buffer));

	(void)state;
	assert_non_null(buffer);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line line;

		line_make(str_c(rows[i].raw), 1, buffer, &line);
		if (line.rank != rows[i].rank || strcmp(line.text + line.body, rows[i].body) != 0)
			fail_msg("%s: rank %d, \"%s\"", rows[i].raw, line.rank, line.text + line.body);
	}
	free(buffer);
}

static void ranks_of_names(void **state)
{
	static const struct {
		const char *name;
		int want;
	} rows[] = {
		{"rank3.log", 3},
		{"logs/rank_12.txt", 12},
		{"job-worker-3.log", 3},
		{"worker7", 7},
		{"train.log", RANK_NONE},
		{"x/attempt_0/3/stderr.log", 3},
		{"bert-master-0.log", 0},
		{"ranking.log", RANK_NONE},
		{"worker-1/rank5.log", 5},
		{"run-99999999999999999999", RANK_NONE},
		{"bert-master-01", RANK_NONE},
	};
	static const struct {
		const char *name;
		int want;
	} beside_master[] = {
		{"bert-master-0.log", 0}, {"bert-worker-0.log", 1}, {"bert-worker-2", 3}, {"rank2.log", 2}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rank_of_name(rows[i].name, false) != rows[i].want)
			fail_msg("%s: %d", rows[i].name, rank_of_name(rows[i].name, false));
	for (size_t i = 0; i < ARRAY_LEN(beside_master); i++)
		if (rank_of_name(beside_master[i].name, true) != beside_master[i].want)
			fail_msg("%s: %d", beside_master[i].name, rank_of_name(beside_master[i].name, true));
}

/* Pods of one job before the lines of one log, and logs of pods: the master's name changes the ranks of workers. */
static void a_master_ranks_the_workers(void **state)
{
	static const char oom[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
	struct triage *triage = begin();
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "[pod/bert-master-0/pytorch] step 1\n[pod/bert-worker-0/pytorch] %s", oom);
	read_text(triage, "all.log", INPUT_LOG, text);
	triage_decide(triage);
	assert_int_equal(triage->verdict.rank, 1);
	end(triage);
	triage = begin();
	facts_expect(&triage->facts, "bert-worker-1.log");
	facts_expect(&triage->facts, "bert-master-0.log");
	read_text(triage, "bert-worker-1.log", INPUT_LOG, oom);
	triage_decide(triage);
	assert_int_equal(triage->verdict.rank, 2);
	end(triage);
}

#define TEN(text) text text text text text text text text text text

/* What is quoted of a long line has the words of its signal, whole characters, and marks where it is cut. */
static void excerpts_have_the_words(void **state)
{
	static const struct {
		const char *name, *text, *words, *want;
		size_t room;
	} rows[] = {
		{"short", "an OOM", "oom", "an OOM", 20},
		{"words near the beginning", "an OOM and much more behind", "oom", "an OOM and much more...", 20},
		{"words behind", TEN("0123456789") " Out Of Memory " TEN("abcdefghij"), "no such|out of memory",
		 "...23456789 Out Of Memory abcd...", 27},
		{"words at the end", TEN("0123456789") "an OOM", "oom", "...67890123456789an OOM", 20},
		{"no words", TEN("0123456789"), NULL, "01234567890123456789...", 20},
		{"words that are not there", TEN("0123456789"), "oom", "01234567890123456789...", 20},
		{"whole characters", TEN("\xc3\xa4") " OOM " TEN("\xc3\xa4"), "oom", "...\xc3\xa4 OOM \xc3\xa4...", 10},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char part[128];

		test_row(rows[i].name);
		text_excerpt(rows[i].text, rows[i].words, rows[i].room, part, sizeof(part));
		assert_string_equal(part, rows[i].want);
	}
}

/* The text shows less of a line than a fact has. */
static void the_text_quotes_the_words(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);
	struct triage *triage = decide(
		"a.log", INPUT_LOG,
		TEN("worker said a lot of other things ") " torch.OutOfMemoryError: CUDA out of "
							  "memory. Tried to allocate 2.00 GiB.\n");

	(void)state;
	assert_int_equal(triage_text(triage, &text), 0);
	assert_non_null(strstr(strbuf_text(&text), "CUDA out of memory. Tried to allocate 2.00 GiB."));
	end(triage);
}

static void sizes_are_read(void **state)
{
	static const struct {
		const char *text;
		bool is_plain_allowed;
		int64_t want; /* -1: no size */
	} rows[] = {
		{"12.50 MiB", false, 13107200},
		{"0 bytes", false, 0},
		{"1 byte", false, 1},
		{"1048576kB", false, 1073741824},
		{"372.76MiB", false, 390867190},
		{"17.54G hbm", false, 18833431593},
		{"1.00 GiBis free", false, 1073741824},
		{"20.81 GiB.", false, 22344567357},
		{"7406166528 bytes", false, 7406166528},
		{"20029400304", true, 20029400304},
		{"20029400304", false, -1},
		{"1,073,741,824 bytes", false, 1073741824},
		{"12,288 MiB", false, 12884901888},
		{"1,23 bytes", false, -1},
		{"1234,567 bytes", false, -1},
		{"16,112", false, -1},
		{"12 minutes", false, -1},
		{"12 bad", false, -1},
		{"GiB", false, -1},
		{"17179869184.00 GiB", false, INT64_MAX},
		{"99999999999999999999999999 GiB", false, -1},
		{"99999999999999999999999 TiB", false, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t value = -1;

		text_size(rows[i].text, rows[i].is_plain_allowed, &value);
		if (value != rows[i].want)
			fail_msg("%s: %lld", rows[i].text, (long long)value);
	}
}

/* A line in focus is searched with the same result, from its beginning and from within. */
static void focus_changes_nothing(void **state)
{
	static const char *const lists[] = {
		"", "|", "a", "x|e", "zz||step", "exit code|exitcode", "no such word|memory"};
	struct line_buffer *buffer = calloc(1, sizeof(*buffer));
	char text[2048], copy[97];
	uint32_t seed = 7;

	(void)state;
	assert_non_null(buffer);
	for (int round = 0; round < 300; round++) {
		struct line line;

		make_text(&seed, text, 1 + seed % (sizeof(text) - 1));
		line_make(str_c(text), 1, buffer, &line);
		for (unsigned int i = 0; i < SIGNAL_COUNT_ + ARRAY_LEN(lists); i++) {
			const char *words = i < SIGNAL_COUNT_ ? words_of(i) : lists[i - SIGNAL_COUNT_];
			const char *from = line.lower + (seed >> 8) % (line.n + 1), *all, *part;
			bool is_before;

			all = text_find(line.lower, words);
			part = text_find(from, words);
			(void)text_before(line.lower, from, copy, sizeof(copy));
			is_before = text_has(copy, words);
			line_focus(&line);
			if (text_find(line.lower, words) != all || text_find(from, words) != part ||
			    text_has_before(line.lower, from, sizeof(copy) - 1, words) != is_before ||
			    (all && !text_may_have(line.lower, words) && !strchr(words, '|')))
				fail_msg("%s: %s", line.lower, words);
			/* Another text is searched as a whole. */
			assert_int_equal(text_has(copy, words), is_before);
			line_focus(NULL);
		}
	}
	free(buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_forms_are_told),
		cmocka_unit_test(lines_end_and_are_counted),
		cmocka_unit_test(long_lines_come_in_pieces),
		cmocka_unit_test(words_are_found),
		cmocka_unit_test(the_search_finds_what_a_plain_one_finds),
		cmocka_unit_test(ranks_and_messages_are_found),
		cmocka_unit_test(ranks_of_names),
		cmocka_unit_test(a_master_ranks_the_workers),
		cmocka_unit_test(excerpts_have_the_words),
		cmocka_unit_test(the_text_quotes_the_words),
		cmocka_unit_test(sizes_are_read),
		cmocka_unit_test(focus_changes_nothing),
		cmocka_unit_test(codes_guard_their_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
