/* SPDX-License-Identifier: Apache-2.0 */
/* What all functions that read a signal share. */
#include "triage/signals.h"

#include "base/utf8.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

/* Many are made for each line, so that only the beginnings of the texts are set. */
void reading_init(struct reading *self)
{
	memset(self, 0, offsetof(struct reading, name));
	self->name[0] = self->largest[0] = self->words[0] = '\0';
	self->value = self->total = -1;
	figures_init(&self->figures);
}

void reading_copy(char *buf, size_t size, const char *text, const char *ends)
{
	size_t n = MIN(strcspn(text, ends), size - 1);

	memcpy(buf, text, n);
	buf[n] = '\0';
	utf8_clean(buf);
}

/* 0 and what a shell reports of a program that got a signal. */
const int64_t exit_codes[EXIT_CODES] = {135, 137, 139, 143, 0};

static bool is_listed(int64_t code)
{
	for (size_t i = 0; i < EXIT_CODES; i++)
		if (exit_codes[i] == code)
			return true;
	return code < 0;
}

/* Bytes that may stand between the words and the code. */
static bool is_between(char c)
{
	return strchr("\"'` :=([\t", c) && c;
}

bool is_exit_code_next(const char *behind, size_t n)
{
	int64_t code = 0;
	size_t i = 0, digits = 0;

	while (i < n && is_between(behind[i]))
		i++;
	/* Cleaning makes blanks of control characters. */
	if (i < n && (behind[i] == '-' || behind[i] < ' ' || behind[i] > '~'))
		return true;
	for (; i < n && isdigit((unsigned char)behind[i]) && digits < 9; i++, digits++)
		code = code * 10 + (behind[i] - '0');
	return digits && is_listed(code);
}

/* Whether a line may have the last two characters of a code. */
static bool may_have_code(const char *lower, int64_t code)
{
	static const char digits[] = "0123456789";
	int64_t size = llabs(code);
	char last[3] = {size >= 10 ? digits[size / 10 % 10] : '-', digits[size % 10], '\0'};

	return (size < 10 && code >= 0) || text_may_have(lower, last);
}

bool is_exit_code(const char *lower, int64_t code)
{
	static const char *const names[] = {"exit code", "exitcode", "exit_code", "exit status"};

	assert(is_listed(code));
	if (!may_have_code(lower, code))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (const char *at = text_find(lower, names[i]); at; at = strstr(at + 1, names[i])) {
			const char *value = at + strlen(names[i]);
			bool is_negative;
			int64_t found;

			while (is_between(*value))
				value++;
			is_negative = *value == '-';
			if (text_number(value + is_negative, &found) && (is_negative ? -found : found) == code)
				return true;
		}
	return false;
}

/* Words before the match that make a sentence of advice out of it; programs do not print typographic quotes. Names of
 * hosts, pods and ranks, which may have such words, come before the body. */
static bool is_advice(const char *body, const char *at)
{
	return at > body &&
	       text_has_before(
		       body, at, 96,
		       "if you|to avoid|avoid |in case of|such as|e.g.|for example| prevent|may cause|might |"
		       "could cause|can cause|would cause|risk of|handling of|to handle |handles |will catch|catching |"
		       "troubleshoot|how to|oom detection|memory detection|error detection|monitor for|watch for|"
		       "because of a|instead of|without |when you see|no more |fixes |fixed |fix |\xe2\x80\x9c");
}

/* R shows what a program prints as a comment: "#> ...", "# result.cc:28: ...". The JVM reports its own end in comments:
 * "#  SIGSEGV (0xb) at pc=0x...". */
static bool is_shown_output(const char *body)
{
	const char *colon = body + strcspn(body, " ");
	int64_t number;

	if (strncmp(body, "#> ", 3) == 0 || (strncmp(body, "#  ", 3) == 0 && strstr(body, " at pc=0x")))
		return true;
	if (strncmp(body, "# ", 2) != 0)
		return false;
	for (const char *end = colon + 1 + strcspn(colon + 1, " "); (colon = strpbrk(colon + 1, ":")) && colon < end;) {
		size_t n = text_number(colon + 1, &number);

		if (n && colon[1 + n] == ':')
			return true;
	}
	return false;
}

/* A summary of errors: "* 1 x RuntimeError: ...". */
static bool is_counted_error(const char *body, const char *at)
{
	const char *x = body + 2 + strspn(body + 2, "0123456789"), *colon = strstr(body, "error: ");

	return x > body + 2 && strncmp(x, " x ", 3) == 0 && colon && colon < at;
}

/* The title of a ticket, with the log that it is about. */
static bool is_heading(const struct line *line)
{
	return line->number == 1 && strncmp(line->lower, "# ", 2) == 0;
}

/* Comments, and bullets that look like a comment's lines. "##[error]" is a level of CI systems. */
static bool is_comment(const struct line *line, const char *at)
{
	const char *body = line->lower + line->body;

	if (*body == '#')
		return strncmp(body, "##[", 3) != 0 && !is_shown_output(body) && !is_heading(line);
	return strncmp(body, "//", 2) == 0 || (strncmp(body, "* ", 2) == 0 && !is_counted_error(body, at)) ||
	       strncmp(body, ">>>", 3) == 0;
}

/* Commands of a shell and their help, and templates that are not filled in. */
static bool is_script(const char *body)
{
	while (*body == '+')
		body++;
	body += strspn(body, " ");
	return strncmp(body, "echo ", 5) == 0 || strncmp(body, "usage:", 6) == 0 || text_has(body, "{{ $|{{$|{{ .|{{.");
}

/* A constant of a program in Go: `message := "out of memory"`. */
static bool is_constant(const char *lower, const char *at)
{
	return at - lower >= 5 && strncmp(at - 5, " := \"", 5) == 0;
}

/* Lines of source code: in tracebacks, and where programs print their settings. */
static bool is_code(const struct line *line, const char *at)
{
	const char *lower = line->lower, *body = lower + line->body;

	if (is_comment(line, at) || is_script(body) || is_constant(lower, at))
		return true;
	if (strncmp(body, "if ", 3) == 0 || strncmp(body, "elif ", 5) == 0 || strncmp(body, "except ", 7) == 0 ||
	    strncmp(body, "raise ", 6) == 0 || strncmp(body, "print(", 6) == 0 || strncmp(body, "def ", 4) == 0 ||
	    strncmp(body, "logger.", 7) == 0 || strncmp(body, "logging.", 8) == 0 || strncmp(body, "assert ", 7) == 0)
		return true;
	return text_has(lower, " in str(|\" in msg|.lower()|pytest|test_") && at > lower &&
	       (at[-1] == '"' || at[-1] == '\'');
}

/* Lines that call what they quote a trial; a line longer than this is no sentence. */
static bool is_trial(const struct line *line)
{
	return line->n < KIB &&
	       text_has(line->lower, "simulated|simulating|mocked|fault injection|injected fault|injecting fault|"
				     "injected oom|injecting oom|inject oom");
}

bool is_mention(const struct line *line, const char *at)
{
	const char *body = line->lower + line->body;

	return is_code(line, at) || is_advice(body, at) || is_trial(line);
}
