/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* annotation: reads the decision annotation (memtamer.io/decision of a pod, memtamer.io/template-decision of an object
 * that creates pods). Its content cannot be trusted: manifests are copied with their annotations, values are edited
 * later, and anybody who may annotate a pod can write one. Only a value that the container really has counts as ours.
 * Pure; any thread.
 *
 * Texts over LIMIT_ANNOTATION_BYTES are not ours, as we never write more. Cost: one pass over the text, and constant
 * time to look up an entry. */
#include "base/strmap.h"
#include "k8s/pod.h"
#include "policy/policy.h"

#include <stddef.h>

struct size_change;

enum { ANNOTATION_VERSION = 1 };

struct annotation {
	enum mode mode;
	int64_t revision; /* of the profile; 0: none */
	int whole_runs;
	const char *variable; /* of k8s/allocator.h, which was set; static; NULL: none */
	bool has_owner;	      /* the annotation names the controller of its pod; a bare pod has none */
};

/** One valid item of `set`. */
struct annotation_entry {
	const char *container_name;
	enum k8s_resource resource; /* memory or ephemeral-storage */
	int field;		    /* enum size_field */
	bool has_from;
	struct quantity from, to; /* never negative */
	/* "" if absent. `at`: the time of a resize, or the JSON Pointer of a pod template. */
	const char *rule, *cap, *at;
	/* The pod's value; NULL: not looked up, or there is no such container. */
	const struct k8s_container *container;
	const struct k8s_amount *amount;
	bool holds; /* the amount equals `to` */
};

/** The content of an annotation. Texts and arrays are in the arena. */
struct annotation_set {
	struct annotation head;
	bool has_mode;	   /* false: not one of ours, and head.mode is MODE_OFF */
	const char *owner; /* uid of the pod's controller, "" for a bare pod; NULL: absent (older versions) */
	struct annotation_entry *entries;
	size_t n;
	bool is_whole; /* every item of `set` is valid: `entries` are all that was set */
};

/** Parses an annotation. @param text  NULL: absent. @return 0; ANNOTATION_NONE: absent, or not one of ours; -ENOMEM. */
enum { ANNOTATION_NONE = 1 };
int annotation_parse(const char *text, struct arena *arena, struct annotation_set *ret) ATTR_NODISCARD;
/** Adds the containers of a pod by name; if a name occurs twice, the first one counts. @return 0; -ENOMEM. */
int annotation_index(const struct k8s_pod *pod, struct strmap *ret) ATTR_NODISCARD;
/** Looks up an entry in an index of its pod: sets container, amount and holds. */
void annotation_entry_find(struct annotation_entry *self, const struct strmap *containers);
/** The change that an entry says was made, without a reason; texts are borrowed. */
struct size_change annotation_entry_size(const struct annotation_entry *self);
/** Whether it was written for a pod of this pod's controller, and not copied with another manifest. */
bool annotation_is_of(const struct annotation_set *self, const struct k8s_pod *pod);

/* ---- for the recommender ---- */

struct annotation_value {
	bool is_set, has_from;
	int64_t from_bytes, to_bytes; /* has_from false: there was no value before */
	int64_t at_ms;		      /* time of a resize; 0: when the pod was created */
	/* Printable ASCII; "" if the text has other characters or does not fit. */
	char rule[24];
	char cap[96]; /* the reason why the change was limited; "": none */
};

/* indexed by [enum size_field][ANNOTATION_MEMORY or ANNOTATION_EPHEMERAL] */
struct annotation_container {
	struct annotation_value values[2][2];
};

enum { ANNOTATION_MEMORY, ANNOTATION_EPHEMERAL };

/** Whether it is one of ours and was written for this pod, not copied from another owner's pod. */
bool annotation_is_own(const char *text, const struct k8s_pod *pod);
/** Reads the values that were set in this container according to an annotation; there may be none. The caller must
 * compare them with the container's values. @param ret_container  may be NULL. @return false: not one of ours, or
 * unreadable. */
bool annotation_read(const char *text, const char *container, struct annotation *ret,
		     struct annotation_container *ret_container);
