/* SPDX-License-Identifier: Apache-2.0 */
/* codec_pack: a member whose value is a JSON object as text: "v1:", then base64 of gzip. */
#include "base/base64.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "model/codec_internal.h"

#include <errno.h>

#define VERSION "v1:"

int codec_pack(struct strbuf *buf, const char **comma, const char *key, const struct strbuf *json)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(json->len + KIB);
	int r = gzip_pack(strbuf_text(json), json->len, GZIP_USUAL, &packed);

	if (r)
		return r;
	codec_key(buf, comma, key);
	strbuf_adds(buf, "\"" VERSION);
	base64_encode(packed.text, packed.len, buf);
	return strbuf_addc(buf, '"');
}

/* @return 0; -ENOMEM; -E2BIG; -EINVAL if it is damaged. */
static int unpack(const char *text, size_t n, struct strbuf *ret)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(n);
	int r = base64_decode(text, n, &packed);

	return r ? r : gzip_unpack(strbuf_text(&packed), packed.len, ret);
}

static int read_unpacked(const struct strbuf *json, struct arena *arena, struct doc *ret, struct err *err)
{
	struct err why = ERR_INIT;
	int r = codec_doc_read_any(strbuf_text(json), json->len, arena, ret, &why);

	if (!r && ret->type != DOC_OBJECT)
		r = err_set(&why, -EINVAL, "expected an object, found %s", doc_type_name(ret));
	return r ? err_set(err, r == -ENOMEM ? r : -EINVAL, "in what is compressed: %s", why.msg) : 0;
}

static int unpack_text(const char *text, size_t max, struct arena *arena, struct doc *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(max);
	int r;

	if (strncmp(text, VERSION, strlen(VERSION)) != 0)
		return err_set(err, -EINVAL,
			       "does not begin with " VERSION
			       ", so it was written by a later release, or by hand: \"%.20s\"",
			       text);
	r = unpack(text + strlen(VERSION), strlen(text) - strlen(VERSION), &json);
	if (r == -ENOMEM)
		return decode_oom(err);
	if (r == -E2BIG)
		return err_set(err, -EINVAL, "longer than %zu KiB when it is decompressed", max / KIB);
	return r ? err_set(err, -EINVAL, "damaged: not base64 of gzip, or the checksum is wrong")
		 : read_unpacked(&json, arena, ret, err);
}

int codec_unpack(const struct doc *object, const char *key, size_t max, struct arena *arena, struct doc *ret,
		 struct err *err)
{
	const struct doc *value = doc_member(object, key);
	const char *text;
	int r = decode_string(object, key, &text, err);

	if (!r && (!value || value->type == DOC_NULL))
		return CODEC_ABSENT;
	return r ? r : decode_at(unpack_text(text, max, arena, ret, err), err, "%s", key);
}
