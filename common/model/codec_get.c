/* SPDX-License-Identifier: Apache-2.0 */
#include "model/codec_internal.h"

#include "base/json.h"
#include "base/limits.h"

#include <errno.h>

/* The complete object, but of its metadata only a few fields: the API server's managedFields are longer than all the
 * rest. */
static const struct allow everything = {.any = &everything};
static const struct allow spec = {.any = &everything, .keeps_source = true};
static const struct allow leaf = {.fields = NULL};
static const struct allow names = {ALLOW_ROWS(ALLOW_FIELD("name", leaf), ALLOW_FIELD("namespace", leaf),
					      ALLOW_FIELD("creationTimestamp", leaf), ALLOW_FIELD("generation", leaf))};
static const struct allow whole = {ALLOW_ROWS(ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),
					      ALLOW_FIELD("metadata", names), ALLOW_FIELD("spec", spec),
					      ALLOW_FIELD("status", everything))};

int codec_doc_read(const char *text, size_t n, struct arena *arena, struct doc *ret, struct err *err)
{
	return doc_read(text, n, &whole, arena, ret, err);
}

int codec_doc_read_any(const char *text, size_t n, struct arena *arena, struct doc *ret, struct err *err)
{
	return doc_read(text, n, &everything, arena, ret, err);
}

/* The source text of a tree is its serialisation. */
int codec_doc_of_json(struct json_object *object, struct arena *arena, struct doc *ret, struct err *err)
{
	int r = doc_of_json(object, &whole, arena, ret, err);

	for (struct doc *member = ret->first; !r && member; member = member->next) {
		if (!streq(member->key, "spec") || member->type != DOC_OBJECT)
			continue;
		member->text = json_object_to_json_string_ext(json_member(object, "spec"), JSON_C_TO_STRING_PLAIN);
		member->n_text = strlen(member->text);
	}
	return r;
}

/* An array of at most `max` items; NULL if it is absent. */
static int get_short_array(const struct doc *object, const char *key, size_t max, const struct doc **ret,
			   struct err *err)
{
	int r = decode_array(object, key, ret, err);

	if (!r && *ret && (*ret)->n_items > max)
		return decode_at(err_set(err, -EINVAL, "more than %zu items", max), err, "%s", key);
	return r;
}

int codec_get_texts(const struct doc *object, const char *key, size_t max_items, size_t max, const char **ret,
		    size_t *ret_n, struct err *err)
{
	const struct doc *array = NULL;
	int r = get_short_array(object, key, max_items, &array, err);

	*ret_n = 0;
	for (const struct doc *item = doc_children(array, DOC_ARRAY); item && !r; item = item->next) {
		if (item->type != DOC_STRING)
			r = err_set(err, -EINVAL, "expected strings");
		else if (item->n_text > max)
			r = err_set(err, -EINVAL, "longer than %zu bytes", max);
		else
			ret[(*ret_n)++] = item->text;
		decode_at(r, err, "%s", key);
	}
	return r;
}

int codec_get_objects(const struct doc *object, const char *key, size_t max, codec_item_fn *decode, void *context,
		      struct err *err)
{
	const struct doc *array = NULL;
	size_t n = 0;
	int r = get_short_array(object, key, max, &array, err);

	for (const struct doc *item = doc_children(array, DOC_ARRAY); item && !r; item = item->next) {
		r = item->type == DOC_OBJECT ? decode(context, item, err) : err_set(err, -EINVAL, "expected an object");
		decode_at(r, err, "%s[%zu]", key, n++);
	}
	return r;
}
