/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics_process: the metrics that Prometheus' client libraries have for every process (memory, CPU, files), and the
 * program's version. */
#include "base/strbuf.h"

#include <stdint.h>

/** Appends the families of metrics_process.def. Values that /proc does not provide are left out. Cost: linear in the
 *  number of open files.
 *  @param started_ms  when the process started, by time_now_ms(). */
void metrics_render_process(int64_t started_ms, struct strbuf *buf);
