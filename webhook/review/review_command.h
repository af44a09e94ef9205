/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review_command: `memtamer-webhook review` shows the webhook's decisions offline, for CI and pre-commit. It reads
 * manifests (YAML and JSON, several documents in a file, folders, standard input), passes each pod and pod template
 * to decide() and prints findings and changes. Exit codes: 0: clean; 1: findings at or above --fail-on; 2: a named
 * file could not be read (the others are reviewed nevertheless); 3: output failed. docs/CHECKS.md describes the
 * JSON output. */
#include "cli/cli.h"

extern const struct cli_command review_command;
