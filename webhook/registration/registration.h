/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* registration: says when a webhook configuration of ours is not what this version and its configuration need. It
 * repairs nothing. Each change is told once. Threads: the client's. */
#include "registration/compare.h"

struct registration;

struct registration_config {
	struct compare_expected expected; /* without chain_pem */
	/** A configuration came or went; told at the start too. */
	void (*present)(void *context, enum configuration_kind kind, bool is_present);
	/** A field drifts, or (`words` NULL) does not any more. */
	void (*drifted)(void *context, enum configuration_kind kind, enum drift_field field, const char *words);
	void *context;
};

/** Everything is copied; `configurations` is borrowed and must live longer. @return 0; -ENOMEM. */
int registration_start(struct configurations *configurations, const struct registration_config *config,
		       struct registration **ret, struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void registration_free(struct registration *self);
/** What the server shows now; NULL: nothing. Cheap when it is the same. */
void registration_set_chain(struct registration *self, const char *chain_pem);
