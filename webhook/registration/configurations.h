/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* configurations: our two webhook configurations, watched by name once for all who want to know. Each listener is told
 * of every change, and of what is there already. Missing is normal: deleting a configuration is the kill switch.
 * Threads: the client's. */
#include "kube/kube_client.h"

enum configuration_kind { CONFIGURATION_MUTATING, CONFIGURATION_VALIDATING, CONFIGURATION_COUNT_ };
/** "mutatingwebhookconfigurations" ... */
extern const struct kube_resource configuration_resources[CONFIGURATION_COUNT_];
/** "MutatingWebhookConfiguration" ... */
extern const char *const configuration_kinds[CONFIGURATION_COUNT_];

struct configurations;

struct configurations_config {
	const char *names[CONFIGURATION_COUNT_]; /* NULL: none, told as missing */
	/** Reading failed, and is tried again; may be NULL. */
	void (*failed)(void *context, enum configuration_kind kind, const struct err *why);
	void *context;
};

/** `object` NULL: it is not there. Borrowed for the callback. */
typedef void configurations_listener_fn(void *context, enum configuration_kind kind, struct json_object *object);

/** Everything is copied. @return 0; -ENOMEM; -EINVAL. */
int configurations_start(struct kube_client *client, const struct configurations_config *config,
			 struct configurations **ret, struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void configurations_free(struct configurations *self);
/** Tell this one too, from the next poll on; at most 4. @return 0; -ENOMEM. */
int configurations_listen(struct configurations *self, configurations_listener_fn *fn, void *context,
			  struct err *err) ATTR_NODISCARD;
void configurations_unlisten(struct configurations *self, void *context);
/** NULL: there is none. */
const char *configurations_name(const struct configurations *self, enum configuration_kind kind);
/** What the server answered to a read or a write of ours, NULL for "not there": told to all unless it is old. */
void configurations_note(struct configurations *self, enum configuration_kind kind, struct json_object *object);

/** Is the version of the one object older than that of the other? Versions are numbers that rise, where they are
 *  numbers; else nothing counts as old. */
bool configurations_is_older(const char *version, const char *than);
