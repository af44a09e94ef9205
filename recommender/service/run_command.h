/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* run_command: `memtamer-recommender run [--config FILE] [--once]`.
 *
 * Without --once it loops at recommender.interval until SIGTERM or SIGINT; SIGHUP or a changed file reloads the
 * configuration (an invalid one is logged and the old one stays). With a cluster only the leader runs cycles: when
 * leadership is lost a cycle ends before its next write, and the process stands for election again. Exit codes with
 * --once, which asks nobody for leadership: 0; 1 partial data; 2 usage or configuration; 3 Prometheus not reachable or
 * store not writable. */
#include "cli/cli.h"

extern const struct cli_command run_command;
