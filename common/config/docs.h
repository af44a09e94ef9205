/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* docs: pages made of the tables. memtamer-docs writes them to docs/; a test fails when they differ. */
#include "base/strbuf.h"

/** docs/CHECKS.md from policy/checks.def. (docs/CONFIGURATION.md is config_render_docs of config/config.h.)
 *  @return sticky status of buf. */
int checks_render_docs(struct strbuf *buf);
