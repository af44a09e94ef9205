/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* run_command: `memtamer-recommender run [--config FILE] [--once]`.
 *
 * Without --once it runs a cycle every recommender.interval until SIGTERM or SIGINT. SIGHUP or a changed file reloads
 * the configuration; an invalid one is logged and the old one stays in use. In a cluster only the leader runs cycles.
 * When leadership is lost, the cycle ends before its next write and the process takes part in the election again.
 *
 * With --once it runs one cycle without an election. Exit codes: 0; 1: partial data; 2: usage or configuration; 3:
 * Prometheus not reachable or store not writable. */
#include "cli/cli.h"

extern const struct cli_command run_command;
