/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_shape.h"

#include "base/limits.h"
#include "model/codec.h"

#include <errno.h>
#include <stdio.h>

#define F(member, key, type, help) CODEC_FIELD(struct node_shape, member, key, type, help)
static const struct codec_field shape_fields[] = {
	F(resource, "resource", CODEC_TEXT, "Accelerator resource; absent for nodes without."),
	F(product, "product", CODEC_TEXT, "Accelerator product, as the node label says."),
	F(instance_type, "instanceType", CODEC_TEXT, "node.kubernetes.io/instance-type."),
	F(accelerators, "accelerators", CODEC_INT64, "Accelerators of one node."),
	F(memory_bytes, "memory", CODEC_BYTES, "Allocatable memory of one node."),
	F(ephemeral_bytes, "ephemeralStorage", CODEC_BYTES, "Allocatable ephemeral storage of one node."),
	F(last_seen_ms, "lastSeen", CODEC_TIME, "When a node of this shape was last seen."),
	F(is_declared, "declared", CODEC_BOOL, "Written by hand: the shapes of this resource are complete."),
};
#undef F

static int decode_shape(const struct doc *object, struct node_shape *ret, struct err *err)
{
	struct node_shape shape = {0};
	const struct doc *spec = NULL;
	const char *namespace_name, *name;
	int r = codec_head_decode(object, "NodeShape", &namespace_name, &name, err);

	if (r)
		return r;
	if (strlen(name) >= sizeof(shape.name))
		return err_set_at(err, -EINVAL, "metadata.name", 0, 0, "longer than %zu bytes", sizeof(shape.name) - 1);
	snprintf(shape.name, sizeof(shape.name), "%s", name);
	r = codec_get_object(object, "", "spec", &spec, err);
	if (r >= 0)
		r = codec_decode(shape_fields, ARRAY_LEN(shape_fields), spec, "spec", &shape, err);
	if (r)
		return r;
	*ret = shape;
	return 0;
}

int node_shape_read(const char *text, size_t n, struct arena *scratch, struct node_shape *ret, struct err *err)
{
	struct doc doc;
	int r = codec_doc_read(text, n, scratch, &doc, err);

	return r ? r : decode_shape(&doc, ret, err);
}

int node_shape_decode(struct json_object *object, struct node_shape *ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct doc doc;
	int r = codec_doc_of_json(object, &scratch, &doc, err);

	return r ? r : decode_shape(&doc, ret, err);
}

int node_shape_encode(const struct node_shape *self, struct strbuf *buf)
{
	const char *comma = "";

	codec_head(buf, "NodeShape", "", self->name);
	strbuf_adds(buf, ",\"spec\":{");
	codec_encode(shape_fields, ARRAY_LEN(shape_fields), self, NULL, buf, &comma);
	return strbuf_adds(buf, "}}");
}
