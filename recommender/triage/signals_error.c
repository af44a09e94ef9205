/* SPDX-License-Identifier: Apache-2.0 */
/* What programs say when they fail: exceptions, errors of memory in words that no other signal has, and crashes. */
#include "triage/signals.h"

#include <ctype.h>

/* The class of an exception that a line begins with, as at the end of a traceback. */
struct exception_class {
	const char *name, *end; /* in line->lower */
};

static bool is_class_end(struct exception_class class)
{
	static const char *const ends[] = {"error", "exception", "interrupt"};

	/* Python's Exception itself; a bare "Error:" is also a field. */
	if (strstarts(class.name, "exception") && class.end == class.name + strlen("exception"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t n = strlen(ends[i]);

		if ((size_t)(class.end - class.name) > n && memcmp(class.end - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

static struct exception_class find_class(const struct line *line)
{
	struct exception_class class = {.name = line->lower + line->body};

	/* pytest: "FAILED tests/test_a.py::test_b - RuntimeError: ..." */
	if (strstarts(class.name, "failed ") && strstr(class.name, " - "))
		class.name = strstr(class.name, " - ") + 3;
	/* C++: "terminate called after throwing an instance of 'c10::Error'", then "what():  ...". */
	if (strstarts(class.name, "what():")) {
		class.end = class.name + strlen("what()");
		return class;
	}
	class.end = class.name;
	while (isalnum((unsigned char)*class.end) || *class.end == '_' || *class.end == '.')
		class.end++;
	return class;
}

static bool is_exception(struct exception_class class)
{
	if (strstarts(class.name, "what():"))
		return true;
	return (*class.end == ':' || *class.end == '(' || !*class.end) && is_class_end(class);
}

static bool is_other_memory(const char *before, const char *end)
{
	static const char *const next[] = {" access", " format", " layout", " address", " location", " on disk"};

	for (size_t i = 0; i < ARRAY_LEN(next); i++)
		if (strstarts(end, next[i]))
			return true;
	return text_has(before, "share |shared ");
}

/* The word, but not in the names of other things: "illegal memory access", "memory_format", "shared memory". */
static bool has_word_memory(const char *lower)
{
	for (const char *at = strstr(lower, "memory"); at; at = strstr(at + 1, "memory")) {
		const char *end = at + strlen("memory");
		char before[16];

		(void)text_before(lower, at, before, sizeof(before));
		if ((at > lower && (isalnum((unsigned char)at[-1]) || strchr("_-.'\"`", at[-1]))) ||
		    isalnum((unsigned char)*end) || (*end && strchr("_-", *end)))
			continue;
		if (!is_other_memory(before, end))
			return true;
	}
	/* In Chinese: too little memory, of the host and of a card. */
	return text_has(lower, "\xe5\x86\x85\xe5\xad\x98\xe4\xb8\x8d\xe8\xb6\xb3|"
			       "\xe6\x98\xbe\xe5\xad\x98\xe4\xb8\x8d\xe8\xb6\xb3");
}

/* Whether the class or the text of an exception is about memory. gRPC has one class for all that a peer refuses. */
static bool is_of_memory(struct exception_class class)
{
	if (text_has(class.name, "out of memory|outofmemory|memoryerror|bad_alloc"))
		return true;
	if (text_has(class.name, "message larger than|quota|rate limit|too many requests"))
		return false;
	return text_has(class.name, "resourceexhausted|resource_exhausted|error_out_of_resources") ||
	       has_word_memory(class.name);
}

/* What is raised for the end of another process: by torchrun, subprocess, torch.multiprocessing, Ray. */
#define LAUNCHER_ERRORS                                                                                                \
	"childfailederror|calledprocesserror|processexitedexception|actordiederror|actorunavailableerror|"             \
	"rayactorerror|workercrashederror"

/* An error in words that no other signal has; where the program says that it goes on, nothing is short. */
static bool is_memory_short(const struct line *line)
{
	const char *lower = line->lower, *at = text_find(lower, MEMORY_SHORT_WORDS);

	return at && text_has(lower, "error|fail|fatal|abort|unable|cannot|panic") && !is_mention(line, at) &&
	       !text_has_before(lower, at, 64,
				"may |might |can |could |will |would |should |if |when | or |help|avoid|perhaps|likely|"
				"possibl|probabl|# |fix") &&
	       !text_has(lower, "retry|skip|caught|recover|shared memory");
}

bool read_memory_error(const struct line *line, struct reading *ret)
{
	struct exception_class class = find_class(line);

	ret->is_exact = is_exception(class);
	if (!ret->is_exact)
		return is_memory_short(line);
	if (is_failed_check(line) || !is_of_memory(class) || is_mention(line, class.end) ||
	    text_has(line->lower, LAUNCHER_ERRORS))
		return false;
	reading_copy(ret->words, MIN(sizeof(ret->words), (size_t)(class.end - class.name) + 1),
		     line->text + (class.name - line->lower), "");
	return true;
}

/* An exception at the end of a traceback, or what a launcher says of a child's end. */
bool read_exception(const struct line *line, struct reading *ret)
{
	struct exception_class class = find_class(line);

	/* What a launcher raises for the end of its child. */
	ret->is_exact = text_has(line->lower, LAUNCHER_ERRORS);
	reading_copy(ret->words, MIN(sizeof(ret->words), (size_t)(class.end - class.name) + 1),
		     line->text + (class.name - line->lower), "");
	if (text_has(line->lower, "out of memory|outofmemory|memoryerror|bad_alloc|malloc fail"))
		return is_failed_check(line);
	/* What ranks say when another one is gone. */
	if (strstarts(class.name, "what():") &&
	    text_has(class.name, "watchdog|nccl|process group|gloo|connection|peer"))
		return false;
	if (is_exception(class))
		return ret->is_exact || !is_of_memory(class);
	if (strncmp(class.name, "assertion", 9) == 0)
		return true;
	reading_copy(ret->words, sizeof(ret->words), "", "");
	ret->is_exact = text_has(class.name, "exitcode|exited with exit code") &&
			!text_has(class.name, "exitcode: 0|exit code 0|exitcode  : 0");
	return ret->is_exact || text_has(class.name, "core dumped|failed building wheel|no matching distribution");
}

/* ---- crashes ---- */

/* joblib: "This could be caused by a segmentation fault while calling the function or by an excessive memory usage ...
 * The exit codes of the workers are {SIGSEGV(-11)}". */
static bool is_joblib_segfault(const char *lower)
{
	return strstr(lower, "sigsegv(-11)") && !strstr(lower, "sigkill(-9)");
}

bool read_worker_lost(const struct line *line, struct reading *ret)
{
	(void)ret;
	return !is_joblib_segfault(line->lower) && !is_mention(line, line->at);
}

bool read_segfault(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (is_joblib_segfault(line->lower))
		return true;
	if (strstr(line->lower, "caused by a segmentation fault") || is_list_of_causes(line->lower))
		return false;
	return (text_has(line->lower, "segmentation fault|segfault at|sigsegv") || is_exit_code(line->lower, 139) ||
		is_exit_code(line->lower, -11)) &&
	       !is_mention(line, line->at);
}
