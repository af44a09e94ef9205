/* SPDX-License-Identifier: Apache-2.0 */
/* memtamer-webhook: the admission webhook and its decisions offline. */
#include "program/program.h"
#include "review/review_command.h"
#include "serve/serve_command.h"

int main(int argc, char **argv)
{
	const struct cli_command commands[] = {serve_command, review_command, {.name = NULL}};

	return program_main("memtamer-webhook", "Sizes the memory of training pods as they are created.", commands,
			    argc, argv);
}
