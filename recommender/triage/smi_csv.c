/* SPDX-License-Identifier: Apache-2.0 */
/* What nvidia-smi --query-gpu and --query-compute-apps print as CSV, with and without units. A file may have both
 * lists. */
#include "triage/smi.h"

#include "base/hash.h"

/* ---- what smi.c uses, too ---- */

bool smi_is_set(const char *value)
{
	int64_t number;

	return strstarts(value, "yes") || (text_number(value, &number) && number > 0);
}

static void see(struct smi_sight *sight, int64_t value, const struct line *line)
{
	sight->value = value;
	sight->number = line->number;
	reading_copy(sight->text, sizeof(sight->text), line->text, "");
}

void smi_see_memory(struct smi_state *self, int64_t used, int64_t total)
{
	if (self->used != FIGURE_NONE && used <= self->used)
		return;
	self->used = used;
	self->total = total;
}

void smi_see_gpu(struct smi_state *self, struct smi_gpu *gpu, int64_t used, int64_t total, const struct line *line)
{
	see(&gpu->used, used, line);
	gpu->total = total;
	smi_see_memory(self, used, total);
}

void smi_see_processes(struct smi_state *self, int n, const struct line *line)
{
	self->most_processes = MAX(self->most_processes, n);
	if (n >= 2 && n > self->shared.value)
		see(&self->shared, n, line);
}

/* ---- CSV ---- */

/* Columns of keys stand in the order of enum smi_key. */
enum column {
	COLUMN_OTHER,
	COLUMN_ECC,
	COLUMN_REMAP,
	COLUMN_USED,
	COLUMN_TOTAL,
	COLUMN_UUID,
	COLUMN_BUS,
	COLUMN_SERIAL,
	COLUMN_PID,
	COLUMN_TIME
};

/* Headings may go on: "memory.used [mib]". */
static const struct {
	const char *begin;
	enum column column;
} headings[] = {
	{"remapped_rows.pending", COLUMN_REMAP},
	{"remapped_rows.failure", COLUMN_REMAP},
	{"retired_pages.pending", COLUMN_REMAP},
	{"ecc.errors.uncorrected.volatile", COLUMN_ECC},
	{"memory.used", COLUMN_USED},
	{"memory.total", COLUMN_TOTAL},
	{"uuid", COLUMN_UUID},
	{"gpu_uuid", COLUMN_UUID},
	{"pci.bus_id", COLUMN_BUS},
	{"gpu_bus_id", COLUMN_BUS},
	{"serial", COLUMN_SERIAL},
	{"gpu_serial", COLUMN_SERIAL},
	{"pid", COLUMN_PID},
	{"timestamp", COLUMN_TIME},
};

struct row {
	int64_t used, total, pid;	     /* FIGURE_NONE */
	uint64_t keys[SMI_KEY_COUNT_], time; /* hashes; 0: none */
	bool is_ecc, is_remap;
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
			     "used_memory|gpu_uuid|gpu_bus_id"))
		return false;
	for (size_t i = 0; at && i < SMI_COLUMNS_MAX && !is_known; i++, at = next_column(at))
		is_known = find_column(at) != COLUMN_OTHER;
	return is_known;
}

