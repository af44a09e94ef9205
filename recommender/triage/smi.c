/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/smi.h"

#include "base/hash.h"

#include <ctype.h>

static void reset_gpus(struct smi_state *self)
{
	for (size_t i = 0; i < SMI_CARDS_MAX; i++)
		self->gpus[i] = (struct smi_gpu){.used.value = FIGURE_NONE, .total = FIGURE_NONE};
	self->at = self->n_begun = self->n_listed = self->n_apps = 0;
	self->is_list = self->is_csv = self->is_volatile = self->is_memory = self->is_instance = false;
	self->section[0] = '\0';
	memset(self->has_key, 0, sizeof(self->has_key));
}

void smi_reset(struct smi_state *self)
{
	*self = (struct smi_state){.used = FIGURE_NONE,
				   .total = FIGURE_NONE,
				   .most_processes = -1,
				   .zombie.value = FIGURE_NONE,
				   .shared.value = FIGURE_NONE};
	reset_gpus(self);
}

/* ---- what all formats have ---- */

/* NULL: there are more GPUs than are counted. */
static struct smi_gpu *current(struct smi_state *self)
{
	return self->at < SMI_CARDS_MAX ? &self->gpus[self->at] : NULL;
}

static void begin_gpu(struct smi_state *self)
{
	self->at = self->n_begun;
	self->n_begun = MIN(self->n_begun + 1, (size_t)SMI_CARDS_MAX);
	self->is_instance = false;
}

static void count_computing(struct smi_state *self, struct smi_gpu *gpu, const struct line *line)
{
	if (gpu)
		smi_see_processes(self, ++gpu->n_computing, line);
}

/* Whether the list of processes, if there is one, can have those of this GPU. */
static bool can_be_listed(const struct smi_state *self, const struct smi_gpu *gpu)
{
	bool is_joined = !self->n_apps;

	for (int i = 0; i < SMI_KEY_COUNT_; i++)
		is_joined = is_joined || (self->has_key[i] && gpu->keys[i]);
	return gpu->is_listed || (self->is_list && is_joined);
}

void smi_end(struct smi_state *self)
{
	for (size_t i = 0; i < SMI_CARDS_MAX; i++) {
		const struct smi_gpu *gpu = &self->gpus[i];

		if (gpu->total <= 0 || gpu->total > FIGURE_MAX || gpu->used.value < gpu->total / 4 ||
		    gpu->n_processes || !can_be_listed(self, gpu) || gpu->used.value <= self->zombie.value)
			continue;
		self->zombie = gpu->used;
		self->zombie_total = gpu->total;
	}
	reset_gpus(self);
}

/* ---- the table ---- */

/* "00000000:07:00.0" */
static bool has_bus_id(const char *lower)
{
	for (const char *at = strchr(lower, ':'); at; at = strchr(at + 1, ':'))
		if (isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]) && at[3] == ':' &&
		    isxdigit((unsigned char)at[4]) && isxdigit((unsigned char)at[5]) && at[6] == '.')
			return true;
	return false;
}

/* "|   0  NVIDIA A100-SXM4-80GB   On  | 00000000:07:00.0 Off |    0 |": the GPU that the next line is about. */
static void read_table_gpu(struct smi_state *self, const char *lower)
{
	int64_t index;

	if (has_bus_id(lower) && text_number(lower + 1 + strspn(lower + 1, " "), &index))
		self->at = (size_t)MIN(index, (int64_t)SMI_CARDS_MAX);
}

/* "| N/A   52C    P0    71W / 300W |  79151MiB / 81920MiB |    100%      Default |"; newer drivers print more blanks:
 * "|   62059MiB /  81559MiB |". */
static void read_table_memory(struct smi_state *self, const struct line *line)
{
	struct smi_gpu *gpu = current(self);
	const char *at = strstr(line->lower, "mib / ");
	int64_t used, total;

	if (gpu && at && gpu->total == FIGURE_NONE && text_size_before(line->lower, at + 3, &used) &&
	    text_size(at + 6 + strspn(at + 6, " "), false, &total))
		smi_see_gpu(self, gpu, used, total, line);
}

/* A column of a row, which blanks separate; an empty text at the end. */
static const char *next_column(const char *at)
{
	at += strcspn(at, " ");
	return at + strspn(at, " ");
}

/* "|    0   N/A  N/A      4321      C   python3             71234MiB |": also without the two columns of MIG, and with
 * its numbers there. Windows prints no size. */
