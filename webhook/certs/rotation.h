/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* rotation: decides the next step of a certificate rotation from what was read and the time.
 *
 * The only state is the shared Secret (CAs, the key of the newest one, one leaf) and the caBundles of the two webhook
 * configurations. Any replica can therefore continue where another stopped. A step that is done twice does no harm,
 * because every write carries the resourceVersion that the decision was based on. A rotation is
 *
 *	ADD_CA       a new CA at the front of the Secret's bundle; the old CA's leaf stays in use
 *	FILL         all CAs of the Secret into every caBundle
 *	(settling)   every API server gets time to read the configuration
 *	SWITCH_LEAF  a leaf of the new CA; all replicas see it in the Secret and use it
 *	FILL, PRUNE  when all leaves of the old CA have ended: out of the caBundles, then out of the Secret
 *
 * A new leaf of the same CA is SWITCH_LEAF alone. The first line that holds decides:
 *
 *	state					found after			step
 *	an object is not read yet		a start, an outage		WAIT
 *	the Secret is somebody else's		a user's own certificate	WAIT
 *	there is no Secret, or it is blank	first start, deletion		CREATE, ADD_CA
 *	no CA with its key			damage				ADD_CA
 *	the CA is due, has ended, or is of a
 *	clock that was ahead			time, an outage, a clock step	ADD_CA
 *	the same of the leaf, or it is absent
 *	or of an older CA; and the CA is
 *	trusted everywhere			time, damage, ADD_CA		SWITCH_LEAF
 *	a caBundle has a CA that the Secret
 *	lacks					deletion, a restored backup	ADOPT
 *	a caBundle lacks a CA or has too many	each change of the Secret	FILL
 *	the CA is not trusted everywhere yet	FILL				SETTLE
 *	an older CA is not needed		time				PRUNE
 *	none of these				a complete rotation		WAIT
 *
 * Two replicas need no state of their own: both decide the same, and after a conflict one of them waits for its watch.
 * With cert-manager, or files of a user, this module is not started. These rules keep a valid leaf trusted:
 *	- nobody switches to a leaf before its CA has been in every caBundle for the settling time;
 *	- a CA leaves the caBundles only when it no longer signs and the last leaf that it signed has ended;
 *	- a CA of our name in a caBundle that is not in the Secret (lost or restored) is added to the Secret for the
 *	  lifetime of a leaf (`adopt`) instead of being removed;
 *	- a replica keeps its valid leaf while the Secret's leaf is not trusted or has ended (rotation_may_use).
 * Certificates that others add to a caBundle stay until they end: they break nothing, and removing them would start a
 * conflict with whatever adds them. In a caBundle with more certificates than we look at (n_more), such as all public
 * CAs, only our own CAs are changed.
 *
 * Wall clock times are ms since 1970. Settling is measured by the monotonic clock of the process. Pure functions, any
 * thread. Cost: at most quadratic in ROTATION_CERTS for each webhook. */
#include "base/attr.h"
#include "base/limits.h"

#include <stdint.h>

#define ROTATION_ID_BYTES	32
#define ROTATION_CERTS		LIMIT_CA_BUNDLE_CERTS
#define ROTATION_CONFIGURATIONS 2

/** A CA. */
struct rotation_cert {
	unsigned char id[ROTATION_ID_BYTES];
	int64_t made_ms, until_ms;
	int64_t last_leaf_ms; /* end of the last leaf that it signed; 0: unknown, `until_ms` is used */
	bool is_ours;	      /* has the name of our CAs */
	const char *pem;      /* borrowed; only passed on */
};

struct rotation_bundle {
	struct rotation_cert certs[ROTATION_CERTS];
	size_t n;
	size_t n_more;	  /* further certificates, made by others, that do not fit into `certs` */
	bool has_garbage; /* contains text that is not a certificate */
};

enum rotation_presence { ROTATION_UNREAD, ROTATION_ABSENT, ROTATION_PRESENT };

/** One webhook configuration. */
struct rotation_configuration {
	enum rotation_presence presence;
	const struct rotation_bundle *entries; /* caBundle of each webhook; borrowed */
	size_t n_entries;
};

/** Since when every webhook of a configuration has contained which certificates; updated by rotation_observe. */
struct rotation_coverage {
	enum rotation_presence presence;
	int64_t absent_since_ms; /* monotonic, like all times in this struct */
	struct {
		unsigned char id[ROTATION_ID_BYTES];
		int64_t since_ms;
	} certs[ROTATION_CERTS];
	size_t n;
};