static void read_heading(struct smi_state *self, const char *at)
{
	for (size_t i = 0; i < SMI_COLUMNS_MAX; i++, at = at ? next_column(at) : NULL) {
		self->columns[i] = at ? (uint8_t)find_column(at) : COLUMN_OTHER;
		self->is_list = self->is_list || self->columns[i] == COLUMN_PID;
	}
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

static uint64_t hash_value(const char *at)
{
	return hash_stable(HASH_STABLE_INIT, at, strcspn(at, ", "));
}

static void read_value(enum column column, const char *at, struct row *ret)
{
	switch (column) {
	case COLUMN_ECC:
		ret->is_ecc = ret->is_ecc || smi_is_set(at);
		break;
	case COLUMN_REMAP:
		ret->is_remap = ret->is_remap || smi_is_set(at);
		break;
	case COLUMN_USED:
		ret->used = read_size(at);
		break;
	case COLUMN_TOTAL:
		ret->total = read_size(at);
		break;
	case COLUMN_UUID:
	case COLUMN_BUS:
	case COLUMN_SERIAL:
		if (!strstarts(at, "[n/a]") && !strstarts(at, "n/a"))
			ret->keys[column - COLUMN_UUID] = hash_value(at);
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

static bool has_any_key(const struct row *row)
{
	bool has_any = false;

	for (int i = 0; i < SMI_KEY_COUNT_; i++)
		has_any = has_any || row->keys[i];
	return has_any;
}

static bool is_same(const struct smi_gpu *gpu, const struct row *row)
{
	for (int i = 0; i < SMI_KEY_COUNT_; i++)
		if (row->keys[i] && gpu->keys[i])
			return row->keys[i] == gpu->keys[i];
	return false;
}

/* The GPU of a row, a new one where it is not known; NULL: there are too many. */
static struct smi_gpu *find_gpu(struct smi_state *self, const struct row *row)
{
	struct smi_gpu *gpu;
	size_t i = 0;

	while (i < self->n_begun && !is_same(&self->gpus[i], row))
		i++;
	if (i == SMI_CARDS_MAX)
		return NULL;
	gpu = &self->gpus[i];
	self->n_begun = MAX(self->n_begun, i + 1);
	for (int k = 0; k < SMI_KEY_COUNT_; k++)
		if (row->keys[k])
			gpu->keys[k] = row->keys[k];
	return gpu;
}

/* A list that is printed again and again (-l) has a time, or the same processes. */
static void count_process(struct smi_state *self, size_t gpu, const struct row *row, const struct line *line)
{
	int n = 1;

	if (row->time != self->listed_at)
		self->n_listed = 0;
	self->listed_at = row->time;
	for (size_t i = 0; i < self->n_listed; i++) {
		if (self->listed[i].gpu == gpu && self->listed[i].pid == row->pid)
			return;
		n += self->listed[i].gpu == gpu;
	}
	if (self->n_listed < SMI_LISTED_MAX)
		self->listed[self->n_listed++] = (struct smi_listed){gpu, row->pid};
	smi_see_processes(self, n, line);
}

/* Without the name of its GPU a process may be on any. */
static void see_process(struct smi_state *self, const struct row *row, const struct line *line)
{
	struct smi_gpu *gpu = has_any_key(row) ? find_gpu(self, row) : NULL;

	self->n_apps++;
	for (int i = 0; i < SMI_KEY_COUNT_; i++)
		self->has_key[i] = self->has_key[i] || row->keys[i];
	if (!gpu)
		return;
	gpu->n_processes++;
	count_process(self, (size_t)(gpu - self->gpus), row, line);
}

static enum signal_id read_values(struct smi_state *self, const char *at, const struct line *line)
{
	struct row row = {.used = FIGURE_NONE, .total = FIGURE_NONE, .pid = FIGURE_NONE};
	struct smi_gpu *gpu;

	for (size_t i = 0; at && i < SMI_COLUMNS_MAX; i++, at = next_column(at))
		read_value((enum column)self->columns[i], at, &row);
	if (row.used != FIGURE_NONE && row.total > 0) {
		gpu = find_gpu(self, &row);
		if (gpu)
			smi_see_gpu(self, gpu, row.used, row.total, line);
	}
	if (row.pid != FIGURE_NONE)
		see_process(self, &row, line);
	if (row.is_ecc)
		return SIGNAL_GPU_ECC;
	return row.is_remap ? SIGNAL_ROW_REMAP : SIGNAL_COUNT_;
}

enum signal_id smi_csv_read(struct smi_state *self, const struct line *line)
{
	const char *at = line->lower + strspn(line->lower, " \t");

	if (!smi_csv_begins(at))
		return read_values(self, at, line);
	read_heading(self, at);
	return SIGNAL_COUNT_;
}
