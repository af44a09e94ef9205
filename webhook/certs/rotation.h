/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* rotation: the next step of our certificates, as a pure function of what was read and the time.
 *
 * The state is the shared Secret (CAs, the key of the newest one, one leaf) and the caBundles of the two webhook
 * configurations; nothing else. So any replica can go on where another stopped, at any point, and a step that is done
 * twice does no harm, because every write carries the resourceVersion that the decision was made by. A rotation is
 *
 *	ADD_CA       a new CA in front of the Secret's bundle; the leaf in use is still of the old one
 *	FILL         all CAs of the Secret into every caBundle
 *	(settling)   every API server gets time to take the configuration
 *	SWITCH_LEAF  a leaf of the new CA; all replicas see it in the Secret and use it
 *	FILL, PRUNE  when no leaf of the old CA can be alive any more: out of the caBundles, then out of the Secret
 *
 * A new leaf of the same CA is SWITCH_LEAF alone. What keeps a live leaf covered:
 *	- nobody switches to a leaf before its CA has been in every caBundle for the settling time;
 *	- a CA leaves the caBundles only when it signs no more and the last leaf that it signed has ended;
 *	- a CA of our name in a caBundle that the Secret does not know (a lost Secret, a restored one) is taken into the
 *	  Secret for the life of a leaf (`adopt`) instead of being dropped;
 *	- a replica whose leaf is alive keeps it while the Secret's is not covered or has ended (rotation_may_use).
 * Certificates that others put into a caBundle beside ours stay until they end: they break nothing, whoever can write
 * there can do worse, and taking them out would be a war with whatever puts them in. A caBundle that holds more than we
 * look at (n_more), as all CAs of the web, is changed for our own CAs only.
 *
 * Wall clock times are of certificates; settling is by the monotonic clock of the process. Threads: pure functions. */
#include "base/attr.h"
#include "base/limits.h"

#include <stdint.h>

#define ROTATION_ID_BYTES	32
#define ROTATION_CERTS		LIMIT_CA_BUNDLE_CERTS
#define ROTATION_CONFIGURATIONS 2

/** What is known of a CA. */
struct rotation_cert {
	unsigned char id[ROTATION_ID_BYTES];
	int64_t made_ms, until_ms;
	int64_t last_leaf_ms; /* end of the last leaf that it signed; 0: not known, so `until_ms` */
	bool is_ours;	      /* bears the name that our CAs have */
};

struct rotation_bundle {
	struct rotation_cert certs[ROTATION_CERTS];
	size_t n;
	size_t n_more;	  /* others' certificates that are there too, and do not fit in here */
	bool has_garbage; /* text that is no certificate */
};

enum rotation_presence { ROTATION_UNREAD, ROTATION_ABSENT, ROTATION_PRESENT };

/** One webhook configuration. */
struct rotation_configuration {
	enum rotation_presence presence;
	const struct rotation_bundle *entries; /* caBundle of each webhook; borrowed */
	size_t n_entries;
};

/** Since when a configuration covers what; kept from one observation to the next by rotation_observe. */
struct rotation_coverage {
	enum rotation_presence presence;
	int64_t absent_since_ms; /* monotonic, as all here */
	struct {
		unsigned char id[ROTATION_ID_BYTES];
		int64_t since_ms;
	} certs[ROTATION_CERTS];
	size_t n;
};

/** A leaf with its key. */
struct rotation_leaf {
	bool is_good; /* certificate and key belong together, and the CA that signed it is known */
	bool has_names;
	int64_t made_ms, until_ms;
	unsigned char issuer[ROTATION_ID_BYTES];
};

/** The Secret. */
struct rotation_secret {
	enum rotation_presence presence;
	bool is_refused;	    /* somebody else's: never written, never used */
	bool is_blank;		    /* a place for it, in which nothing has ever been */
	bool has_ca_key;	    /* that of cas.certs[0] */
	struct rotation_bundle cas; /* newest first */
	struct rotation_leaf leaf;
};