static void read_table_process(struct smi_state *self, const struct line *line)
{
	const char *first = line->lower + strspn(line->lower, "| \t"), *column = next_column(first);
	struct smi_gpu *gpu;
	int64_t index, pid;
	int n_numbers = 0;

	if (!text_number(first, &index))
		return;
	gpu = index < SMI_CARDS_MAX ? &self->gpus[index] : NULL;
	/* A driver that cannot list processes: there may be some. */
	if (gpu && strstarts(column, "not supported"))
		gpu->n_processes++;
	for (; text_number(column, &pid) || strstarts(column, "n/a "); column = next_column(column))
		n_numbers += isdigit((unsigned char)*column) != 0;
	if (!n_numbers || !(strstarts(column, "c ") || strstarts(column, "g ") || strstarts(column, "c+g ") ||
			    strstarts(column, "m+c ")))
		return;
	self->is_list = true;
	if (gpu)
		gpu->n_processes++;
	if (n_numbers == 1 && *column == 'c')
		count_computing(self, gpu, line);
}

static void read_table(struct smi_state *self, const struct line *line)
{
	const char *lower = line->lower + strspn(line->lower, " \t");

	if (strstr(lower, "nvidia-smi ") && strstr(lower, "driver version"))
		smi_end(self);
	if (text_has(lower, " processes: |no running processes found"))
		self->is_list = true;
	read_table_gpu(self, lower);
	read_table_memory(self, line);
	read_table_process(self, line);
}

/* ---- XML ---- */

static bool read_tag(const char *lower, const char *tag, int64_t *ret)
{
	const char *at = strstr(lower, tag);

	return at && text_size(at + strlen(tag), false, ret) > 0;
}

static void read_xml_memory(struct smi_state *self, const char *lower, const struct line *line)
{
	struct smi_gpu *gpu = current(self);
	int64_t used;

	self->is_memory = self->is_memory || strstr(lower, "<fb_memory_usage>");
	/* Instances of MIG have such a section, too. */
	if (self->is_memory && gpu && gpu->used.value == FIGURE_NONE) {
		read_tag(lower, "<total>", &gpu->total);
		if (read_tag(lower, "<used>", &used))
			smi_see_gpu(self, gpu, used, gpu->total, line);
	}
	if (strstr(lower, "</fb_memory_usage>"))
		self->is_memory = false;
}

static void read_xml_process(struct smi_state *self, const char *lower, const struct line *line)
{
	struct smi_gpu *gpu = current(self);

	if (gpu && text_has(lower, "<processes>|<processes/>"))
		gpu->is_listed = true;
	if (gpu && strstr(lower, "<process_info>"))
		gpu->n_processes++;
	if (strstr(lower, "<gpu_instance_id>"))
		self->is_instance = !strstr(lower, "<gpu_instance_id>n/a");
	if (!self->is_instance && text_has(lower, "<type>c</type>|<type>c+g</type>"))
		count_computing(self, gpu, line);
}

static enum signal_id read_xml(struct smi_state *self, const char *lower, const struct line *line)
{
	static const char *const tags[] = {"<remapped_row_pending>", "<remapped_row_failure>", "<pending_blacklist>",
					   "<pending_retirement>"};

	if (strstr(lower, "<nvidia_smi_log>"))
		smi_end(self);
	if (strstr(lower, "<gpu id="))
		begin_gpu(self);
	read_xml_memory(self, lower, line);
	read_xml_process(self, lower, line);
	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		const char *at = strstr(lower, tags[i]);

		if (at && smi_is_set(at + strlen(tags[i])))
			return SIGNAL_ROW_REMAP;
	}
	if (strstr(lower, "<volatile>"))
		self->is_volatile = true;
	if (self->is_volatile)
		for (const char *at = strstr(lower, "uncorrectable"); at; at = strstr(at + 1, "uncorrectable"))
			if (smi_is_set(at + strcspn(at, ">") + (at[strcspn(at, ">")] == '>')))
				return SIGNAL_GPU_ECC;
	if (strstr(lower, "</volatile>"))
		self->is_volatile = false;
	return SIGNAL_COUNT_;
}

/* ---- -q ---- */

static void read_key_memory(struct smi_state *self, const char *key, const char *value, const struct line *line)
{
	struct smi_gpu *gpu = current(self);
	int64_t bytes;

	/* Instances of MIG have such a section, too. */
	if (!gpu || gpu->used.value != FIGURE_NONE || !strstarts(self->section, "fb memory usage") ||
	    !text_size(value, false, &bytes))
		return;
	if (strstarts(key, "total"))
		gpu->total = bytes;
	if (strstarts(key, "used"))
		smi_see_gpu(self, gpu, bytes, gpu->total, line);
}

