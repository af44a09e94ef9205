/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* dcgm: what DCGM says of GPUs, in the text of dcgm-exporter and in what dcgmi health and dcgmi diag print, wherever it
 * stands: beside the driver's own lines it gives the same signals. Each line is read alone. dcgmi breaks its messages
 * into lines of 54 characters at a blank, or of 46 characters anywhere, so only words within the first 46 count. */
#include "triage/signals.h"

/* Messages of dcgmlib/dcgm_errors.h about memory that is damaged, and about rows and pages that were replaced. */
#define DCGM_ECC_MESSAGES                                                                                              \
	"volatile double-bit ecc error|dbe has been detected|faulty memory elements on gpu|a memory mismatch was "     \
	"detected on gpu|"                                                                                             \
	"an uncontained error (xid|miscompare failure in the l1|nan-value memory elements"
#define DCGM_REMAP_MESSAGES                                                                                            \
	"uncorrectable memory err|memory errors and row|pending retired page has been|"                                \
	"pages have been detected in gpu|retired pages due to dbes|pending page retirements together"
#define DCGM_ECC_WORDS	 "dcgm_fi_dev_ecc_dbe_vol_total|memory system|" DCGM_ECC_MESSAGES
#define DCGM_REMAP_WORDS "dcgm_fi_dev_row_remap_|dcgm_fi_dev_retired_pending|" DCGM_REMAP_MESSAGES
/* Parts of a GPU that dcgmi health can call failed, other than its memory. */
#define DCGM_SYSTEMS "nvlink system|sm system|mcu system|pmu system|inforom system|nvswitch f"

/** Whether a line may be of DCGM: of dcgm-exporter, or a row of a table. */
bool dcgm_is_line(const struct line *line);

/* Functions of rows of signals.h. They also read what the driver and nvidia-smi print. */
bool dcgm_read_xid(const struct line *line, struct reading *ret);
bool dcgm_read_ecc(const struct line *line, struct reading *ret);
bool dcgm_read_ecc_past(const struct line *line, struct reading *ret);
bool dcgm_read_remap(const struct line *line, struct reading *ret);
bool dcgm_read_unhealthy(const struct line *line, struct reading *ret);
bool dcgm_read_memory(const struct line *line, struct reading *ret);
