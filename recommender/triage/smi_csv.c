/* SPDX-License-Identifier: Apache-2.0 */
/* What nvidia-smi --query-gpu and --query-compute-apps print as CSV, with and without units. */
#include "triage/smi.h"

#include "base/hash.h"

/* ---- what smi.c uses, too ---- */

bool smi_is_set(const char *value)
{
	int64_t number;

	return strncmp(value, "yes", 3) == 0 || (text_number(value, &number) && number > 0);
}

void smi_see_memory(struct smi_state *self, int64_t used, int64_t total)
{
	if (self->used != FIGURE_NONE && used <= self->used)
		return;
	self->used = used;
	self->total = total;
}

/* ---- CSV ---- */

enum column { COLUMN_OTHER, COLUMN_FAULT, COLUMN_USED, COLUMN_TOTAL, COLUMN_CARD, COLUMN_PID, COLUMN_TIME };

/* Headings may go on: "memory.used [mib]". */
static const struct {
	const char *begin;
	enum column column;
} headings[] = {
	{"remapped_rows.pending", COLUMN_FAULT},
	{"remapped_rows.failure", COLUMN_FAULT},
	{"retired_pages.pending", COLUMN_FAULT},
	{"ecc.errors.uncorrected.volatile", COLUMN_FAULT},
	{"memory.used", COLUMN_USED},
	{"memory.total", COLUMN_TOTAL},
	{"uuid", COLUMN_CARD},
	{"gpu_uuid", COLUMN_CARD},
	{"pci.bus_id", COLUMN_CARD},
	{"gpu_bus_id", COLUMN_CARD},
	{"gpu_serial", COLUMN_CARD},
	{"pid", COLUMN_PID},
	{"timestamp", COLUMN_TIME},
};

struct row {
	int64_t used, total, pid; /* FIGURE_NONE */
	uint64_t card, time;	  /* hashes; 0: none */
	bool is_fault;
};

static const char *next_column(const char *at)
{
	at += strcspn(at, ",");
	return *at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static enum column find_column(const char *heading)
{
	for (size_t i = 0; i < ARRAY_LEN(headings); i++)
		if (strstarts(heading, headings[i].begin))
			return headings[i].column;
	return COLUMN_OTHER;
}

/* The name of a process may have such words, too, but begins with none. */
bool smi_csv_begins(const char *lower)
{
	const char *at = lower;
	bool is_known = false;

	if (!text_has(lower, "memory.|remapped_rows.|ecc.errors.|retired_pages.|process_name|used_gpu_memory|"
			     "used_memory"))
		return false;
	for (size_t i = 0; at && i < SMI_COLUMNS_MAX && !is_known; i++, at = next_column(at))
		is_known = find_column(at) != COLUMN_OTHER;
	return is_known;
}

static void read_heading(struct smi_state *self, const char *at)
{
	for (size_t i = 0; i < SMI_COLUMNS_MAX; i++, at = at ? next_column(at) : NULL)
		self->columns[i] = at ? (uint8_t)find_column(at) : COLUMN_OTHER;
	self->is_csv = true;
	self->n_listed = 0;
}

/* "71234 mib", or with nounits "71234". */
static int64_t read_size(const char *at)
{
	int64_t value;

	if (text_size(at, false, &value))
		return value;
	return text_number(at, &value) && value <= FIGURE_MAX / (int64_t)MIB ? value * (int64_t)MIB : FIGURE_NONE;
}

static void read_value(enum column column, const char *at, struct row *ret)
{
	switch (column) {
	case COLUMN_FAULT:
		ret->is_fault = ret->is_fault || smi_is_set(at);
		break;
	case COLUMN_USED:
		ret->used = read_size(at);
		break;
	case COLUMN_TOTAL:
		ret->total = read_size(at);
		break;
	case COLUMN_CARD:
		ret->card = hash_stable(HASH_STABLE_INIT + ret->card, at, strcspn(at, ","));
		break;
	case COLUMN_PID:
		if (!text_number(at, &ret->pid))
			ret->pid = FIGURE_NONE;
		break;
	case COLUMN_TIME:
		ret->time = hash_stable(HASH_STABLE_INIT, at, strcspn(at, ","));
		break;
	case COLUMN_OTHER:
		break;
	}
}

/* A list that is printed again and again (-l) has a time, or the same processes. */
static void see_process(struct smi_state *self, const struct row *row)
{
	int n = 1;

	if (row->time != self->listed_at)
		self->n_listed = 0;
	self->listed_at = row->time;
	for (size_t i = 0; i < self->n_listed; i++) {
		if (self->listed[i].card == row->card && self->listed[i].pid == row->pid)
			return;
		n += self->listed[i].card == row->card;
	}
	if (self->n_listed < SMI_LISTED_MAX)
		self->listed[self->n_listed++] = (struct smi_listed){row->card, row->pid};
	self->most_processes = MAX(self->most_processes, n);
}

static enum signal_id read_values(struct smi_state *self, const char *at)
{
	struct row row = {.used = FIGURE_NONE, .total = FIGURE_NONE, .pid = FIGURE_NONE};

	for (size_t i = 0; at && i < SMI_COLUMNS_MAX; i++, at = next_column(at))
		read_value((enum column)self->columns[i], at, &row);
	if (row.used != FIGURE_NONE && row.total > 0)
		smi_see_memory(self, row.used, row.total);
	/* Without its card a process may be on any. */
	if (row.pid != FIGURE_NONE && row.card)
		see_process(self, &row);
	return row.is_fault ? SIGNAL_ROW_REMAP : SIGNAL_COUNT_;
}

enum signal_id smi_csv_read(struct smi_state *self, const char *lower)
{
	if (!smi_csv_begins(lower))
		return read_values(self, lower);
	read_heading(self, lower);
	return SIGNAL_COUNT_;
}
