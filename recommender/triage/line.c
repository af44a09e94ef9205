/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/line.h"

#include "base/utf8.h"

#include <ctype.h>

/* ---- ranks ---- */

/* Digits at `at` that are a rank. @return the bytes; 0: none. */
static size_t read_rank(const char *at, int *ret)
{
	int64_t value;
	size_t n = text_number(at, &value);

	if (!n || n > 6)
		return 0;
	*ret = (int)value;
	return n;
}

bool rank_is_master(const char *name)
{
	const char *at = strstr(name, "-master-0");

	return at && !isdigit((unsigned char)at[strlen("-master-0")]);
}

int rank_of_name(const char *name, bool has_master)
{
	static const char *const words[] = {"rank", "worker"};
	const char *found = NULL;
	int rank = RANK_NONE, value;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		for (const char *at = strcasestr(name, words[i]); at; at = strcasestr(at + 1, words[i])) {
			const char *digits = at + strlen(words[i]);

			digits += strspn(digits, "-_=.");
			if (read_rank(digits, &value) && at > found) {
				found = at;
				rank = value + (has_master && i == 1);
			}
		}
	if (rank == RANK_NONE && rank_is_master(name))
		rank = 0;
	/* torchrun's folders: attempt_0/3/stderr.log */
	for (const char *at = strstr(name, "attempt_"); at && rank == RANK_NONE; at = NULL) {
		at = strchr(at, '/');
		if (at && read_rank(at + 1, &value) && at[1 + strspn(at + 1, "0123456789")] == '/')
			rank = value;
	}
	return rank;
}

/* "[virtualMemoryBuffer.cpp::resizePhysical::145]": TensorRT's messages have the number of an error before it. */
static bool is_place_in_code(const char *at)
{
	const char *place = *at == '[' ? strstr(at, ".cpp::") : NULL;

	return place && (size_t)(place - at) < strcspn(at, "] ");
}

/* A rank at the beginning: [rank3]: [3]: [default3]: [1,3]<stderr>: 3: worker-3: [pod/train-worker-3/pytorch].
 * @return the bytes that it takes; 0: none. */
static size_t read_rank_prefix(const char *at, int *ret, const char **ret_digits)
{
	static const char *const words[] = {"[rank", "[default", "[local_rank", "[1,", "[worker-", "[proc", "["};
	size_t n, digits, end;
	int rank;

	for (size_t i = 0; *at == '[' && i < ARRAY_LEN(words); i++) {
		n = strlen(words[i]);
		if (strncasecmp(at, words[i], n) != 0)
			continue;
		n += strspn(at + n, " _=:");
		digits = read_rank(at + n, &rank);
		if (!digits || at[n + digits] != ']')
			continue;
		end = n + digits + 1;
		if (strncmp(at + end, "<std", 4) == 0)
			end += strcspn(at + end, ":");
		else if (words[i][1] == '\0' && at[end] != ':')
			continue;
		*ret = rank;
		*ret_digits = at + n;
		return end + (at[end] == ':');
	}
	digits = read_rank(at, &rank);
	if (!digits || at[digits] != ':' || at[digits + 1] != ' ' || is_place_in_code(at + digits + 2))
		return 0;
	*ret = rank;
	*ret_digits = at;
	return digits + 2;
}

/* A pod's name before the message, by kubectl or stern; or a host's, by pdsh. */
static size_t read_pod_prefix(const char *at, struct line_buffer *buffer, int *ret)
{
	size_t n;
	char name[128];

	if (strncmp(at, "[pod/", 5) == 0) {
		n = strcspn(at, "]");
		if (at[n] != ']')
			return 0;
		n++;
	} else if (!islower((unsigned char)*at)) {
		return 0;
	} else {
		n = strcspn(at, " ");
		if (n < 4 || at[n] != ' ' || !strchr(":|0123456789", at[n - 1]) || !memchr(at, '-', n))
			return 0;
		for (size_t i = 0; i + 1 < n; i++)
			if (!islower((unsigned char)at[i]) && !isdigit((unsigned char)at[i]) && at[i] != '-')
				return 0;
	}
	if (n >= sizeof(name))
		return 0;
	memcpy(name, at, n);
	name[n] = '\0';
	buffer->has_master = buffer->has_master || rank_is_master(name);
	*ret = rank_of_name(name, buffer->has_master);
	return *ret == RANK_NONE && *at != '[' ? 0 : n;
}

