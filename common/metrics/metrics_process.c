/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/metrics_process.h"

#include "base/io.h"
#include "base/limits.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef MEMTAMER_VERSION
#error "MEMTAMER_VERSION comes from the build"
#endif

enum process_metric {
#define METRIC(id, type, name, help, a, b, c) PROCESS_##id,
#include "metrics/metrics_process.def"
#undef METRIC
	PROCESS_COUNT_,
};

#define NONE	""
#define VERSION "{version=\"" MEMTAMER_VERSION "\"}"
#define TOTAL	"counter"
#define GAUGE	"gauge"
static const struct {
	const char *type, *name, *help, *labels;
} rows[PROCESS_COUNT_] = {
#define METRIC(id, type, name, help, a, b, c) {type, name, help, a},
#include "metrics/metrics_process.def"
#undef METRIC
};

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void read_usage(double values[PROCESS_COUNT_])
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return;
	values[PROCESS_CPU] = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
	values[PROCESS_RESIDENT_PEAK] = (double)usage.ru_maxrss * KIB;
}

/* "size resident ...", in pages. */
static void read_memory(double values[PROCESS_COUNT_])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB);
	double page_bytes = (double)sysconf(_SC_PAGESIZE);
	unsigned long size, resident;
	char *end;

	if (io_read_file("/proc/self/statm", &text, NULL))
		return;
	size = strtoul(strbuf_text(&text), &end, 10);
	resident = strtoul(end, &end, 10);
	values[PROCESS_VIRTUAL] = (double)size * page_bytes;
	values[PROCESS_RESIDENT] = (double)resident * page_bytes;
}

static void read_files(double values[PROCESS_COUNT_])
{
	DIR *folder = opendir("/proc/self/fd");
	struct rlimit limit;
	size_t n = 0;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		values[PROCESS_MAX_FDS] = (double)limit.rlim_cur;
	if (!folder)
		return;
	for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
		n += entry->d_name[0] != '.';
	closedir(folder);
	values[PROCESS_OPEN_FDS] = (double)n - 1; /* the descriptor of the folder itself does not count */
}

void metrics_render_process(int64_t started_ms, struct strbuf *buf)
{
	double values[PROCESS_COUNT_];

	for (size_t i = 0; i < PROCESS_COUNT_; i++)
		values[i] = (double)NAN;
	values[PROCESS_START_TIME] = (double)started_ms / 1000;
	values[PROCESS_BUILD_INFO] = 1;
	read_usage(values);
	read_memory(values);
	read_files(values);
	for (size_t i = 0; i < PROCESS_COUNT_; i++)
		if (!isnan(values[i]))
			strbuf_addf(buf, "# HELP %s %s\n# TYPE %s %s\n%s%s %.17g\n", rows[i].name, rows[i].help,
				    rows[i].name, rows[i].type, rows[i].name, rows[i].labels, values[i]);
}
