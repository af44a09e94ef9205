/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* serve: the HTTPS server as a command. It ends on SIGTERM or SIGINT with 0, after draining; SIGHUP loads everything
 * anew. 2: the configuration is wrong; 3: the address, the certificate or the machine does not allow to serve. */
#include "cli/cli.h"

extern const struct cli_command serve_command;
