/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* probe_command: `memtamer-recommender probe [--config FILE]`: does the API server reach the webhook? One sentence, for
 * people and for `helm test`. Exit codes: 0 it does; 1 it does not, or its configuration is not there; 2 usage or
 * configuration; 3 it could not be asked. */
#include "cli/cli.h"

extern const struct cli_command probe_command;
