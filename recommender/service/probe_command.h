/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* probe_command: `memtamer-recommender probe [--config FILE]` checks whether the API server reaches the webhook and
 * prints one sentence, for people and for `helm test`. Exit codes: 0: it does; 1: it does not, or there is no webhook
 * configuration; 2: usage or configuration; 3: the API server could not be asked. */
#include "cli/cli.h"

extern const struct cli_command probe_command;
