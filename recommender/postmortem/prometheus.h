/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* prometheus: the Prometheus of a configuration, for the few queries of a person who waits. What cannot be read becomes
 * a note among what was not seen. One thread. */
#include "config/config.h"
#include "triage/triage.h"

struct evidence_reader;

struct prometheus {
	struct config *config;
	struct prometheus_config settings; /* those of the configuration, with shorter times */
	struct evidence_reader *reader;
	char source[LIMIT_NAME_BYTES + 32]; /* of the node */
};

/** Loads the configuration and makes a reader; sends no request yet. `ret` must stay where it is.
 *  @return 0; -EINVAL and other errors of config_load and query_reader_new. Call prometheus_close in any case. */
int prometheus_open(const char *config_path, struct prometheus *ret, struct err *err) ATTR_NODISCARD;
void prometheus_close(struct prometheus *self);
/** Whether `--node` names a node of Prometheus, "node/NAME", with NAME of letters, digits and ".-_:". */
bool prometheus_is_node(const char *text);
/** Reads the series of "node/NAME" into the facts of the node. May be called once. @return 0 or -ENOMEM. */
int prometheus_read_node(struct prometheus *self, struct triage *triage, const char *node) ATTR_NODISCARD;
