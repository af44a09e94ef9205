/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef err_set
#undef err_set_at

void freep(void *pointer_to_pointer)
{
	void **p = pointer_to_pointer;

	free(*p);
	*p = NULL;
}

void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

ATTR_PRINTF(3, 0) static void err_fill(struct err *err, int code, const char *fmt, va_list args)
{
	err->code = code;
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	err->where[0] = '\0';
	va_start(args, fmt);
	err_fill(err, code, fmt, args);
	va_end(args);
	return code;
}

int err_set_at(struct err *err, int code, const char *file, size_t line, size_t column, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	if (!file)
		file = "";
	if (line && column)
		snprintf(err->where, sizeof(err->where), "%s:%zu:%zu", file, line, column);
	else if (line)
		snprintf(err->where, sizeof(err->where), "%s:%zu", file, line);
	else
		snprintf(err->where, sizeof(err->where), "%s", file);
	va_start(args, fmt);
	err_fill(err, code, fmt, args);
	va_end(args);
	return code;
}

void err_wrap(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	va_list args;
	int n;

	if (!err)
		return;
	memcpy(old, err->msg, sizeof(old));
	va_start(args, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(err->msg))
		snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", old);
}

const char *err_text(const struct err *err, char *buf, size_t size)
{
	if (err->where[0])
		snprintf(buf, size, "%s: %s", err->where, err->msg);
	else
		snprintf(buf, size, "%s", err->msg);
	return buf;
}
