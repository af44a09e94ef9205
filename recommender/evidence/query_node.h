/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query_node: what node_exporter says of the memory of one node, as the lines that sysctl, /proc/meminfo, /proc/vmstat
 * and /proc/pressure/memory have on the node, so that whoever reads these files reads the series, too. Three instant
 * queries. Threads: the reader's. */
#include "base/strbuf.h"
#include "evidence/evidence.h"

#define NODE_INSTANCE_BYTES 256

struct node_lines {
	struct strbuf *lines;		    /* borrowed */
	char instance[NODE_INSTANCE_BYTES]; /* whose series they are; "": none were found */
	char other[NODE_INSTANCE_BYTES];    /* another instance of this name; "": none. Its series are left out. */
};

/** Reads the node whose name is `name` in node_uname_info, or in a label `node`, `kubernetes_node` or `instance` of it
 *  (with or without the port), as it is at `now_ms`. Appends to ret->lines.
 *  @return 0, also if there is none; an enum evidence_condition; -errno. */
int query_node(struct evidence_reader *reader, const char *name, int64_t now_ms, struct node_lines *ret,
	       struct err *err) ATTR_NODISCARD;
