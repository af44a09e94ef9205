/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a configuration, and parsing of numbers. */
#include "config/config_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int config_fail(const struct config_loader *loader, const struct yaml_node *node, const char *path, const char *fmt,
		...)
{
	char message[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return err_set_at(loader->err, -EINVAL, loader->name, node->line, node->column, "%s%s: %s", loader->prefix,
			  path, message);
}

int config_fail_memory(const struct config_loader *loader)
{
	return err_set_at(loader->err, -ENOMEM, loader->name, 0, 0, "out of memory");
}

int config_parse_integer(const char *text, size_t n, int64_t *ret)
{
	bool is_negative = n && text[0] == '-';
	long long value;

	if (n == (size_t)is_negative || strspn(text + is_negative, "0123456789") != n - is_negative)
		return -EINVAL;
	errno = 0;
	value = strtoll(text, NULL, 10);
	if (errno)
		return -ERANGE;
	*ret = value;
	return 0;
}

int config_parse_quantity(const char *text, size_t n, int64_t *ret_bytes)
{
	struct quantity quantity;

	if (quantity_parse(text, n, &quantity, NULL))
		return -EINVAL;
	*ret_bytes = quantity_value(&quantity);
	return 0;
}

int config_parse_fraction(const char *text, size_t n, int64_t *ret_permille)
{
	bool is_percent = n && text[n - 1] == '%';
	int64_t value = 0, scale = is_percent ? 10 : 1000; /* permille in one unit of the last digit */
	size_t end = n - is_percent, n_digits = 0;
	bool is_fraction = false;

	for (size_t i = 0; i < end; i++) {
		int digit = text[i] - '0';

		if (text[i] == '.' && !is_fraction) {
			is_fraction = true;
			continue;
		}
		if (digit < 0 || digit > 9)
			return -EINVAL;
		n_digits++;
		if (!is_fraction && value > INT64_MAX / 100)
			return -ERANGE;
		if (is_fraction && digit && scale % 10)
			return -ERANGE;
		if (is_fraction)
			scale /= 10;
		value = is_fraction ? value + digit * scale : value * 10 + digit * scale;
	}
	if (!n_digits)
		return -EINVAL;
	*ret_permille = value;
	return 0;
}
