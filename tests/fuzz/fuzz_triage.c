/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are a log or the settings of a node, in memory or in a file, which is unpacked if it is compressed: triage
 * decides, quotes only lines that exist, and prints JSON in bounded space. The first byte chooses the way in. */
#include "triage/triage.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the first byte: the rest is a file. Its lowest bits choose the input. */
#define IN_FILE 0x40
/* A few bytes of Zstandard may unpack to 128 KiB. */
#define FILE_BYTES_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_in_memory(struct triage *triage, enum input input, const uint8_t *data, size_t size)
{
	if (facts_read_bytes(&triage->facts, "fuzz-rank3.log", input, (const char *)data, size))
		abort();
}

static void read_file(struct triage *triage, enum input input, const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct err err = ERR_INIT;
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || facts_read(&triage->facts, name, input, &err))
		abort();
	triage->facts.sources.items[0].name = "fuzz-rank3.log.gz"; /* `name` ends here */
	close(fd);
}

static void check(struct triage *triage)
{
	struct strbuf json = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES), text = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);

	triage_decide(triage);
	if (!triage->verdict.rule || !triage->verdict.why[0] || triage->facts.items.n > LIMIT_TRIAGE_FACTS)
		abort();
	for (size_t i = 0; i < triage->n_evidence; i++)
		if (!triage->evidence[i]->number ||
		    triage->evidence[i]->number > triage->facts.sources.items[0].n_lines + 1)
			abort();
	if (triage_json(triage, &json) || triage_text(triage, &text))
		abort();
	strbuf_release(&json);
	strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct triage *triage = malloc(sizeof(*triage));
	enum input input = size ? (enum input)(*data % (INPUT_NODE + 1)) : INPUT_LOG;

	if (!triage || triage_init(triage))
		abort();
	if (size && *data & IN_FILE)
		read_file(triage, input, data + 1, MIN(size - 1, (size_t)FILE_BYTES_MAX));
	else
		read_in_memory(triage, input, data + (size > 0), size - (size > 0));
	check(triage);
	triage_release(triage);
	free(triage);
	return 0;
}
