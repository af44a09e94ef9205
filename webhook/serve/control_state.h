/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* control_state: the configuration, the snapshot and the certificates in use, and how new ones are published to
 * requests. The modules of the control thread share it; it uses none of them. Threads: the control thread only. */
#include "serve/certificates.h"
#include "serve/routes.h"

struct control_state {
	struct serve *serve;
	struct config_share *config;
	struct snapshot *snapshot; /* own reference; NULL until the first one */
	struct certificates *certificates;
	bool needs_trim; /* much was freed; the heap should be trimmed */
};

/** Takes `take_config`; `serve` is borrowed. @return 0; -ENOMEM. Call control_state_release in any case. */
int control_state_init(struct control_state *self, struct serve *serve, struct config *take_config,
		       struct err *err) ATTR_NODISCARD;
void control_state_release(struct control_state *self);
const struct config *control_state_config(const struct control_state *self);
/** Publishes the snapshot with the configuration in use. Takes `take_snapshot`. @return 0; -ENOMEM the old state stays
 *  in use. */
int control_state_publish(struct control_state *self, struct snapshot *take_snapshot, struct err *err) ATTR_NODISCARD;
/** Runs certificates_check; failures are logged and counted.
 *  @return false: the server has no certificate. */
bool control_state_check_certificates(struct control_state *self);
/** Uses the certificate that all replicas share. @return 0; <0: the old one stays in use. */
int control_state_give_certificate(struct control_state *self, const char *cert_pem, const char *key_pem,
				   struct err *err) ATTR_NODISCARD;
/** Counts a reload in the METRIC_..._RELOADS family `id`. */
void control_state_count_reload(struct control_state *self, enum metric_id id, bool is_good);