struct rotation_times {
	int64_t cert_lifetime_ms, ca_lifetime_ms;
	int64_t settle_ms;	 /* from reading a configuration back until every API server must have it */
	int64_t skew_ms;	 /* clocks are off by a quarter of this at most */
	int64_t jitter_permille; /* 0..1000: when in the time for renewals this replica comes */
};

struct rotation_view {
	int64_t now_ms, monotonic_ms;
	struct rotation_times times;
	struct rotation_secret secret;
	struct rotation_leaf in_use; /* what this process serves; is_good is false for nothing */
	struct rotation_configuration configurations[ROTATION_CONFIGURATIONS];
	struct rotation_coverage coverage[ROTATION_CONFIGURATIONS];
	struct rotation_coverage
		known; /* since when the Secret holds its CAs: whoever fills a new configuration knows them */
};

enum rotation_action {
	ROTATION_WAIT,	      /* until wake_ms, or until something changes */
	ROTATION_CREATE,      /* the Secret, with a new CA */
	ROTATION_ADD_CA,      /* a new CA in front */
	ROTATION_ADOPT,	      /* CAs of the caBundles into the Secret */
	ROTATION_FILL,	      /* caBundles of the configurations in fill_mask */
	ROTATION_SETTLE,      /* work is under way, and waits until wake_ms */
	ROTATION_SWITCH_LEAF, /* a new leaf of cas.certs[0] */
	ROTATION_PRUNE,	      /* the CAs in prune_mask out of the Secret */
	ROTATION_ACTION_COUNT_,
};
/** "wait", "create", "add-ca" ... for logs and metrics. */
extern const char *const rotation_action_names[ROTATION_ACTION_COUNT_];

enum rotation_new_leaf {
	ROTATION_LEAF_AS_IS,  /* what the Secret has, if that is good; else none for now */
	ROTATION_LEAF_IN_USE, /* what this process serves */
	ROTATION_LEAF_MAKE,   /* of cas.certs[0] */
};

struct rotation_plan {
	enum rotation_action action;
	int64_t wake_ms;	     /* from now; INT64_MAX: only a change brings work */
	enum rotation_new_leaf leaf; /* with CREATE and ADD_CA */
	bool keeps_names;	     /* with SWITCH_LEAF: those that the old leaf has besides ours */
	uint32_t fill_mask, prune_mask;
	struct rotation_bundle adopt; /* with CREATE, ADD_CA and ADOPT: last_leaf_ms is set */
	const char *why;	      /* a few words; static */
};

/** Settling and skew for lifetimes: 10 s and an hour, less for lives of minutes. */
struct rotation_times rotation_times_for(int64_t cert_lifetime_ms, int64_t ca_lifetime_ms, int64_t jitter_permille);
/** Note what a configuration holds now. */
void rotation_observe(struct rotation_coverage *self, const struct rotation_configuration *seen, int64_t monotonic_ms);
/** The same of the Secret, for `known`. */
void rotation_observe_secret(struct rotation_coverage *self, const struct rotation_secret *seen, int64_t monotonic_ms);
void rotation_decide(const struct rotation_view *view, struct rotation_plan *ret);
/** May this process take the Secret's leaf instead of what it serves, or instead of nothing?
 *  @param ret_wake_ms  when to ask again, if not. */
bool rotation_may_use(const struct rotation_view *view, int64_t *ret_wake_ms);
/** Must this CA of the Secret be in every caBundle? */
bool rotation_wants(const struct rotation_view *view, size_t ca);
/** Is this caBundle as it should be? */
bool rotation_is_right(const struct rotation_view *view, const struct rotation_bundle *entry);
/** May this certificate of a caBundle stay there? Longer than it is wanted, by the skew of clocks; what is not in the
 *  Secret stays until it ends. */
bool rotation_keeps(const struct rotation_view *view, const struct rotation_cert *cert);
