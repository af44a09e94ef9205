/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A reflector, shared by reflector.c (when it lists, watches and waits) and reflector_event.c (the objects and events
 * that come). Private to kube/. */
#include "kube/reflector.h"

#include "base/arena.h"
#include "base/strbuf.h"
#include "kube/kube_cache.h"

#define VERSION_BYTES 256

struct reflector {
	struct kube_client *client;
	struct reflector_config config;
	struct arena arena;
	struct arena scratch; /* for an event */
	struct kube_list *list;
	struct kube_call *watch;
	struct kube_timer timer;
	struct kube_cache known;
	struct strbuf line;		      /* the current line of the watch */
	char resource_version[VERSION_BYTES]; /* "": a list comes next */
	char expired_version[VERSION_BYTES];  /* the version that a 410 rejected; "": the next list is read from etcd */
	uint32_t mark;
	unsigned int failures; /* since the last steady watch */
	unsigned int resumes;  /* failed resumes since the last list, event, bookmark or steady watch */
	bool has_expired;      /* a 410 came since the last event, bookmark or steady watch */
	bool is_open;	       /* the server has accepted the watch */
	int64_t watch_since_ms, watch_asked_ms;
	int watch_code; /* why the reflector itself ends the watch */
	struct err watch_err;
	struct reflector_stats stats;
};

/** Remembers the version to watch from. @return 0; -EINVAL if it cannot be used. */
int reflector_note_version(struct reflector *self, const char *version);
/** An object of a list or an event: reports it if it is new or has changed. @return 0 or -ENOMEM. */
int reflector_take_object(struct reflector *self, const struct kube_object *object);
/** An object or event is left out. A kube_list callback. */
void reflector_pass_over(void *reflector, const struct err *why);
/** The server has answered a watch with more than an error. */
void reflector_make_progress(struct reflector *self);
/** Bytes of a watch: events, one a line; a callback of kube_request. On a failure sets watch_code and watch_err.
 * @return 0 or -errno. */
int reflector_take_bytes(void *reflector, const char *bytes, size_t n);
