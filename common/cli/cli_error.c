/* SPDX-License-Identifier: Apache-2.0 */
/* cli_error: how commands report errors. */
#include "cli/cli.h"

#include "base/plain.h"

#include <stdarg.h>
#include <stdio.h>

int cli_usage_error(const char *program_and_command, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_and_command);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\nTry '%s --help'.\n", program_and_command);
	return EXIT_USAGE;
}

void cli_complain(const struct cli_args *args, const char *what, const struct err *err)
{
	char text[sizeof(err->where) + sizeof(err->msg)];

	fprintf(stderr, "%s: %s%s", args->command, what ? what : "", what ? ": " : "");
	plain_print(err_text(err, text, sizeof(text)), stderr);
	fputc('\n', stderr);
}

int cli_fail(const struct cli_args *args, const struct err *err, int code)
{
	cli_complain(args, NULL, err);
	return code;
}
