/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* caps: limits the mode of namespaces in which too much harm was done. Such a namespace is lowered to `observe`
 * (spec.modeCap of its profile memtamer-namespace) until a person removes the cap. Caps that we set are stored in the
 * collector's state, so that harm from before a person removed a cap does not set it again. One thread. */
#include "base/json.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct learn;
struct profile;

/* The threshold within a day: at least three harmed runs, and more than 1 % of the runs. */
#define CAPS_HARMED_RUNS     3
#define CAPS_HARMED_PERMILLE 10

struct namespace_cap {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1];
	int64_t since_ms; /* when the cap was set, or was found to be removed: runs that began before do not count */
	bool is_set;
};

/* A namespace in which harm was done that has not been checked yet. */
struct due_namespace {
	char name[LIMIT_NAMESPACE_BYTES + 1];
};

enum cap_setter { CAP_BY_PERSON, CAP_BY_HARM, CAP_SETTER_COUNT_ };
extern const char *const cap_setter_names[CAP_SETTER_COUNT_];

/* Number of namespaces with a cap, by who set it. */
struct capped {
	size_t n[CAP_SETTER_COUNT_];
	bool is_counted; /* false: not counted yet, all of n is 0 */
};

struct namespace_caps {
	VEC(struct namespace_cap) items;
	VEC(struct due_namespace) due; /* not stored: after a restart they are found in the histories */
};

void caps_release(struct namespace_caps *self);
/** Who set the cap of a profile memtamer-namespace; the profile must have a cap. A cap of another value than the one
 * that harm sets is a person's, and so is one that the collector's state does not contain. Cost: linear in the caps
 * that are stored. */
enum cap_setter caps_setter(const struct namespace_caps *self, const struct profile *profile);
/** Harm was found in this namespace, whether it was written to a history or not: it is due for a check. Cost: linear in
 * the namespaces that are due. @return 0 or -ENOMEM. */
int caps_note_harm(struct namespace_caps *self, const char *namespace_name) ATTR_NODISCARD;

/** Checks the namespaces that are due and caps those above the threshold, with one notice each in `learn->notices`.
 * Call it after the change of `learn`, which has read all profiles, is in the store. A cap that exists is never
 * changed. Namespaces that could not be checked or capped stay due. Cost: reads all histories if a namespace is due.
 * @param ret_changed  set (never cleared) if `self` must be saved.
 * @return 0; as store_lower_mode_cap and store_visit. */
int caps_check(struct namespace_caps *self, struct learn *learn, bool *ret_changed, struct capped *ret_capped,
	       struct err *err) ATTR_NODISCARD;

/** Writes a JSON array. @return the sticky status of `buf`. */
int caps_encode(const struct namespace_caps *self, struct strbuf *buf);
/** Reads state.caps into `ret`, which must be empty. No caps if the member is absent. @return 0; -EINVAL; -ENOMEM. */
int caps_decode(struct json_object *state, struct namespace_caps *ret, struct err *err) ATTR_NODISCARD;