/* ---- what stands before the message ---- */

static size_t read_level(const char *at)
{
	static const char *const levels[] = {"error",	 "warning", "warn",   "info",	"debug",  "fatal",
					     "critical", "trace",   "notice", "stderr", "stdout", "kernel"};

	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		size_t n;

		if ((*at | 0x20) != *levels[i])
			continue;
		n = strlen(levels[i]);
		/* "Error: out of memory" keeps its word: only a level apart from the message is a prefix. */
		if (strncasecmp(at, levels[i], n) == 0 &&
		    (at[n] == ' ' || at[n] == ':' || at[n] == '|' || at[n] == '-'))
			return strcmp(levels[i], "error") == 0 && islower((unsigned char)at[1]) ? 0
												: n + (at[n] == ':');
	}
	return 0;
}

/* A token of digits and what stands between them in dates, times and the kernel's seconds. */
static size_t read_time(const char *at)
{
	size_t digits = strspn(at, "0123456789"), n;

	if (!digits)
		return 0;
	n = strspn(at, "0123456789-:.,/TZ+");
	if (n < 4 || n == digits)
		return 0;
	return at[n] == ' ' || at[n] == '\0' || at[n] == ']' ? n : 0;
}

static size_t read_bracket(const char *at)
{
	size_t n;

	if (*at != '[' && *at != '(')
		return 0;
	n = strcspn(at, *at == '[' ? "]" : ")");
	if (!at[n] || n > 80)
		return 0;
	n++;
	return n + (at[n] == ':');
}

static size_t read_prefix(struct line *line, struct line_buffer *buffer)
{
	const char *at = line->text + line->body, *digits = NULL;
	size_t n = strspn(at, " \t|-");
	int found = RANK_NONE;

	if (n)
		return n;
	/* A log that somebody quotes; ">>>" is a prompt. */
	if (at[0] == '>' && at[1] == ' ')
		return 2;
	n = read_rank_prefix(at, &found, &digits);
	if (!n)
		n = read_pod_prefix(at, buffer, &found);
	if (!n)
		n = read_time(at);
	if (!n)
		n = read_level(at);
	if (!n)
		n = read_bracket(at);
	if (!n && strncmp(at, "{\"log\":\"", 8) == 0)
		n = 8;
	if (found != RANK_NONE && line->rank == RANK_NONE) {
		line->rank = found;
		line->rank_at = digits ? (int)(digits - line->text) : RANK_AT_UNKNOWN;
	}
	return n;
}

/* A line of a JSON logger: {"time": "...", "rank": 2, "message": "..."}; in the log file of a container runtime its
 * quotes have backslashes. Quotes of keys within a text have one backslash more. */
static void read_json_rank(struct line *line)
{
	static const char *const keys[][2] = {{"\"rank\"", "\\\"rank\\\""}, {"\"global_rank\"", "\\\"global_rank\\\""}};
	const char *start = line->lower + line->body;

	for (size_t i = 0; *start == '{' && i < ARRAY_LEN(keys) && line->rank == RANK_NONE; i++) {
		const char *key = keys[i][start[1] == '\\'], *at = strstr(start, key);

		at = at ? at + strlen(key) + strspn(at + strlen(key), " :\\\"") : NULL;
		if (at && read_rank(at, &line->rank)) {
			line->rank_at = (int)(at - line->lower);
			return;
		}
	}
}

static void find_body(struct line *line, struct line_buffer *buffer)
{
	/* Each turn moves on; prefixes longer than this are part of the message. */
	size_t end = MIN(line->n, (size_t)256);

	for (size_t n = 1; n && line->body < end; line->body += n)
		n = read_prefix(line, buffer);
	if (line->body > line->n)
		line->body = line->n;
	read_json_rank(line);
}

