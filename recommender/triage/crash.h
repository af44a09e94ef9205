/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* crash: a diagnosed end that a later run is compared with (verify.h): what `triage -o json` said of it, or what the
 * recommender keeps in a MemoryProfile. Pure but for crash_read_file. */
#include "triage/facts.h"
#include "triage/levers.h"

#define CRASH_LEVERS_MAX   16
#define CRASH_SOURCE_BYTES 320

struct crash_lever {
	char action[128], setting[256];
};

struct crash {
	char source[CRASH_SOURCE_BYTES]; /* a file, or "memoryprofile/NAME status.diagnosis" */
	enum kind kind;
	char cause[32]; /* "": not known */
	struct figures figures;
	struct furthest furthest; /* `number`: 1 if anything is known */
	int64_t rate;		  /* thousandths of `rate_unit` a second; FIGURE_NONE */
	enum rate_unit rate_unit;
	bool has_setting[SETTING_COUNT_]; /* settings that were in force already */
	int64_t numbers[NUMBER_COUNT];	  /* by row of numbers.h; NUMBER_NONE */
	int64_t time_ms;		  /* of the end; 0: not known */
	struct crash_lever levers[CRASH_LEVERS_MAX];
	size_t n_levers;
};

/** Reads the text of `triage -o json`. Members that are absent or null are not known.
 *  @param name  of the file, for messages. @return 0; -EINVAL: not JSON, of another version, or of an end that is not
 *  about memory, with file and line in err; -ENOMEM. */
int crash_read(const char *name, const char *text, size_t n, struct crash *ret, struct err *err) ATTR_NODISCARD;
/** The same for a file of at most LIMIT_TRIAGE_OUTPUT_BYTES; "-" is standard input. @return also another -errno. */
int crash_read_file(const char *path, struct crash *ret, struct err *err) ATTR_NODISCARD;
/** Makes one from a kind and a cause ("": none), with the levers of the table. `variable`: the allocator's variable in
 * their settings; "": PyTorch's old one. @param evidence  the line that decided, which tells device and framework; "":
 * not known. @param figures  that are known of the end. @return 0; -EINVAL: no kind of memory; -ENOMEM. */
int crash_make(const char *kind, const char *cause, const char *variable, const char *evidence,
	       const struct figures *figures, struct crash *ret) ATTR_NODISCARD;
