/* SPDX-License-Identifier: Apache-2.0 */
/* profile_spec: the spec of a MemoryProfile. The API server validates most of it (generate/schema_table.c). This code
 * is for files, for objects older than the installed definitions, and for API servers whose validation is off. */
#include "model/profile_spec.h"

#include "base/str.h"
#include "k8s/kinds.h"
#include "model/identity.h"

#include <errno.h>
#include <stdio.h>

const struct profile_spec profile_spec_none = {.quantile_permille = -1, .buffer_permille = -1};
static const char *const size_classes[] = {"dense", "standing", "guaranteed"};
static const char *const mode_caps[] = {"off", "observe", "fill", "raise"};

#define F(member, key, type, ...)	  CODEC_FIELD(struct profile_spec, member, key, type, __VA_ARGS__)
#define BYTES(member, key, help)	  F(member, key, CODEC_BYTES, help, .min = (int64_t)MIB)
#define PERMILLE(member, key, most, help) F(member, key, CODEC_INT32, help, .absent = -1, .max = (most))
#define CHOICE(member, key, names, help)  F(member, key, CODEC_TEXT, help, CODEC_NAMES(names))
static const struct codec_field value_fields[] = {
	BYTES(pin_request_bytes, "pinRequest", "Memory request taken as it is, whatever runs used."),
	BYTES(pin_limit_bytes, "pinLimit", "Memory limit taken as it is, whatever runs used."),
	PERMILLE(quantile_permille, "quantile", 1000,
		 "Quantile of use for the request, in thousandths: 500 is the median."),
	PERMILLE(buffer_permille, "buffer", 10000, "Thousandths to add to the peak for the limit: 100 is a tenth."),
	BYTES(floor_bytes, "floor", "Never size below."),
	BYTES(ceiling_bytes, "ceiling",
	      "Never size above; if it is below the greatest peak, no limit is added or lowered."),
	CHOICE(size_class, "class", size_classes,
	       "How the request is chosen: dense by the quantile, standing by the runs' peaks, guaranteed equal to the "
	       "limit."),
	CHOICE(mode_cap, "modeCap", mode_caps,
	       "Highest mode for pods of this workload; in the profile named memtamer-namespace, for the whole "
	       "namespace."),
	CHOICE(mode_cap_before_undo, "modeCapBeforeUndo", mode_caps,
	       "The modeCap that `undo` replaced and `undo --release` restores; it caps nothing."),
};
#undef F
#undef BYTES
#undef PERMILLE
#undef CHOICE
static const struct codec_table value_table = CODEC_TABLE(value_fields);

#define F(member, key, most, help) CODEC_FIELD(struct profile_ref, member, key, CODEC_STRING, help, .max = (most))
static const struct codec_field ref_fields[] = {
	F(kind, "kind", LIMIT_NAMESPACE_BYTES,
	  "Kind of the object that people submit, as in its manifest (Job, CronJob, PyTorchJob ...); workload: what "
	  "the "
	  "label memtamer.io/workload says."),
	F(name, "name", LIMIT_NAME_BYTES,
	  "Name of the object; dates, counters and random parts that differ from run to run make no difference."),
	F(role, "role", LIMIT_NAMESPACE_BYTES,
	  "Which of the workload's pods (worker, master ...); absent: all of them."),
	F(container, "container", LIMIT_NAMESPACE_BYTES, "The container's name; absent: the one that trains."),
};
#undef F
static const struct codec_table ref_table = CODEC_TABLE(ref_fields);

static void write_ref(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct profile_spec *spec = self;

	if (!spec->ref.key)
		return;
	codec_key(buf, comma, field->key);
	codec_encode_object(&ref_table, &spec->ref, NULL, buf);
}

static const struct codec_field spec_fields[] = {
	CODEC_MEMBER(
		"workloadRef", CODEC_OBJECT,
		"The workload that this is about, in a profile that is written by hand, also before its first run; "
		"absent: the one in `status`.",
		.table = &ref_table, .write = write_ref),
	CODEC_ROWS_OF(value_table),
};
const struct codec_table profile_spec_table = CODEC_TABLE(spec_fields);

static const struct profile_spec *or_none(const struct profile_spec *self)
{
	return self ? self : &profile_spec_none;
}

static bool is_above(int64_t smaller, int64_t greater)
{
	return greater > 0 && smaller > greater;
}

/* Rules that concern several fields. The same rules in CEL: generate/schema_table.c. */
static int check(const struct profile_spec *self, struct err *err)
{
	if (is_above(self->pin_request_bytes, self->pin_limit_bytes))
		return err_set_at(err, -EINVAL, "spec.pinRequest", 0, 0, "above spec.pinLimit");
	if (is_above(self->floor_bytes, self->ceiling_bytes))
		return err_set_at(err, -EINVAL, "spec.floor", 0, 0, "above spec.ceiling");
	return 0;
}