/* The bytes of an escape sequence of a terminal at `p`. */
static size_t escape_length(const char *p, size_t n)
{
	size_t i = 1;

	if (n < 2)
		return 1;
	if (p[1] == ']') {
		while (i < n && p[i] != '\a' && p[i] != 0x1b)
			i++;
		return MIN(n, i + 1);
	}
	if (p[1] != '[')
		return 2;
	for (i = 2; i < n && ((unsigned char)p[i] < '@' || (unsigned char)p[i] > '~');)
		i++;
	return MIN(n, i + 1);
}

/* Eight bytes at a time: whether one of them is a control character or not ASCII. */
static bool is_any_special(uint64_t bytes)
{
	const uint64_t ones = UINT64_MAX / 255;

	return ((bytes - ones * 0x20) | bytes | (bytes + ones)) & (ones * 0x80);
}

/* How many bytes at `p` stay as they are: printable ASCII, in steps of eight. */
static size_t plain_length(const char *p, size_t n)
{
	size_t i = 0;

	for (uint64_t bytes; i + sizeof(bytes) <= n; i += sizeof(bytes)) {
		memcpy(&bytes, p + i, sizeof(bytes));
		if (is_any_special(bytes))
			break;
	}
	return i;
}

/* One character into `text`; bytes that are not UTF-8 become '?'. */
static size_t copy_character(const char *p, size_t n, char *text, size_t *ret_n)
{
	uint32_t code;
	size_t used;

	if ((unsigned char)*p < 0x80) {
		text[(*ret_n)++] = is_control(*p) ? ' ' : *p;
		return 1;
	}
	used = utf8_decode((const unsigned char *)p, n, &code);
	if (!used || (code >= 0x80 && code < 0xa0)) {
		text[(*ret_n)++] = '?';
		return used ? used : 1;
	}
	memcpy(text + *ret_n, p, used);
	*ret_n += used;
	return used;
}

/* Sets the bit 0x20 of the bytes from 'A' to 'Z', eight at a time. */
static uint64_t lower_eight(uint64_t bytes)
{
	const uint64_t ones = UINT64_MAX / 255;
	uint64_t low = bytes & ones * 0x7f;
	uint64_t is_upper = (low + ones * (0x80 - 'A')) ^ (low + ones * (0x7f - 'Z'));

	return bytes | ((is_upper & ~bytes & ones * 0x80) >> 2);
}

static void lower_copy(const char *text, size_t n, char *ret)
{
	size_t i = 0;

	for (uint64_t bytes; i + sizeof(bytes) <= n; i += sizeof(bytes)) {
		memcpy(&bytes, text + i, sizeof(bytes));
		bytes = lower_eight(bytes);
		memcpy(ret + i, &bytes, sizeof(bytes));
	}
	for (; i < n; i++)
		ret[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
}

void line_make(struct str raw, uint64_t number, struct line_buffer *buffer, struct line *ret)
{
	size_t n = 0;

	raw.n = MIN(raw.n, LIMIT_TRIAGE_LINE_BYTES);
	for (size_t i = 0; i < raw.n;) {
		size_t plain = plain_length(raw.p + i, raw.n - i);

		memcpy(buffer->text + n, raw.p + i, plain);
		n += plain;
		i += plain;
		if (i == raw.n)
			break;
		if (raw.p[i] == 0x1b)
			i += escape_length(raw.p + i, raw.n - i);
		else
			i += copy_character(raw.p + i, raw.n - i, buffer->text, &n);
	}
	while (n && buffer->text[n - 1] == ' ')
		n--;
	buffer->text[n] = buffer->lower[n] = '\0';
	lower_copy(buffer->text, n, buffer->lower);
	*ret = (struct line){.text = buffer->text,
			     .lower = buffer->lower,
			     .n = n,
			     .rank = RANK_NONE,
			     .rank_at = -1,
			     .number = number};
	find_body(ret, buffer);
}
