/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node_folder: the settings of a node as files below a folder: / for the node itself, /host in a debug pod, or a folder
 * of an archive that was collected on the node. */
#include "base/err.h"
#include "base/strbuf.h"

/** Appends the settings as the lines that node_read understands. Reads proc/meminfo, proc/sys/vm, comm and
 * oom_score_adj of the processes, and names, limits and OOM switches in sys/fs/cgroup; nothing is written.
 *  @return 0; -ENOENT: there is no proc/meminfo; another -errno of reading it; -ENOMEM. */
int node_collect(const char *root, struct strbuf *buf, struct err *err) ATTR_NODISCARD;
