/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/json_same.h"

#include "base/hash.h"
#include "base/json_text.h"

/* json_same: the fingerprint of an array chains those of its items; that of an object is the sum of those of its
 * members, so that their order does not matter. */

static int print_value(struct json_text *in, int depth, uint64_t *ret);

static uint64_t pair(uint64_t a, uint64_t b)
{
	const uint64_t both[] = {a, b};

	return hash_seeded(both, sizeof(both));
}

static uint64_t print_string(const struct json_string *string)
{
	return pair('"', hash_seeded(string->inside.p, string->inside.n));
}

static int print_scalar(struct json_text *in, uint64_t *ret)
{
	size_t from = in->pos;
	int r = json_text_scalar(in);

	if (!r)
		*ret = hash_seeded(in->text + from, in->pos - from);
	return r;
}

static int print_object(struct json_text *in, int depth, uint64_t *ret)
{
	uint64_t sum = 0;
	struct json_string key;
	int r = json_text_enter(in, depth);

	while (!r && (r = json_text_member(in, &key)) > 0) {
		uint64_t value = 0;

		r = print_value(in, depth + 1, &value);
		sum += pair(print_string(&key), value);
	}
	*ret = pair('}', sum);
	return r;
}

static int print_array(struct json_text *in, int depth, uint64_t *ret)
{
	uint64_t chain = 0;
	int r = json_text_enter(in, depth);

	while (!r && (r = json_text_next(in, ']')) > 0) {
		uint64_t value = 0;

		r = print_value(in, depth + 1, &value);
		chain = pair(chain, value);
	}
	*ret = pair(']', chain);
	return r;
}

static int print_value(struct json_text *in, int depth, uint64_t *ret)
{
	struct json_string string;
	int r;

	STEPS(1);
	switch (json_text_peek(in)) {
	case '"':
		r = json_text_string(in, &string);
		*ret = r ? 0 : print_string(&string);
		return r;
	case '[':
		return print_array(in, depth, ret);
	case '{':
		return print_object(in, depth, ret);
	default:
		return print_scalar(in, ret);
	}
}

static int fingerprint(struct str text, uint64_t *ret)
{
	struct err ignored = ERR_INIT;
	struct json_text in = {.text = text.p, .n = text.n, .err = &ignored};
	int r = print_value(&in, 0, ret);

	return r || json_text_peek(&in) != '\0' || in.pos < in.n ? -1 : 0;
}

bool json_same(struct str a, struct str b)
{
	uint64_t of_a, of_b;

	if (str_eq(a, b))
		return true;
	return fingerprint(a, &of_a) == 0 && fingerprint(b, &of_b) == 0 && of_a == of_b;
}
