/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/size_math.h"

#include "base/limits.h"
#include "policy/size.h"

#include <stdlib.h>

static int64_t cut(__int128 value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int64_t size_scale_permille(int64_t bytes, int64_t permille)
{
	if (bytes <= 0 || permille <= 0)
		return 0;
	return cut(((__int128)bytes * permille + 999) / 1000);
}

int64_t size_share(int64_t bytes, int64_t part, int64_t whole)
{
	if (bytes <= 0 || part <= 0 || whole <= 0)
		return 0;
	return cut((__int128)bytes * part / whole);
}

int64_t size_round_down_mi(int64_t bytes)
{
	return bytes <= 0 ? 0 : bytes - bytes % (int64_t)MIB;
}

int64_t size_round_up(int64_t bytes)
{
	int64_t unit = (int64_t)MIB, over;

	if (bytes <= 0)
		return 0;
	while (unit <= bytes / 128)
		unit *= 2;
	over = bytes % unit;
	if (!over)
		return bytes;
	if (bytes > INT64_MAX - unit)
		return INT64_MAX - INT64_MAX % unit;
	return bytes - over + unit;
}

static int compare_points(const void *a, const void *b)
{
	const struct size_point *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

int64_t size_weighted_quantile(struct size_point *points, size_t n, int64_t permille)
{
	__int128 total = 0, seen = 0;

	if (!n)
		return 0;
	qsort(points, n, sizeof(*points), compare_points);
	for (size_t i = 0; i < n; i++)
		total += points[i].weight;
	for (size_t i = 0; i < n; i++) {
		seen += points[i].weight;
		if (seen * 1000 >= total * permille)
			return points[i].value;
	}
	return points[n - 1].value;
}

int32_t size_buffer_permille(const struct sizing_policy *sizing, int64_t n, int64_t peak_bytes)
{
	int64_t runs = MAX(n, 1), permille = sizing->buffer_min_permille;

	permille += (sizing->buffer_spread_permille + runs - 1) / runs;
	if (peak_bytes > 0)
		permille += (int64_t)(((__int128)sizing->buffer_fixed_bytes * 1000 + peak_bytes - 1) / peak_bytes);
	return (int32_t)MIN(permille, SIZE_BUFFER_PERMILLE_MAX);
}
