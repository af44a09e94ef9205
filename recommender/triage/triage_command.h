/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* triage_command: `triage` reads logs of a run that has ended and prints what kind of out-of-memory it was, with the
 * evidence and what to do first. Exit codes: 0, whatever was found; 2: usage, or an input that cannot be read; 3: the
 * output failed, or no memory is left. */
#include "cli/cli.h"

extern const struct cli_command triage_command;