static bool is_kind(const char *kind)
{
	return streq(kind, IDENTITY_KIND_OF_LABEL) || (*kind >= 'A' && *kind <= 'Z') || kind_find(NULL, kind);
}

/* @return 0, also without a reference; -EINVAL; -ENOMEM. */
static int decode_ref(const struct doc *spec, struct arena *scratch, struct profile_ref *ret, struct err *err)
{
	const struct doc *member = NULL;
	char key[IDENTITY_KEY_BYTES], made[IDENTITY_KEY_BYTES];
	int r = decode_object(spec, "workloadRef", &member, err);

	codec_reset(&ref_table, ret);
	if (!r)
		r = decode_at(codec_decode(&ref_table, member, ret, err), err, "workloadRef");
	if (r || !member)
		return decode_at(r, err, "spec");
	if (!*ret->kind || !*ret->name)
		return err_set_at(err, -EINVAL, "spec.workloadRef", 0, 0, "kind and name are needed");
	if (!is_kind(ret->kind))
		return err_set_at(err, -EINVAL, "spec.workloadRef.kind", 0, 0, "no kind such as Job: \"%.60s\"",
				  ret->kind);
	identity_key_of_object(ret->kind, ret->name, key);
	if (identity_key_of_made(ret->kind, ret->name, made))
		ret->made_key = arena_strdup(scratch, made);
	ret->key = arena_strdup(scratch, key);
	return ret->key && !scratch->has_failed ? 0 : err_set(err, -ENOMEM, "out of memory");
}

enum { SPEC_DEPTH = 32 };

/* The object as written, on one line. NULL: *ret_r says why. */
static const char *source_of(const struct doc *spec, struct arena *scratch, int *ret_r, struct err *err)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	const char *text;

	*ret_r = json_parse(spec->text, spec->n_text, SPEC_DEPTH, &json, err);
	if (*ret_r)
		return NULL;
	text = arena_strdup(
		scratch, json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	if (!text)
		*ret_r = err_set(err, -ENOMEM, "out of memory");
	return text;
}

/* Nothing of an invalid spec applies, neither its pins nor their absence: its workload is only observed. */
static int make_invalid(const struct doc *spec, const struct err *why, struct arena *scratch, struct profile_spec *ret,
			struct err *err)
{
	const char *source;
	bool is_off = streq(doc_member_text(spec, "modeCap"), "off");
	int r;

	source = source_of(spec, scratch, &r, err);
	if (r)
		return r;
	codec_reset(&value_table, ret);
	if (!ret->ref.key)
		codec_reset(&ref_table, &ret->ref); /* remains of an incomplete reference */
	snprintf(ret->mode_cap, sizeof(ret->mode_cap), "%s", is_off ? "off" : "observe");
	ret->source = source;
	ret->invalid = arena_printf(scratch, "%s: %.*s", why->where, LIMIT_REASON_BYTES, why->msg);
	return ret->invalid ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int profile_spec_decode(const struct doc *object, int64_t created_ms, struct arena *scratch, struct profile_spec *ret,
			struct err *err)
{
	const struct doc *spec = NULL;
	struct err why = ERR_INIT;
	int r = decode_object(object, "spec", &spec, err);

	codec_reset(&value_table, ret);
	ret->invalid = ret->source = NULL;
	ret->ref = (struct profile_ref){.key = NULL};
	if (r || !spec)
		return r;
	r = decode_ref(spec, scratch, &ret->ref, &why);
	if (ret->ref.key)
		ret->ref.created_ms = created_ms;
	if (!r)
		r = decode_at(codec_decode(&value_table, spec, ret, &why), &why, "spec");
	if (!r)
		r = check(ret, &why);
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	return r ? make_invalid(spec, &why, scratch, ret, err) : 0;
}

void profile_spec_encode(const struct profile_spec *self, struct strbuf *buf)
{
	self = or_none(self);
	if (self->source)
		strbuf_adds(buf, self->source);
	else
		codec_encode_object(&profile_spec_table, self, NULL, buf);
}

bool profile_spec_same(const struct profile_spec *a, const struct profile_spec *b)
{
	a = or_none(a);
	b = or_none(b);
	return codec_same(&value_table, a, b) && streq(a->invalid, b->invalid) && streq(a->source, b->source) &&
	       !a->ref.key == !b->ref.key && a->ref.created_ms == b->ref.created_ms &&
	       codec_same(&ref_table, &a->ref, &b->ref);
}

bool profile_has_spec(const struct profile *self)
{
	return !profile_spec_same(self->spec, &profile_spec_none);
}

bool profile_has_more_than_cap(const struct profile *self)
{
	struct profile_spec spec = *self->spec;

	spec.mode_cap[0] = spec.mode_cap_before_undo[0] = 0;
	return !profile_spec_same(&spec, &profile_spec_none);
}