static void read_key_process(struct smi_state *self, const char *key, const char *value, const struct line *line)
{
	struct smi_gpu *gpu = current(self);

	if (gpu && strstarts(key, "processes") && strstarts(value, "none"))
		gpu->is_listed = true;
	if (gpu && strstarts(key, "process id"))
		gpu->n_processes++;
	if (strstarts(key, "gpu instance id"))
		self->is_instance = !strstarts(value, "n/a");
	if (!self->is_instance && strstarts(key, "type ") && (streq(value, "c") || streq(value, "c+g")))
		count_computing(self, gpu, line);
}

static enum signal_id read_key(struct smi_state *self, const char *key, const char *value, const struct line *line)
{
	read_key_memory(self, key, value, line);
	read_key_process(self, key, value, line);
	if (strstarts(self->section, "remapped rows") &&
	    (strstarts(key, "pending") || strstarts(key, "remapping failure")) && smi_is_set(value))
		return SIGNAL_ROW_REMAP;
	if (strstarts(self->section, "retired pages") && strstarts(key, "pending") && smi_is_set(value))
		return SIGNAL_ROW_REMAP;
	if (self->is_volatile && smi_is_set(value) &&
	    (strstr(key, "uncorrectable") || strstarts(self->section, "double bit")))
		return SIGNAL_GPU_ECC;
	return SIGNAL_COUNT_;
}

static void see_section(struct smi_state *self, const char *name)
{
	struct smi_gpu *gpu;

	if (strstr(name, "nvsmi log"))
		smi_end(self);
	if (strstarts(name, "gpu ") && has_bus_id(name))
		begin_gpu(self);
	reading_copy(self->section, sizeof(self->section), name, "");
	gpu = current(self);
	if (gpu && strstarts(name, "processes")) {
		gpu->is_listed = true;
		gpu->n_computing = 0;
	}
	/* "Volatile" has sections of its own on older GPUs; "Aggregate" ends it. */
	if (strstarts(name, "volatile"))
		self->is_volatile = true;
	else if (!strstarts(name, "single bit") && !strstarts(name, "double bit"))
		self->is_volatile = false;
}

/* A heading of CSV, or values below one. One column has no commas. */
static bool is_csv(const struct smi_state *self, const char *key, const char *colon)
{
	bool has_value = strchr(key, ',') || (!colon && isdigit((unsigned char)*key));

	return (self->is_csv && has_value) || (!colon && smi_csv_begins(key));
}

enum signal_id smi_read(struct smi_state *self, const struct line *line)
{
	const char *key = line->lower + strspn(line->lower, " \t"), *colon = strstr(key, " : ");

	if (text_has(key, signals[SIGNAL_GPU_LOST].words))
		return SIGNAL_GPU_LOST;
	if (*key == '<')
		return read_xml(self, key, line);
	if (is_csv(self, key, colon))
		return smi_csv_read(self, line);
	if (*key == '|')
		read_table(self, line);
	else if (colon)
		return read_key(self, key, colon + 3, line);
	else if (*key)
		see_section(self, key);
	return SIGNAL_COUNT_;
}

/* ---- dcgm-exporter ---- */

static struct smi_dcgm *find_dcgm(struct smi_state *self, uint64_t labels)
{
	for (size_t i = 0; i < self->n_dcgm; i++)
		if (self->dcgm[i].gpu == labels)
			return &self->dcgm[i];
	if (self->n_dcgm == SMI_CARDS_MAX)
		return NULL;
	self->dcgm[self->n_dcgm] = (struct smi_dcgm){labels, FIGURE_NONE, FIGURE_NONE};
	return &self->dcgm[self->n_dcgm++];
}

/* All metrics of a GPU have the same labels. */
void smi_see_dcgm(struct smi_state *self, const char *lower, const struct reading *reading)
{
	const int64_t *bytes = reading->figures.bytes;
	const char *labels = lower + strcspn(lower, "{ ");
	struct smi_dcgm *gpu = find_dcgm(self, hash_stable(HASH_STABLE_INIT, labels, strcspn(labels, "}")));

	if (!gpu)
		return;
	if (bytes[FIGURE_USAGE] != FIGURE_NONE)
		gpu->used = bytes[FIGURE_USAGE];
	if (bytes[FIGURE_FREE] != FIGURE_NONE)
		gpu->free = bytes[FIGURE_FREE];
	if (gpu->used != FIGURE_NONE && gpu->free != FIGURE_NONE)
		smi_see_memory(self, gpu->used, gpu->used + gpu->free);
}
