/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* schema: the objects as CustomResourceDefinitions and as a page of documentation, made from what the codecs list of
 * their members, so that object, schema and page cannot differ. Used by memtamer-docs only. Pure; any thread.
 *
 * What people write is validated: quantities, names, ranges, and CEL rules with a message for each error. What the
 * recommender writes is only typed, as a schema that is older than the recommender must not reject its data. That part
 * has one writer and is atomic for server-side apply, which keeps the list of its fields out of managedFields and so
 * out of etcd. */
#include "base/strbuf.h"

enum schema_object { SCHEMA_PROFILE, SCHEMA_HISTORY, SCHEMA_SHAPE, SCHEMA_COUNT_ };

#define SCHEMA_GROUP "memtamer.io"

/** "memoryprofiles", as in API paths and in the definition's name. Static. */
const char *schema_plural(enum schema_object object);
/** Writes the `spec` of the CustomResourceDefinition as one JSON object. @return the sticky status of `buf`. */
int schema_render_spec(enum schema_object object, struct strbuf *buf);
