/* SPDX-License-Identifier: Apache-2.0 */
/* What drivers, libraries and tools say of a GPU itself: its errors, its memory before the program uses it, asserts of
 * kernels that it runs. */
#include "triage/signals.h"

#include <ctype.h>

/* "NVRM: Xid (PCI:0000:65:00): 79, pid=1234, GPU has fallen off the bus.", "...: 45, pid=1234, Ch 00000001 caused by
 * previous Xid 149", which is about 149. Numbers of switches (SXid) have five digits. */
bool read_xid(const struct line *line, struct reading *ret)
{
	const char *at = strstr(line->lower, "xid ("), *previous = strstr(line->lower, "caused by previous xid ");
	size_t n;

	at += strcspn(at, ")");
	if (*at != ')')
		return false;
	at += 1 + strspn(at + 1, ": ");
	n = text_number(at, &ret->value);
	if (!n || n > 3 || is_mention(line, strstr(line->lower, "xid (")))
		return false;
	if (previous)
		text_number(previous + strlen("caused by previous xid "), &ret->value);
	/* "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)": it is well again. */
	if (ret->value == 154 && strstr(line->lower, " to 0x0 (none)"))
		return false;
	return ret->value < 1000;
}

/* The value of a field: "Uncorrectable ECC errors : 2", "Row Remapping Pending: Yes". A heading is no field, and what
 * says that nothing was found ("Remapped rows: none") is no fault. */
static bool is_bad_field(const char *at)
{
	const char *value = strpbrk(at, ":=");
	int64_t number;

	if (!value || value - at > 48)
		return false;
	value += strspn(value, ":=\" ");
	if (text_number(value, &number))
		return number > 0;
	return *value && !strstarts(value, "none") && !strstarts(value, "n/a") && !strstarts(value, "no");
}

/* AMD's driver: "1 new uncorrectable hardware errors detected in umc block", "no uncorrectable hardware errors detected
 * in gfx block", "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!". */
static bool is_amd_error(const char *lower, const char *at)
{
	const char *start = at;
	int64_t n;

	if (strstarts(at, "uncorrectable hardware error("))
		return true;
	if (!strstr(at, " detected"))
		return false;
	start -= at - lower >= 4 && strstarts(at - 4, "new ") ? 4 : 0;
	while (start > lower && start[-1] == ' ')
		start--;
	while (start > lower && isdigit((unsigned char)start[-1]))
		start--;
	return text_number(start, &n) && n > 0;
}

/* A driver, a tool or a runtime reports it, or a field has it; sentences about such errors report none. */
bool read_ecc(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower;

	(void)ret;
	if (is_mention(line, line->at))
		return false;
	if (text_has(lower, "nvrm:|xid (|cuda error|hip error|cudaerror|ecc_uncorrectable|eccuncorrectable|encountered|"
			    "cuda_error_contained|nvlink or a hardware error"))
		return true;
	if (strstarts(line->at, "uncorrectable hardware error"))
		return is_amd_error(lower, line->at);
	return is_bad_field(line->at);
}

/* What TensorFlow prints of a card before it uses it: "Total memory: 7.92GiB", "Free memory: 190.31MiB" (1.x, also in
 * one word), "deviceMemorySize: 10.92GiB" and "Created device /job:.../device:GPU:0 with 9800 MB memory", which is what
 * was free less a reserve (2.x). */
bool read_gpu_device(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "total memory:|totalmemory:|devicememorysize:");
	int64_t bytes;

	if (at && text_size(strchr(at, ':') + 1 + strspn(strchr(at, ':') + 1, " "), false, &bytes))
		figures_set(&ret->figures, FIGURE_CAPACITY, bytes);
	at = text_find(line->lower, "free memory:|freememory:");
	if (at && text_size(strchr(at, ':') + 1 + strspn(strchr(at, ':') + 1, " "), false, &bytes))
		figures_set(&ret->figures, FIGURE_FREE, bytes);
	at = text_has(line->lower, "device:gpu:") ? text_find(line->lower, "mb memory") : NULL;
	if (at && text_size_before(line->lower, at + 2, &bytes))
		figures_set(&ret->figures, FIGURE_FREE, bytes);
	return figures_has(&ret->figures, FIGURE_CAPACITY) || figures_has(&ret->figures, FIGURE_FREE);
}

/* "CUDA error: device-side assert triggered", and what the kernel prints: "Index.cu:53: ... block: [502,0,0], thread:
 * [2,0,0] Assertion `...` failed." */
bool read_device_assert(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (text_has(line->lower, "device-side assert triggered|cudaerrorassert"))
		return !is_mention(line, line->at);
	return text_has(line->lower, "block: [") && text_has(line->lower, "assertion") &&
	       text_has(line->lower, "failed");
}

/* Only what nvidia-smi prints as a whole shows this; see smi.h. */
bool read_smi_only(const struct line *line, struct reading *ret)
{
	(void)line;
	(void)ret;
	return false;
}
