/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* caps: a namespace in which too much harm was done goes down to `observe` (spec.modeCap of its profile
 * memtamer-namespace), until a person takes that out. What we capped is remembered in the collector's state, so that
 * harm from before a person lifted a cap does not set it again. */
#include "base/json.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct learn;

/* More than 1 % of the runs of a day, and at least three. */
#define CAPS_HARMED_RUNS     3
#define CAPS_HARMED_PERMILLE 10

struct namespace_cap {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1];
	int64_t since_ms; /* when it was set, or when it was seen to be lifted: runs that began before do not count */
	bool is_set;
};

/* Namespaces in which harm was done that was not looked at yet. */
struct due_namespace {
	char name[LIMIT_NAMESPACE_BYTES + 1];
};

struct due_namespaces {
	VEC(struct due_namespace) items;
};

struct namespace_caps {
	VEC(struct namespace_cap) items;
	struct due_namespaces due; /* not in the state: whoever starts finds them in the histories */
};

void caps_release(struct namespace_caps *self);
/** Once each. 0 or -ENOMEM. */
int due_put(struct due_namespaces *self, const char *name) ATTR_NODISCARD;
/** Namespaces of what `learn` found are due, whether it could be written as a whole or not. 0 or -ENOMEM. */
int caps_note_harm(struct namespace_caps *self, const struct learn *learn) ATTR_NODISCARD;

/** After the change of `learn` is in the store: cap namespaces that are due and in which harm went too far. Appends
 *  notices of them. A cap that stands stays as it is, whoever set it. What could not be checked, or capped, stays due.
 *  @param ret_changed  set when `self` is another one now. @param ret_n  namespaces that are capped, by whomever; as it
 *  was where `learn` has not read all profiles.
 *  @return 0; as store_lower_mode_cap, store_visit and store_visit_named. */
int caps_check(struct namespace_caps *self, struct learn *learn, bool *ret_changed, size_t *ret_n,
	       struct err *err) ATTR_NODISCARD;

/** As a JSON array. Sticky status of buf. */
int caps_encode(const struct namespace_caps *self, struct strbuf *buf);
/** Absent: none. @return 0; -EINVAL; -ENOMEM. */
int caps_decode(struct json_object *state, struct namespace_caps *ret, struct err *err) ATTR_NODISCARD;
