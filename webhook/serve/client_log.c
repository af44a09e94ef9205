/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/client_log.h"

/* Problems: 20 lines at once, then 2 a second. Records of patches: a burst is a gang of pods; 50 a second are more than
 * four million a day. */
#define PROBLEM 20, 500
#define RECORD	2000, 20

const struct log_kind client_lines[CLIENT_LINE_COUNT_] = {
	[LINE_CLIENT_REFUSED] = {LOG_WARN, "client refused", PROBLEM},
	[LINE_SLOW_CLOSED] = {LOG_WARN, "slow connection closed", PROBLEM},
	[LINE_EVICTED] = {LOG_WARN, "connection closed: webhook.connections is reached", PROBLEM},
	[LINE_CONNECTION] = {LOG_DEBUG, "http server", PROBLEM},
	[LINE_NO_DECISION] = {LOG_WARN, "allowed without a decision", PROBLEM},
	[LINE_POD_PATCHED] = {LOG_INFO, "pod patched", RECORD},
	[LINE_TEMPLATE_PATCHED] = {LOG_INFO, "template patched", RECORD},
};
