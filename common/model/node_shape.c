/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_shape.h"

#include "base/limits.h"
#include "model/codec.h"
#include "model/codec_tables.h"

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

static const struct codec_table shape_table = CODEC_TABLE(shape_fields);

static const struct codec_field object_fields[] = {
	CODEC_MEMBER("spec", CODEC_OBJECT, "What one node of this kind offers to pods.", .table = &shape_table)};
const struct codec_table node_shape_table = CODEC_TABLE(object_fields);

int node_shape_read(const char *text, size_t n, struct arena *scratch, struct node_shape *ret, struct err *err)
{
	struct node_shape shape = {0};
	struct codec_head head;
	struct doc object;
	int r = codec_doc_read(text, n, scratch, &object, err);

	if (!r)
		r = codec_head_decode(&object, "NodeShape", &head, err);
	if (r)
		return r;
	if (strlen(head.name) >= sizeof(shape.name))
		return err_set_at(err, -EINVAL, "metadata.name", 0, 0, "longer than %zu bytes", sizeof(shape.name) - 1);
	snprintf(shape.name, sizeof(shape.name), "%s", head.name);
	r = codec_decode(&node_shape_table, &object, &shape, err);
	if (!r)
		*ret = shape;
	return r;
}

int node_shape_encode(const struct node_shape *self, struct strbuf *buf)
{
	const char *comma = ",";

	codec_head(buf, "NodeShape", "", self->name);
	codec_encode(&node_shape_table, self, NULL, buf, &comma);
	return strbuf_addc(buf, '}');
}
