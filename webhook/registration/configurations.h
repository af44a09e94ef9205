/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* configurations: watches memtamer's two webhook configurations by name. A missing configuration is normal: deleting it
 * is how an administrator switches memtamer off. Threads: the client's. */
#include "kube/kube_client.h"

enum configuration_kind { CONFIGURATION_MUTATING, CONFIGURATION_VALIDATING, CONFIGURATION_COUNT_ };
/** "mutatingwebhookconfigurations" ... */
extern const struct kube_resource configuration_resources[CONFIGURATION_COUNT_];
/** "MutatingWebhookConfiguration" ... */
extern const char *const configuration_kinds[CONFIGURATION_COUNT_];

struct configurations;

struct configurations_config {
	const char *names[CONFIGURATION_COUNT_]; /* copied; NULL: not configured, reported as missing */
	/** Called once it is known whether the object exists, and after each change. `object` is borrowed for the
	 *  callback; NULL: it does not exist. May be NULL. */
	void (*changed)(void *context, enum configuration_kind kind, struct json_object *object);
	/** Reading failed and is retried. May be NULL. */
	void (*failed)(void *context, enum configuration_kind kind, const struct err *why);
	void *context;
};

/** Starts watching at the next poll. `client` is borrowed. @return 0; -ENOMEM; -EINVAL. */
int configurations_start(struct kube_client *client, const struct configurations_config *config,
			 struct configurations **ret, struct err *err) ATTR_NODISCARD;
/** Stops watching; no callback runs afterwards. NULL is allowed. */
void configurations_free(struct configurations *self);
/** The name of a configuration; NULL: not configured. */
const char *configurations_name(const struct configurations *self, enum configuration_kind kind);
/** The last known object, borrowed until the next poll or configurations_note; NULL: it does not exist. */
struct json_object *configurations_object(const struct configurations *self, enum configuration_kind kind);
/** Takes the API server's answer to a read or a write; NULL: the object does not exist. Reports it as a change unless
 *  it is older than the last known object. Until the watch has caught up, older events are ignored. */
void configurations_note(struct configurations *self, enum configuration_kind kind, struct json_object *object);

/** Reads a configuration anew, as its watch may have missed a change (reflector_list_again). */
void configurations_list_again(struct configurations *self, enum configuration_kind kind);

/** Whether one resourceVersion is older than another. False unless both are decimal numbers. */
bool configurations_is_older(const char *version, const char *than);
