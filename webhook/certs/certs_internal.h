/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What certs.c (watching, deciding) and certs_write.c (doing) share. */
#include "base/arena.h"
#include "certs/bundles.h"
#include "certs/certs.h"
#include "certs/material.h"
#include "kube/lease.h"
#include "kube/reflector.h"

struct certs {
	struct kube_client *client;
	struct configurations *configurations;
	struct certs_config config;
	struct arena arena;
	char ca_name[MATERIAL_NAME_BYTES];
	struct rotation_times times;

	struct reflector *secret_watch;
	struct material secret; /* as last read */
	struct bundles bundles[CONFIGURATION_COUNT_];
	struct rotation_coverage coverage[CONFIGURATION_COUNT_], known;

	struct pki_pair in_use; /* what `use` took last */
	unsigned char in_use_issuer[PKI_ID_BYTES];

	struct lease *lease; /* NULL: no work */
	bool is_leading, is_leaving;
	struct kube_timer look, lease_end;

	struct kube_call *secret_call, *configuration_calls[CONFIGURATION_COUNT_];
	enum rotation_action doing; /* what secret_call is a step of; ROTATION_WAIT: a read */
	const char *doing_why;
	bool must_read_secret, must_read[CONFIGURATION_COUNT_]; /* what we know is out of date */
	unsigned int failed_in_a_row;
	int64_t not_before_ms; /* monotonic: no write earlier, after a failure */
	/* Somebody may be writing caBundles against us: how often in a row without a change of the Secret. */
	struct {
		unsigned int streak;
		int64_t last_ms;
		char *secret_version;
	} fills[CONFIGURATION_COUNT_];

	char told[sizeof(((struct err *)NULL)->msg)]; /* last failure */
	struct certs_state state;
};

/* certs.c */
/** Everything that rotation.h decides by. */
void certs_view(const struct certs *self, struct rotation_view *ret);
/** Look whether there is something to do; soon. */
void certs_look_soon(struct certs *self);
void certs_fail(struct certs *self, const struct err *why);
/** What failed before works now. */
void certs_is_well(struct certs *self);
/** A Secret that was read or written; `object` NULL: there is none. */
void certs_take_secret(struct certs *self, struct json_object *object);

/* certs_write.c */
/** Do what the plan says; we lead. */
void certs_do(struct certs *self, const struct rotation_view *view, const struct rotation_plan *plan);
/** Read again what a failed write has cast doubt on. @return false: nothing to read. */
bool certs_reread(struct certs *self);
bool certs_is_busy(const struct certs *self);
void certs_cancel(struct certs *self);
