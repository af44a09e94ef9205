/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* docs_crds: renders CustomResourceDefinitions from schema.h. */
#include "generate/schema.h"

/** Appends a template of the chart: rendered if crds.enabled, kept at uninstall if crds.keep.
 *  @return the sticky status of `buf`; -EINVAL; -ENOMEM. */
int crd_render_template(enum schema_object object, struct strbuf *buf);
/** Appends manifests/crds.yaml: all definitions without templating. @return as crd_render_template. */
int crd_render_manifest(struct strbuf *buf);
