/* SPDX-License-Identifier: Apache-2.0 */
/* size_apply: what people decided about sizes, in the configuration and in the spec of a MemoryProfile. It is applied
 * when a size is used and never stored, so that a changed pin takes effect as soon as it is known, with or without a
 * recommender. */
#include "policy/size.h"

#include "base/str.h"
#include "policy/decide.h"

const char *const size_by_names[SIZE_BY_COUNT_] = {
	[SIZE_BY_RUNS] = "",
	[SIZE_BY_FLOOR] = "sizing.floors",
	[SIZE_BY_CEILING] = "sizing.ceiling",
	[SIZE_BY_SPEC_FLOOR] = "spec.floor",
	[SIZE_BY_SPEC_CEILING] = "spec.ceiling",
	[SIZE_BY_LIMIT] = "the limit",
	[SIZE_BY_PIN_REQUEST] = "spec.pinRequest",
	[SIZE_BY_PIN_LIMIT] = "spec.pinLimit",
};

/* The spec's bounds replace those of the configuration; if one of each contradict each other, the spec's applies. */
int64_t size_bounded(const struct sizing_policy *sizing, const struct profile_spec *spec, int field, int64_t bytes,
		     enum size_by *ret_by)
{
	bool has_floor = spec->floor_bytes > 0, has_ceiling = spec->ceiling_bytes > 0;
	int64_t floor = field == SIZE_LIMIT ? sizing->floor_limit_bytes : sizing->floor_request_bytes;
	int64_t ceiling = sizing->ceiling_bytes > 0 ? sizing->ceiling_bytes : INT64_MAX;

	if (has_ceiling)
		ceiling = spec->ceiling_bytes;
	if (has_floor)
		floor = spec->floor_bytes;
	if (has_ceiling)
		floor = MIN(floor, ceiling);
	*ret_by = SIZE_BY_RUNS;
	if (bytes < floor) {
		*ret_by = has_floor ? SIZE_BY_SPEC_FLOOR : SIZE_BY_FLOOR;
		return floor;
	}
	if (bytes <= ceiling || bytes == floor)
		return bytes;
	*ret_by = has_ceiling ? SIZE_BY_SPEC_CEILING : SIZE_BY_CEILING;
	return MAX(ceiling, floor);
}

int64_t size_advised_limit(const struct recommendation *rec, const enum size_by by[2], int64_t now_bytes)
{
	bool is_advised = !(rec->flags & REC_CACHE_BOUND) || by[SIZE_LIMIT] >= SIZE_BY_PIN_REQUEST ||
			  (now_bytes > 0 && rec->limit_bytes > now_bytes);

	return is_advised ? rec->limit_bytes : 0;
}

static bool is_guaranteed(const struct sizing_policy *sizing, const struct profile_spec *spec)
{
	return *spec->size_class ? streq(spec->size_class, size_class_names[CLASS_GUARANTEED])
				 : sizing->size_class == CLASS_GUARANTEED;
}

void size_apply(const struct sizing_policy *sizing, const struct profile_spec *spec, struct recommendation *rec,
		enum size_by ret_by[2])
{
	int64_t request = rec->request_bytes, limit = rec->limit_bytes;

	ret_by[SIZE_REQUEST] = ret_by[SIZE_LIMIT] = SIZE_BY_RUNS;
	if (limit > 0 && request <= 0 && rec->runs > 0)
		request = 1; /* use was never measured (killed too early): the smallest allowed request */
	if (limit > 0)
		limit = size_bounded(sizing, spec, SIZE_LIMIT, limit, &ret_by[SIZE_LIMIT]);
	if (request > 0)
		request = size_bounded(sizing, spec, SIZE_REQUEST, request, &ret_by[SIZE_REQUEST]);
	if (spec->pin_limit_bytes > 0) {
		limit = spec->pin_limit_bytes;
		ret_by[SIZE_LIMIT] = SIZE_BY_PIN_LIMIT;
	}
	if (spec->pin_request_bytes > 0) {
		request = spec->pin_request_bytes;
		ret_by[SIZE_REQUEST] = SIZE_BY_PIN_REQUEST;
	}
	if (spec->pin_limit_bytes <= 0 && spec->pin_request_bytes > 0 && limit > 0 && limit <= request) {
		limit = request;
		ret_by[SIZE_LIMIT] = SIZE_BY_PIN_REQUEST;
	}
	if (limit > 0 && spec->pin_request_bytes <= 0 &&
	    (request <= 0 || request > limit || is_guaranteed(sizing, spec))) {
		request = limit;
		ret_by[SIZE_REQUEST] = SIZE_BY_LIMIT;
	}
	rec->limit_bytes = limit;
	rec->request_bytes = request;
}
