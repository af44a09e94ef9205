/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* annotation: the decision annotation (memtamer.io/decision) read back from a pod, for whoever wants to know what was
 * chosen for it: the recommender and the reading commands. What it says is a claim: manifests are copied with their
 * annotations, and values change later; only a value that the container really carries is ours. Pure. */
#include "k8s/pod.h"
#include "policy/policy.h"

#include <stddef.h>

struct annotation_value {
	bool is_set, has_from;
	int64_t from_bytes, to_bytes; /* has_from false: there was none before */
	int64_t at_ms;		      /* of a resize; 0: when the pod was created */
	/* Printable ASCII; "" where something else, or more than fits, stands in its place. */
	char rule[24];
	char cap[96]; /* what kept it from more or less; "" nothing */
};

/* [enum size_field][0 memory, 1 ephemeral-storage] */
struct annotation_container {
	struct annotation_value values[2][2];
};

enum { ANNOTATION_MEMORY, ANNOTATION_EPHEMERAL };

struct annotation {
	enum mode mode;
	int64_t revision; /* of the profile; 0: none */
	int whole_runs;
};

/** Is it one of ours, and this pod's own: not copied with the manifest of another owner's pod? */
bool annotation_is_own(const char *text, const struct k8s_pod *pod);
/** What an annotation says was set in this container; nothing set is an answer too. Entries that do not match the
 *  container's present values are the caller's to judge.
 *  @param ret_container  may be NULL. @return false: none of ours, or unreadable. */
bool annotation_read(const char *text, const char *container, struct annotation *ret,
		     struct annotation_container *ret_container);
