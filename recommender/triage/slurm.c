/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/slurm.h"

#include <ctype.h>

/* "1234567", "1234567_12.batch": what a row of sacct begins with. @return its bytes; 0: it does not. */
static size_t job_length(const char *lower)
{
	size_t digits = strspn(lower, "0123456789");

	return digits ? digits + strcspn(lower + digits, " |") : 0;
}

static bool is_cell_end(char c)
{
	return c == ' ' || c == '|' || !c;
}

/* The text as a cell of its own, of a row or of the head. NULL: none is it. */
static const char *find_cell(const char *row, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(row, name); at; at = strstr(at + n, name))
		if ((at == row || is_cell_end(at[-1])) && is_cell_end(at[n]))
			return at;
	return NULL;
}

bool slurm_is_out_of_memory(const struct line *line)
{
	const char *row = line->lower + strspn(line->lower, " ");

	if (text_has(line->lower, "jobstate=out_of_memory") || strstarts(row, "state: out_of_memory"))
		return true;
	/* sacct cuts the word where the column is narrow. */
	return job_length(row) && (find_cell(row, "out_of_memory") || find_cell(row, "out_of_me+"));
}

bool slurm_is_head(const char *lower)
{
	return find_cell(lower, "jobid") && find_cell(lower, "state") &&
	       (find_cell(lower, "reqmem") || find_cell(lower, "maxrss"));
}

/* The cell under a heading of "sacct -P", whose cells have a bar between them; "": there is none. */
static const char *find_parsable(const char *head, const char *heading, const char *row)
{
	for (const char *bar = strchr(head, '|'); bar && bar < heading; bar = strchr(bar + 1, '|')) {
		const char *end = strchr(row, '|');

		if (!end)
			return "";
		row = end + 1;
	}
	return row;
}

/* The same of aligned columns: numbers stand at the right end of theirs, and a cell may be empty. */
static const char *find_aligned(const char *head, const char *heading, const char *row)
{
	size_t end = (size_t)(heading - head) + strcspn(heading, " ");
	const char *at;

	if (strlen(row) < end || !is_cell_end(row[end]))
		return "";
	for (at = row + end; at > row && at[-1] != ' ';)
		at--;
	return at < row + end ? at : "";
}

/* "32G", "32Gn" for each node; "4Gc" is for each core. */
static bool read_size(const char *cell, int64_t *ret)
{
	char copy[32];

	reading_copy(copy, sizeof(copy), cell, " |n");
	return text_size(copy, false, ret) > 0;
}

void slurm_read_row(const char *head, const char *row, struct figures *ret)
{
	static const struct {
		const char *heading;
		enum figure figure;
	} columns[] = {{"reqmem", FIGURE_LIMIT}, {"maxrss", FIGURE_USAGE}};
	int64_t bytes;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const char *heading = find_cell(head, columns[i].heading), *cell;

		if (!heading)
			continue;
		cell = strchr(head, '|') ? find_parsable(head, heading, row) : find_aligned(head, heading, row);
		if (read_size(cell, &bytes))
			figures_set(ret, columns[i].figure, bytes);
	}
}

/* "Memory Utilized: 31.99 GB", "Memory Efficiency: 99.97% of 32.00 GB", also "of 64.00 GB (32.00 GB/node)" of a job on
 * several nodes, and "MinMemoryNode=32G". */
bool read_slurm_figures(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower, *used = strstr(lower, "memory utilized: "), *node, *of;
	int64_t bytes;

	if (used && text_size(used + strlen("memory utilized: "), false, &bytes))
		figures_set(&ret->figures, FIGURE_USAGE, bytes);
	of = strstr(lower, "memory efficiency: ");
	of = of ? strstr(of, "% of ") : NULL;
	node = strstr(lower, "/node)");
	if (of && ((node && text_size_before(of, node, &bytes)) || text_size(of + strlen("% of "), false, &bytes)))
		figures_set(&ret->figures, FIGURE_LIMIT, bytes);
	of = strstr(lower, "minmemorynode=");
	if (of && text_size(of + strlen("minmemorynode="), false, &bytes))
		figures_set(&ret->figures, FIGURE_LIMIT, bytes);
	ret->is_exact = slurm_is_head(lower);
	return ret->is_exact || figures_has(&ret->figures, FIGURE_USAGE) || figures_has(&ret->figures, FIGURE_LIMIT);
}
