/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* bundles: reads the caBundles of a webhook configuration and makes the JSON patch that sets them and nothing else.
 * Threads: belongs to one thread. */
#include "base/json.h"
#include "certs/tls_secret.h"

/** One webhook of a configuration. */
struct bundles_entry {
	struct pki_bundle bundle;
	bool is_unreadable; /* the caBundle is not base64, or contains no certificate */
};

struct bundles {
	enum rotation_presence presence;
	char *resource_version;
	struct bundles_entry *entries;
	size_t n;
	struct rotation_bundle *facts; /* one for each entry; its certificates may be in another order */
};

#define BUNDLES_INIT                                                                                                   \
	{                                                                                                              \
		.presence = ROTATION_UNREAD                                                                            \
	}

void bundles_release(struct bundles *self);
/** Reads a webhook configuration; `object` NULL: the configuration does not exist. `ret` must be empty; release it with
 *  bundles_release. @return 0; -ENOMEM; -EINVAL it is not a webhook configuration. */
int bundles_decode(struct json_object *object, const char *ca_name, struct bundles *ret,
		   struct err *err) ATTR_NODISCARD;
/** Chooses the certificates of each caBundle that `facts` contain, because `facts` have room for ROTATION_CERTS: first
 *  those of `cas` (the Secret's), then those with the name of our CAs, then others. */
void bundles_choose(struct bundles *self, const char *ca_name, const struct pki_bundle *cas);
/** Makes a JSON patch. The API server refuses it if the configuration has changed since it was read. The caller owns
 *  `ret`. @return 0; 1 nothing to change; -ENOMEM; -E2BIG. */
int bundles_patch(const struct bundles *self, const struct rotation_view *view, const struct tls_secret *secret,
		  struct json_object **ret, struct err *err) ATTR_NODISCARD;
