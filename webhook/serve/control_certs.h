/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* control_certs: the part of control_cluster that has to do with TLS and with our webhook configurations. */
#include "serve/control_cluster.h"

int control_certs_start(struct control_cluster *cluster, struct err *err) ATTR_NODISCARD;
void control_certs_stop(struct control_cluster *cluster);
void control_certs_reconfigure(struct control_cluster *cluster);
void control_certs_tell(struct control_cluster *cluster);
