/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review_store: what review knows besides the manifests: profiles and node shapes of a file, or of a cluster; of a
 * cluster also labels, LimitRanges and ResourceQuotas of the namespaces that the manifests name. Of a cluster nothing
 * is asked but for these namespaces, and what one is not allowed to read is noted on standard error and left out. */
#include "cli/cli.h"
#include "config/config.h"
#include "program/store_access.h"
#include "review/review_internal.h"

#define REVIEW_STORE_NONE "none" /* --store none */

/** Fill the builder as the options say, and set default_namespace (unless -n did) and history_note.
 *  @param ret_code  the exit code when it fails. @return 0; -errno. */
int review_store_read(struct review *self, const struct cli_args *args, const struct config *config,
		      struct snapshot_builder *builder, int *ret_code, struct err *err) ATTR_NODISCARD;
