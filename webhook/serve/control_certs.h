/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* control_certs: the part of control_cluster for certificates and our webhook configurations. Threads: the control
 * thread. */
#include "serve/control_cluster.h"

/** Starts watching the configurations and, if configured, the shared Secret. @return 0; -errno. */
int control_certs_start(struct control_cluster *cluster, struct err *err) ATTR_NODISCARD;
/** Stops it; polls the client for at most a second. */
void control_certs_stop(struct control_cluster *cluster);
/** Restarts what a new configuration changes. */
void control_certs_reconfigure(struct control_cluster *cluster);
/** Reports differences of the configurations, and updates metrics and the text that says what the first certificate
 *  waits for. */
void control_certs_report(struct control_cluster *cluster);
/** Whether this configuration makes replicas in a cluster share a certificate. */
bool control_certs_are_shared(const struct webhook_config *config);
