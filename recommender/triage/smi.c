/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/smi.h"

#include "base/hash.h"

void smi_reset(struct smi_state *self)
{
	*self = (struct smi_state){.used = FIGURE_NONE, .total = FIGURE_NONE, .most_processes = -1};
}

/* No process: a quarter of a card that is in use nevertheless is held by nobody who is listed. */
static enum signal_id see_no_process(const struct smi_state *self, struct reading *ret)
{
	if (self->total <= 0 || self->total > FIGURE_MAX || self->used < self->total / 4)
		return SIGNAL_COUNT_;
	figures_set(&ret->figures, FIGURE_CAPACITY, self->total);
	figures_set(&ret->figures, FIGURE_OTHERS, self->used);
	return SIGNAL_GPU_ZOMBIE;
}

static void count_process(struct smi_state *self, size_t card)
{
	if (card >= SMI_CARDS_MAX)
		return;
	self->n_processes[card]++;
	self->most_processes = MAX(self->most_processes, self->n_processes[card]);
}

/* ---- the table ---- */

/* "| N/A   52C    P0    71W / 300W |  79151MiB / 81920MiB |    100%      Default |" */
static void read_table(struct smi_state *self, const char *lower)
{
	for (const char *at = strstr(lower, "mib / "); at; at = strstr(at + 6, "mib / ")) {
		int64_t used, total;

		if (text_size_before(lower, at + 3, &used) && text_size(at + 6, false, &total))
			smi_see_memory(self, used, total);
	}
}

/* "|    0   N/A  N/A      4321      C   python3             71234MiB |": also without the two columns of MIG. */
static void read_process(struct smi_state *self, const char *lower)
{
	const char *end = strstr(lower, "mib |");
	int64_t card;

	if (end && !end[5 + strspn(end + 5, " ")] && text_has(lower, " c | c+g ") &&
	    text_number(lower + 1 + strspn(lower + 1, " "), &card))
		count_process(self, (size_t)MIN(card, (int64_t)SMI_CARDS_MAX));
}

/* ---- XML ---- */

static bool read_tag(const char *lower, const char *tag, int64_t *ret)
{
	const char *at = strstr(lower, tag);

	return at && text_size(at + strlen(tag), false, ret) > 0;
}

/* A card's memory, and the list of processes that follows it. */
static enum signal_id read_xml_memory(struct smi_state *self, const char *lower, struct reading *ret)
{
	if (strstr(lower, "<fb_memory_usage>"))
		self->is_memory = true;
	if (self->is_memory) {
		read_tag(lower, "<total>", &self->total);
		read_tag(lower, "<used>", &self->used);
	}
	if (strstr(lower, "</fb_memory_usage>"))
		self->is_memory = false;
	if (strstr(lower, "<processes>"))
		self->has_process = false;
	if (strstr(lower, "<processes>"))
		self->n_processes[0] = 0;
	if (strstr(lower, "<process_info>"))
		self->has_process = true;
	if (strstr(lower, "<type>c</type>") || strstr(lower, "<type>c+g</type>"))
		count_process(self, 0);
	return strstr(lower, "</processes>") && !self->has_process ? see_no_process(self, ret) : SIGNAL_COUNT_;
}

static enum signal_id read_xml(struct smi_state *self, const char *lower, struct reading *ret)
{
	static const char *const tags[] = {"<remapped_row_pending>", "<remapped_row_failure>", "<pending_blacklist>",
					   "<pending_retirement>"};

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
	return read_xml_memory(self, lower, ret);
}

/* ---- -q ---- */

static enum signal_id read_key(struct smi_state *self, const char *key, const char *value, struct reading *ret)
{
	int64_t bytes;

	if (strncmp(self->section, "remapped rows", 13) == 0 &&
	    (strncmp(key, "pending", 7) == 0 || strncmp(key, "remapping failure", 17) == 0) && smi_is_set(value))
		return SIGNAL_ROW_REMAP;
	if (strncmp(self->section, "retired pages", 13) == 0 && strncmp(key, "pending", 7) == 0 && smi_is_set(value))
		return SIGNAL_ROW_REMAP;
	if (self->is_volatile && smi_is_set(value) &&
	    (strstr(key, "uncorrectable") || strncmp(self->section, "double bit", 10) == 0))
		return SIGNAL_GPU_ECC;
	if (strncmp(self->section, "fb memory usage", 15) == 0 && text_size(value, false, &bytes)) {
		if (strncmp(key, "total", 5) == 0)
			self->total = bytes;
		if (strncmp(key, "used", 4) == 0)
			self->used = bytes;
	}
	if (strncmp(key, "type ", 5) == 0 && (streq(value, "c") || streq(value, "c+g")))
		count_process(self, 0);
	if (strncmp(key, "processes", 9) == 0 && strncmp(value, "none", 4) == 0)
		return see_no_process(self, ret);
	return SIGNAL_COUNT_;
}

static void see_section(struct smi_state *self, const char *name)
{
	reading_copy(self->section, sizeof(self->section), name, "");
	if (strncmp(name, "processes", 9) == 0)
		self->n_processes[0] = 0;
	/* "Volatile" has sections of its own on older cards; "Aggregate" ends it. */
	if (strncmp(name, "volatile", 8) == 0)
		self->is_volatile = true;
	else if (strncmp(name, "single bit", 10) != 0 && strncmp(name, "double bit", 10) != 0)
		self->is_volatile = false;
}

enum signal_id smi_read(struct smi_state *self, const char *lower, struct reading *ret)
{
	const char *key = lower + strspn(lower, " \t"), *colon = strstr(key, " : ");

	if (text_has(key, signals[SIGNAL_GPU_LOST].words))
		return SIGNAL_GPU_LOST;
	if (*key == '<')
		return read_xml(self, key, ret);
	if (strchr(key, ',') && (self->is_csv || smi_csv_begins(key)))
		return smi_csv_read(self, key);
	if (*key == '|') {
		read_table(self, key);
		read_process(self, key);
		return strstr(key, "no running processes found") ? see_no_process(self, ret) : SIGNAL_COUNT_;
	}
	if (colon)
		return read_key(self, key, colon + 3, ret);
	if (*key)
		see_section(self, key);
	return SIGNAL_COUNT_;
}

/* ---- dcgm-exporter ---- */

static struct smi_dcgm *find_dcgm(struct smi_state *self, uint64_t card)
{
	for (size_t i = 0; i < self->n_dcgm; i++)
		if (self->dcgm[i].card == card)
			return &self->dcgm[i];
	if (self->n_dcgm == SMI_CARDS_MAX)
		return NULL;
	self->dcgm[self->n_dcgm] = (struct smi_dcgm){card, FIGURE_NONE, FIGURE_NONE};
	return &self->dcgm[self->n_dcgm++];
}

/* All metrics of a GPU have the same labels. */
void smi_see_dcgm(struct smi_state *self, const char *lower, const struct reading *reading)
{
	const int64_t *bytes = reading->figures.bytes;
	const char *labels = lower + strcspn(lower, "{ ");
	struct smi_dcgm *card = find_dcgm(self, hash_stable(HASH_STABLE_INIT, labels, strcspn(labels, "}")));

	if (!card)
		return;
	if (bytes[FIGURE_USAGE] != FIGURE_NONE)
		card->used = bytes[FIGURE_USAGE];
	if (bytes[FIGURE_FREE] != FIGURE_NONE)
		card->free = bytes[FIGURE_FREE];
	if (card->used != FIGURE_NONE && card->free != FIGURE_NONE)
		smi_see_memory(self, card->used, card->used + card->free);
}
