/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* triage_command: `triage` reads what is left of a run that has ended, a pod or an owner of pods in a cluster and
 * files, and prints what kind of out-of-memory it was, with the evidence and what to do first. Exit codes: 0, whatever
 * was found; 2: usage, an input that cannot be read, or no such object; 3: the cluster cannot be read, the output
 * failed, or no memory is left. */
#include "cli/cli.h"

extern const struct cli_command triage_command;
