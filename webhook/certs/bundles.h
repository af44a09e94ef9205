/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* bundles: the caBundles of a webhook configuration, read, and the JSON patch that sets them and nothing else.
 * Threads: belongs to one thread. */
#include "base/json.h"
#include "certs/material.h"

/** One webhook of a configuration. */
struct bundles_entry {
	char *name;
	struct pki_bundle bundle;
	bool is_unreadable; /* no base64, or no certificate in it */
};

struct bundles {
	enum rotation_presence presence;
	char *resource_version;
	struct bundles_entry *entries;
	size_t n;
	struct rotation_bundle *facts; /* of each entry; not in its order */
};

#define BUNDLES_INIT                                                                                                   \
	{                                                                                                              \
		.presence = ROTATION_UNREAD                                                                            \
	}

void bundles_release(struct bundles *self);
/** `object` NULL: there is none. `ret` must be empty. @return 0; -ENOMEM; -EINVAL: no webhook configuration. */
int bundles_decode(struct json_object *object, const char *ca_name, struct bundles *ret,
		   struct err *err) ATTR_NODISCARD;
/** Which certificates of a caBundle that is longer than ROTATION_CERTS the facts tell of: those of `cas` (the Secret's)
 *  first, then those that bear the name of our CAs. */
void bundles_choose(struct bundles *self, const char *ca_name, const struct pki_bundle *cas);
/** The certificate with this id in any entry; NULL: none. */
const struct pki_cert *bundles_find(const struct bundles *self, const unsigned char *id);
/** A JSON patch, which is refused if the configuration has changed since. @return 0; 1 nothing to change; -ENOMEM;
 *  -E2BIG. */
int bundles_patch(const struct bundles *self, const struct rotation_view *view, const struct material *secret,
		  struct json_object **ret, struct err *err) ATTR_NODISCARD;
