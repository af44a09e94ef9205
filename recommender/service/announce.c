/* SPDX-License-Identifier: Apache-2.0 */
#include "service/announce.h"

#include "base/str.h"
#include "model/profile.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/* The object of an Event. It has copies of the texts, because a sighting may only be used inside pods_visit. */
struct subject {
	const struct notice *notice;
	char api_version[128], kind[LIMIT_NAME_BYTES + 1], name[LIMIT_NAME_BYTES + 1], uid[64];
	bool is_found;
};

/* What is never truncated of a name. Comparing it first spares the hash of nearly all names. */
#define HEAD_BYTES 16

/* A notice has long names truncated, so the text that it would have of this object is compared. */
static bool is_named(const struct sighting_owner *object, const char *owner)
{
	size_t n = strnlen(object->kind, NOTICE_KIND_BYTES);
	char text[RUN_NAME_BYTES];

	if (strncmp(object->kind, owner, n) != 0 || owner[n] != '/' ||
	    strncmp(object->name, owner + n + 1, HEAD_BYTES) != 0)
		return false;
	notice_owner(object->kind, object->name, text);
	return streq(text, owner);
}

static bool match(struct subject *self, const struct sighting_owner *object)
{
	self->is_found = is_named(object, self->notice->owner);
	if (!self->is_found)
		return false;
	snprintf(self->api_version, sizeof(self->api_version), "%s", object->api_version);
	snprintf(self->kind, sizeof(self->kind), "%s", object->kind);
	snprintf(self->name, sizeof(self->name), "%s", object->name);
	snprintf(self->uid, sizeof(self->uid), "%s", object->uid);
	return true;
}

static bool match_sighting(void *context, const struct sighting *sighting)
{
	char version[] = "v1", kind[] = "Pod";
	const struct sighting_owner pod = {version, kind, sighting->name, sighting->uid};
	struct subject *self = context;

	if (!streq(sighting->namespace_name, self->notice->namespace_name))
		return true;
	return !match(self, &sighting->root) && !match(self, &sighting->owner) && !match(self, &pod);
}

int announce_notice(struct announce *self, const struct notice *notice, struct err *err)
{
	struct subject subject = {.notice = notice};
	struct kube_event_object object = {.api_version = PROFILE_API_VERSION,
					   .kind = "MemoryProfile",
					   .name = PROFILE_OF_NAMESPACE,
					   .namespace = notice->namespace_name};

	if (notice->kind != NOTICE_CAP) {
		if (self->pods)
			pods_visit(self->pods, match_sighting, &subject);
		if (!subject.is_found)
			return 0; /* the owner is gone and nobody will look at it; the history has the entry */
		object = (struct kube_event_object){.api_version = subject.api_version,
						    .kind = subject.kind,
						    .name = subject.name,
						    .namespace = notice->namespace_name,
						    .uid = subject.uid};
	}
	return kube_events_record(self->events, &object, notice->is_warning, notice->reason, notice->text, err);
}
