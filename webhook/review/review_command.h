/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review: `memtamer-webhook review`, the webhook's decisions offline, for CI and pre-commit. Reads manifests (YAML and
 * JSON, several documents a file, folders, standard input), takes each pod and pod template through decide() and prints
 * what would be said and changed. Exit codes: 0 clean, 1 findings at or above --fail-on, 2 an input that could not be
 * read (the others are reviewed all the same), 3 output failed. docs/CHECKS.md describes the JSON output. */
#include "cli/cli.h"

extern const struct cli_command review_command;
