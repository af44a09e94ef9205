/* SPDX-License-Identifier: Apache-2.0 */
/* sketch: buckets follow the binary exponent, 64 of equal width in every octave, so the middle of a bucket is within
 * 0.5 / 64 = 0.8 % of every value in it. Compared with true logarithms this needs no libm, gives the same index on
 * every machine, and costs one count of leading zeros for each sample; it takes 64 buckets an octave where 35 would
 * suffice. */
#include "model/sketch.h"

#include <errno.h>
#include <stdlib.h>

#define SKETCH_SUB_BITS 6
#define SKETCH_SUB	(1 << SKETCH_SUB_BITS)
/* The index of INT64_MAX, which is the greatest index. */
#define SKETCH_INDEX_MAX ((62 - SKETCH_SUB_BITS) * SKETCH_SUB + 2 * SKETCH_SUB - 1)

static int32_t sketch_index(int64_t value)
{
	int shift = 63 - __builtin_clzll((unsigned long long)value) - SKETCH_SUB_BITS;

	return shift <= 0 ? (int32_t)value : (int32_t)((int64_t)shift * SKETCH_SUB + (value >> shift));
}

/* The middle of a bucket, within the error of every value in it. */
static int64_t sketch_value(int32_t index)
{
	int shift;
	int64_t mantissa;

	if (index < 2 * SKETCH_SUB)
		return index;
	shift = index / SKETCH_SUB - 1;
	mantissa = index - (int64_t)shift * SKETCH_SUB;
	return (mantissa << shift) + (((int64_t)1 << shift) >> 1);
}

void sketch_release(struct sketch *self)
{
	free(self->weights);
	*self = (struct sketch)SKETCH_INIT;
}

/* Extends the dense range to cover index..index + count - 1. */
static int sketch_cover(struct sketch *self, int32_t index, size_t count)
{
	int32_t first = self->n ? MIN(self->first, index) : index;
	int32_t end = self->n ? MAX(self->first + (int32_t)self->n, index + (int32_t)count) : index + (int32_t)count;
	int64_t *weights;
	size_t n;

	/* Whole octaves, so that rising values do not reallocate the array with every new bucket. */
	first &= ~(SKETCH_SUB - 1);
	n = (size_t)((end - first + SKETCH_SUB - 1) & ~(SKETCH_SUB - 1));
	if (self->n && self->first == first && self->n == n)
		return 0;
	weights = calloc(n, sizeof(*weights));
	if (!weights)
		return -ENOMEM;
	if (self->n)
		memcpy(weights + (self->first - first), self->weights, self->n * sizeof(*weights));
	free(self->weights);
	self->weights = weights;
	self->first = first;
	self->n = n;
	return 0;
}

static int64_t add_capped(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int sketch_add(struct sketch *self, int64_t value_bytes, int64_t weight_ms)
{
	int32_t index;
	int r;

	if (weight_ms <= 0)
		return 0;
	if (value_bytes <= 0) {
		self->zero_weight = add_capped(self->zero_weight, weight_ms);
	} else {
		index = sketch_index(value_bytes);
		r = sketch_cover(self, index, 1);
		if (r)
			return r;
		self->weights[index - self->first] = add_capped(self->weights[index - self->first], weight_ms);
	}
	self->total_weight = add_capped(self->total_weight, weight_ms);
	return 0;
}

int sketch_merge(struct sketch *self, const struct sketch *other)
{
	int r = other->n ? sketch_cover(self, other->first, other->n) : 0;

	if (r)
		return r;
	for (size_t i = 0; i < other->n; i++) {
		int64_t *weight = &self->weights[(size_t)(other->first - self->first) + i];

		*weight = add_capped(*weight, other->weights[i]);
	}
	self->zero_weight = add_capped(self->zero_weight, other->zero_weight);
	self->total_weight = add_capped(self->total_weight, other->total_weight);
	return 0;
}

int64_t sketch_quantile(const struct sketch *self, double q)
{
	double target = q * (double)self->total_weight;
	double sum = (double)self->zero_weight;
	int32_t last = 0;

	if (!self->total_weight || (self->zero_weight && sum >= target))
		return 0;
	for (size_t i = 0; i < self->n; i++) {
		if (!self->weights[i])
			continue;
		last = self->first + (int32_t)i;
		sum += (double)self->weights[i];
		if (sum >= target)
			break;
	}
	return sketch_value(last);
}

double sketch_share_above(const struct sketch *self, int64_t value_bytes)
{
	int32_t index = value_bytes > 0 ? sketch_index(value_bytes) : 0;
	double above = 0;

	if (!self->total_weight)
		return 0;
	if (value_bytes < 0)
		return 1;
	for (size_t i = 0; i < self->n; i++)
		if (self->first + (int32_t)i > index)
			above += (double)self->weights[i];
	return above / (double)self->total_weight;
}

int sketch_encode(const struct sketch *self, struct strbuf *buf)
{
	int32_t previous = 0;
	const char *comma = "";

	strbuf_addf(buf, "z%lld;", (long long)self->zero_weight);
	for (size_t i = 0; i < self->n; i++) {
		int32_t index = self->first + (int32_t)i;

		if (!self->weights[i])
			continue;
		strbuf_addf(buf, "%s%d:%lld", comma, index - previous, (long long)self->weights[i]);
		previous = index;
		comma = ",";
	}
	return buf->status;
}

/* Reads a decimal number without sign or leading zeros (a single "0" is valid) and advances the cursor. */
static int scan_number(const char **cursor, int64_t *ret)
{
	const char *p = *cursor;
	int64_t value = 0;

	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_add_overflow(value, (int64_t)(*p - '0'), &value))
			return -EINVAL;
	*cursor = p;
	*ret = value;
	return 0;
}

/* Reads one "delta:weight". */
static int scan_bucket(const char **cursor, int32_t *index, struct sketch *sketch)
{
	int64_t delta, weight;
	int r;

	if (scan_number(cursor, &delta) || *(*cursor)++ != ':' || scan_number(cursor, &weight))
		return -EINVAL;
	if (delta < 1 || delta > SKETCH_INDEX_MAX - *index || weight < 1 || weight > INT64_MAX - sketch->total_weight)
		return -EINVAL;
	*index += (int32_t)delta;
	r = sketch_cover(sketch, *index, 1);
	if (r)
		return r;
	sketch->weights[*index - sketch->first] = weight;
	sketch->total_weight += weight;
	return 0;
}

int sketch_decode(const char *text, struct sketch *ret)
{
	CLEANUP(sketch_release) struct sketch sketch = SKETCH_INIT;
	const char *p = text;
	int32_t index = 0;
	int r;

	if (*p++ != 'z' || scan_number(&p, &sketch.zero_weight) || *p++ != ';')
		return -EINVAL;
	sketch.total_weight = sketch.zero_weight;
	while (*p) {
		r = scan_bucket(&p, &index, &sketch);
		if (r)
			return r;
		if (*p == ',' && p[1])
			p++;
		else if (*p)
			return -EINVAL;
	}
	*ret = sketch;
	sketch = (struct sketch)SKETCH_INIT;
	return 0;
}
