/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* schema: the objects as CustomResourceDefinitions and as a page, made of what the codecs list of their members, so
 * that object, schema and page cannot differ. Used by memtamer-docs only. Pure; any thread.
 *
 * What people write is checked: quantities, words, ranges, and rules in CEL that say in words what is wrong. What the
 * recommender writes has types only: a schema that is older than the recommender must not refuse what it has learned.
 * The same part has one writer and is atomic for server-side apply, which keeps the list of its fields out of
 * managedFields and so out of etcd. */
#include "base/strbuf.h"

enum schema_object { SCHEMA_PROFILE, SCHEMA_HISTORY, SCHEMA_SHAPE, SCHEMA_COUNT_ };

#define SCHEMA_GROUP "memtamer.io"

/** "memoryprofiles": as in the API's paths, and in the name of the definition. Static. */
const char *schema_plural(enum schema_object object);
/** The `spec` of the object's CustomResourceDefinition as one JSON object. @return sticky status of buf. */
int schema_render_spec(enum schema_object object, struct strbuf *buf);
/** docs/OBJECTS.md. @return sticky status of buf. */
int schema_render_docs(struct strbuf *buf);
