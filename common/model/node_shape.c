/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_shape.h"

#include "base/limits.h"
#include "model/codec.h"
#include "model/schema_internal.h"

#include <errno.h>
#include <stdio.h>

#define F(member, key, type, help) CODEC_FIELD(struct node_shape, member, key, type, help)
static const struct codec_field shape_fields[] = {
	F(resource, "resource", CODEC_TEXT, "Accelerator resource; absent for nodes without."),
	F(product, "product", CODEC_TEXT, "Accelerator product, as the node label says."),
	F(instance_type, "instanceType", CODEC_TEXT, "node.kubernetes.io/instance-type."),
	F(accelerators, "accelerators", CODEC_INT64, "Units of the resource that one node offers."),
	F(devices, "devices", CODEC_INT64, "Whole accelerators of one node, where these are not the units."),
	F(parts, "parts", CODEC_INT64,
	  "Units that all accelerators of one node would make, where it offers fewer: a unit is this part of the "
	  "node."),
	F(memory_bytes, "memory", CODEC_BYTES, "Allocatable memory of one node."),
	F(ephemeral_bytes, "ephemeralStorage", CODEC_BYTES, "Allocatable ephemeral storage of one node."),
	F(last_seen_ms, "lastSeen", CODEC_TIME, "When a node of this shape was last seen."),
	F(is_declared, "declared", CODEC_BOOL,
	  "Written by hand: the declared shapes of this resource are all there are."),
};
#undef F

static const struct codec_part spec_parts[] = {CODEC_PARTS_FIELDS(shape_fields)};
static const struct codec_part parts[] = {
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECT, "spec", spec_parts, "What one node of this kind offers to pods."),
};
const struct codec_parts node_shape_parts = CODEC_PARTS_LIST(parts);

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
