/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* docs_objects: the files with CustomResourceDefinitions, made of model/schema.h. Part of memtamer-docs. */
#include "model/schema.h"

/** A template of the chart: on by the value crds.enabled, kept at uninstall by crds.keep.
 *  @return sticky status of buf, or -EINVAL, -ENOMEM. */
int crd_render_template(enum schema_object object, struct strbuf *buf);
/** manifests/crds.yaml: all of them, plain. */
int crd_render_manifest(struct strbuf *buf);
