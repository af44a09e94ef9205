/* SPDX-License-Identifier: Apache-2.0 */
/* What DCGM says of GPUs: the text of dcgm-exporter, and the tables and messages of dcgmi health and dcgmi diag. */
#include "triage/dcgm.h"

/* ---- dcgm-exporter ---- */

/* "DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-..."} 79": @return the value behind the labels; NULL: not this metric. Its
 * lines of HELP and TYPE begin with '#'. */
static const char *find_value(const struct line *line, const char *metric)
{
	const char *at = strstr(line->lower, metric), *end;

	if (!at || line->lower[strspn(line->lower, " \t")] == '#')
		return NULL;
	at += strlen(metric);
	if (*at != '{')
		return *at == ' ' ? at + strspn(at, " ") : NULL;
	end = strrchr(at, '}');
	return end ? end + 1 + strspn(end + 1, " ") : NULL;
}

/* What DCGM gives for a value that the GPU does not have, and above. */
#define BLANK 0x7ffffff0

/* The value of one of the metrics, separated by '|', if it is above 0. */
static bool read_count(const struct line *line, const char *metrics, int64_t *ret)
{
	char metric[64];

	while (*metrics) {
		const char *value;
		size_t n = strcspn(metrics, "|");

		reading_copy(metric, sizeof(metric), metrics, "|");
		value = find_value(line, metric);
		if (value)
			return text_number(value, ret) > 0 && *ret > 0 && *ret < BLANK;
		metrics += n + (metrics[n] == '|');
	}
	return false;
}

bool dcgm_is_line(const struct line *line)
{
	return strstr(line->lower, "dcgm_") || line->lower[strspn(line->lower, " \t")] == '|';
}

/* Whether the word that was found is one of these. */
static bool is_at(const struct line *line, const char *words)
{
	return text_find(line->at, words) == line->at;
}

/* ---- the tables of dcgmi ---- */

/* "|       -> Memory system    | Failure      |", "| Page Retirement/Row Remap | Fail - GPU: 0 |": the cell behind a
 * label. NULL: no such row. */
static const char *find_cell(const struct line *line, const char *labels)
{
	const char *label = line->lower + strspn(line->lower, " \t"), *bar, *at;

	if (*label != '|')
		return NULL;
	at = text_find(label, labels);
	bar = strchr(label + 1, '|');
	return at && bar && at < bar ? bar + 1 + strspn(bar + 1, " ") : NULL;
}

static bool is_said(const struct line *line, const char *messages)
{
	const char *at = text_find(line->lower, messages);

	return at && !is_mention(line, at);
}

/* ---- signals ---- */

/* The last error of each GPU, 0 without one, or how often each error came (DCGM_EXP_XID_ERRORS_COUNT); "Detected XID 79
 * for GPU 0". */
bool dcgm_read_xid(const struct line *line, struct reading *ret)
{
	const char *said = strstr(line->lower, "detected xid "), *number = strstr(line->lower, ",xid=\"");
	int64_t count;

	if (is_at(line, "xid ("))
		return read_xid(line, ret);
	if (said)
		return text_number(said + strlen("detected xid "), &ret->value) && ret->value < 1000 &&
		       !is_mention(line, said);
	if (read_count(line, "dcgm_exp_xid_errors_count", &count))
		return number && text_number(number + strlen(",xid=\""), &ret->value) && ret->value < 1000;
	return read_count(line, "dcgm_fi_dev_xid_errors", &ret->value) && ret->value < 1000;
}

bool dcgm_read_ecc(const struct line *line, struct reading *ret)
{
	const char *cell = find_cell(line, "memory system");
	int64_t count;

	if (cell)
		return strstarts(cell, "failure");
	if (read_count(line, "dcgm_fi_dev_ecc_dbe_vol_total", &count) || is_said(line, DCGM_ECC_MESSAGES))
		return true;
	return !is_at(line, DCGM_ECC_WORDS) && read_ecc(line, ret);
}

bool dcgm_read_ecc_past(const struct line *line, struct reading *ret)
{
	return read_count(line, "dcgm_fi_dev_ecc_dbe_agg_total", &ret->value);
}

bool dcgm_read_remap(const struct line *line, struct reading *ret)
{
	const char *cell = find_cell(line, "row remap|page retirement");
	int64_t count;

	if (cell)
		return strstarts(cell, "fail");
	if (read_count(line, "dcgm_fi_dev_row_remap_failure|dcgm_fi_dev_row_remap_pending|dcgm_fi_dev_retired_pending",
		       &count) ||
	    is_said(line, DCGM_REMAP_MESSAGES))
		return true;
	return !is_at(line, DCGM_REMAP_WORDS) && read_ecc(line, ret);
}

bool dcgm_read_unhealthy(const struct line *line, struct reading *ret)
{
	const char *cell = find_cell(line, DCGM_SYSTEMS);

	(void)ret;
	return cell && strstarts(cell, "failure");
}

/* ---- memory ---- */

/* In MiB. */
bool dcgm_read_memory(const struct line *line, struct reading *ret)
{
	static const struct {
		const char *metric;
		enum figure figure;
	} rows[] = {{"dcgm_fi_dev_fb_used", FIGURE_USAGE}, {"dcgm_fi_dev_fb_free", FIGURE_FREE}};
	int64_t mib;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *value = find_value(line, rows[i].metric);

		if (!value || !text_number(value, &mib) || mib > FIGURE_MAX / (int64_t)MIB)
			continue;
		figures_set(&ret->figures, rows[i].figure, mib * (int64_t)MIB);
		return true;
	}
	return false;
}