/** A leaf with its key. */
struct rotation_leaf {
	bool is_good; /* certificate and key belong together, and the CA that signed it is in the bundle */
	bool has_names;
	int64_t made_ms, until_ms;
	unsigned char issuer[ROTATION_ID_BYTES];
};

/** The Secret. */
struct rotation_secret {
	enum rotation_presence presence;
	bool is_refused;	    /* made by somebody else: never written, never used */
	bool is_blank;		    /* exists, but nothing was written into it yet */
	bool has_ca_key;	    /* contains the key of cas.certs[0] */
	struct rotation_bundle cas; /* newest first */
	struct rotation_leaf leaf;
};

struct rotation_times {
	int64_t cert_lifetime_ms, ca_lifetime_ms;
	int64_t settle_ms;	 /* from reading a configuration back until every API server has it */
	int64_t skew_ms;	 /* clocks differ by at most a quarter of this */
	int64_t jitter_permille; /* 0..1000: this replica's share of the spread between renewals of replicas */
};

struct rotation_view {
	int64_t now_ms, monotonic_ms;
	struct rotation_times times;
	struct rotation_secret secret;
	struct rotation_leaf in_use; /* what this process serves; is_good is false if nothing */
	struct rotation_configuration configurations[ROTATION_CONFIGURATIONS];
	struct rotation_coverage coverage[ROTATION_CONFIGURATIONS];
	struct rotation_coverage known; /* since when the Secret has contained its CAs */
};

enum rotation_action {
	ROTATION_WAIT,	      /* nothing to do until wake_ms or a change */
	ROTATION_CREATE,      /* create the Secret with a new CA */
	ROTATION_ADD_CA,      /* add a new CA at the front */
	ROTATION_ADOPT,	      /* add CAs of ours that only caBundles contain */
	ROTATION_FILL,	      /* write the caBundles of the configurations in fill_mask */
	ROTATION_SETTLE,      /* wait until wake_ms before the next step */
	ROTATION_SWITCH_LEAF, /* make a new leaf, signed by cas.certs[0] */
	ROTATION_PRUNE,	      /* remove CAs that are no longer needed from the Secret */
	ROTATION_ACTION_COUNT_,
};
/** "wait", "create", "add-ca" ... for logs and metrics. */
extern const char *const rotation_action_names[ROTATION_ACTION_COUNT_];

enum rotation_new_leaf {
	ROTATION_LEAF_AS_IS,  /* the Secret's leaf if it is good, otherwise none for now */
	ROTATION_LEAF_IN_USE, /* the leaf that this process serves */
	ROTATION_LEAF_MAKE,   /* a new one, signed by the first CA */
};

struct rotation_plan {
	enum rotation_action action;
	int64_t wake_ms;    /* from now; INT64_MAX: only a change brings work */
	const char *why;    /* the reason; static string */
	uint32_t fill_mask; /* with FILL */
	/* The Secret to be written, with all other actions: */
	bool makes_ca;		    /* a new CA in front of `cas` */
	struct rotation_bundle cas; /* with last_leaf_ms, where it is known */
	enum rotation_new_leaf leaf;
	bool keeps_names; /* a new leaf keeps the names of the old one, too */
};

/** Chooses settling time and skew for these lifetimes: 10 s and an hour, or a tenth of the shorter lifetime if that is
 *  less. */
struct rotation_times rotation_times_for(int64_t cert_lifetime_ms, int64_t ca_lifetime_ms, int64_t jitter_permille);
/** Records what a configuration contains now. */
void rotation_observe(struct rotation_coverage *self, const struct rotation_configuration *seen, int64_t monotonic_ms);
/** The same for the Secret, into rotation_view.known. */
void rotation_observe_secret(struct rotation_coverage *self, const struct rotation_secret *seen, int64_t monotonic_ms);
/** Decides the next step. */
void rotation_decide(const struct rotation_view *view, struct rotation_plan *ret);
/** Whether this process may use the Secret's leaf, in place of the one in use or of none.
 *  @param ret_wake_ms  if not: when to ask again, from now; INT64_MAX: after a change. */
bool rotation_may_use(const struct rotation_view *view, int64_t *ret_wake_ms);
/** Whether this CA of the Secret must be in every caBundle. */
bool rotation_wants(const struct rotation_view *view, size_t ca);
/** Whether this caBundle needs no change. */
bool rotation_is_right(const struct rotation_view *view, const struct rotation_bundle *entry);
/** Whether this certificate may stay in a caBundle. A CA of the Secret may stay longer than rotation_wants says, by the
 *  skew of clocks, so that replicas do not undo each other's work; other certificates stay until they end. */
bool rotation_keeps(const struct rotation_view *view, const struct rotation_cert *cert);
