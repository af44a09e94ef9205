/* SPDX-License-Identifier: Apache-2.0 */
/* codec_head: apiVersion, kind and metadata. */
#include "model/codec.h"

#include "base/attr.h"
#include "model/profile.h"

#include <errno.h>

#define F(member, key, type, ...) CODEC_FIELD(struct codec_head, member, key, type, NULL, __VA_ARGS__)
static const struct codec_field metadata_rows[] = {
	F(namespace_name, "namespace", CODEC_STRING, .max = LIMIT_NAMESPACE_BYTES),
	F(name, "name", CODEC_STRING, .max = LIMIT_NAME_BYTES),
	F(created_ms, "creationTimestamp", CODEC_TIME),
	F(generation, "generation", CODEC_INT64),
};
static const struct codec_table metadata_table = CODEC_TABLE(metadata_rows);
static const struct codec_field head_rows[] = {
	F(api_version, "apiVersion", CODEC_STRING, .max = LIMIT_NAME_BYTES),
	F(kind, "kind", CODEC_STRING, .max = LIMIT_NAME_BYTES),
};
#undef F
static const struct codec_table head_table = CODEC_TABLE(head_rows);

int codec_head_decode(const struct doc *object, const char *kind, struct codec_head *ret, struct err *err)
{
	const struct doc *metadata = NULL;
	int r;

	codec_reset(&head_table, ret);
	codec_reset(&metadata_table, ret);
	r = codec_decode(&head_table, object, ret, err);
	if (r)
		return r;
	if (!streq(ret->api_version, PROFILE_API_VERSION))
		return err_set_at(err, -EINVAL, "apiVersion", 0, 0, "expected %s, found \"%.60s\"", PROFILE_API_VERSION,
				  ret->api_version);
	if (!streq(ret->kind, kind))
		return err_set_at(err, -EINVAL, "kind", 0, 0, "expected %s, found \"%.60s\"", kind, ret->kind);
	r = decode_object(object, "metadata", &metadata, err);
	if (r || !metadata)
		return r ? r : err_set_at(err, -EINVAL, "metadata", 0, 0, "missing");
	r = decode_at(codec_decode(&metadata_table, metadata, ret, err), err, "metadata");
	return r || *ret->name ? r : err_set_at(err, -EINVAL, "metadata.name", 0, 0, "missing");
}

void codec_head(struct strbuf *buf, const char *kind, const char *namespace_name, const char *name)
{
	const char *comma = "";

	strbuf_addf(buf, "{\"apiVersion\":\"" PROFILE_API_VERSION "\",\"kind\":\"%s\",\"metadata\":{", kind);
	codec_text(buf, &comma, "namespace", namespace_name);
	codec_text(buf, &comma, "name", name);
	strbuf_addc(buf, '}');
}
