/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/json_same.h"

#include "base/hash.h"
#include "k8s/json_text.h"

/* How it works: the fingerprint of an array chains those of its items, that of an object adds up those of its members,
 * so that their order is lost. */

static int print_value(struct json_text *in, int depth, uint64_t *ret);

static uint64_t pair(uint64_t a, uint64_t b)
{
	const uint64_t both[] = {a, b};

	return hash_seeded(both, sizeof(both));
}

static int print_string(struct json_text *in, uint64_t *ret)
{
	struct json_string string;
	int r = json_text_string(in, &string);

	if (!r)
		*ret = pair('"', hash_seeded(string.inside.p, string.inside.n));
	return r;
}

static int print_scalar(struct json_text *in, uint64_t *ret)
{
	size_t from = in->pos;
	int r = json_text_scalar(in);

	if (!r)
		*ret = hash_seeded(in->text + from, in->pos - from);
	return r;
}

static int print_member(struct json_text *in, int depth, uint64_t *sum)
{
	uint64_t key = 0, value = 0;
	int r;

	json_text_peek(in);
	r = print_string(in, &key);
	if (!r)
		r = json_text_expect(in, ':');
	if (!r)
		r = print_value(in, depth, &value);
	*sum += pair(key, value);
	return r;
}

static int print_item(struct json_text *in, int depth, uint64_t *chain)
{
	uint64_t value = 0;
	int r = print_value(in, depth, &value);

	*chain = pair(*chain, value);
	return r;
}

static int print_container(struct json_text *in, int depth, uint64_t *ret)
{
	bool is_object = in->text[in->pos] == '{';
	char close = is_object ? '}' : ']';
	uint64_t inside = 0;
	int r = json_text_enter(in, depth);

	if (!r && json_text_peek(in) != close) {
		r = is_object ? print_member(in, depth + 1, &inside) : print_item(in, depth + 1, &inside);
		while (!r && json_text_peek(in) == ',') {
			json_text_comma(in);
			r = is_object ? print_member(in, depth + 1, &inside) : print_item(in, depth + 1, &inside);
		}
	}
	if (!r)
		r = json_text_expect(in, close);
	*ret = pair((unsigned char)close, inside);
	return r;
}

static int print_value(struct json_text *in, int depth, uint64_t *ret)
{
	switch (json_text_peek(in)) {
	case '"':
		return print_string(in, ret);
	case '[':
	case '{':
		return print_container(in, depth, ret);
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
