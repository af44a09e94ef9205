/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* serve_command: the command `serve`, which runs the HTTPS server. It drains and exits with 0 on SIGTERM or SIGINT;
 * SIGHUP reloads everything. Exit code 2: the configuration is wrong; 3: the address, the certificate or the system
 * does not allow to serve. */
#include "cli/cli.h"

extern const struct cli_command serve_command;
