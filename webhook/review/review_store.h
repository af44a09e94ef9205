/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review_store: what review knows besides the manifests: profiles and node shapes of a file or a cluster; of a cluster
 * also labels, LimitRanges, ResourceQuotas and VerticalPodAutoscalers of the namespaces that the manifests name.
 * Nothing else is read from a cluster. What the user may not read is noted on standard error and left out. */
#include "cli/cli.h"
#include "config/config.h"
#include "program/store_access.h"
#include "review/review_internal.h"

#define REVIEW_STORE_NONE "none" /* --store none */

/** Fills the builder according to the options, and sets default_namespace (unless -n did) and history_note. @param
 * ret_code  the exit code of a failure. @return 0; -errno. */
int review_store_read(struct review *self, const struct cli_args *args, const struct config *config,
		      struct snapshot_builder *builder, int *ret_code, struct err *err) ATTR_NODISCARD;
