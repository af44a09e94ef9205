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
	const char *name; /* of the owner */
	char kind[RUN_NAME_BYTES];
	char api_version[128], uid[64];
	bool is_found;
};

static bool is_it(const struct sighting_owner *owner, const struct subject *self)
{
	bool was_cut = strlen(self->notice->owner) == sizeof(self->notice->owner) - 1;

	return streq(owner->kind, self->kind) &&
	       (was_cut ? strstarts(owner->name, self->name) : streq(owner->name, self->name));
}

static void take(struct subject *self, const char *api_version, const char *uid)
{
	snprintf(self->api_version, sizeof(self->api_version), "%s", api_version);
	snprintf(self->uid, sizeof(self->uid), "%s", uid);
	self->is_found = true;
}

static bool match_sighting(void *context, const struct sighting *sighting)
{
	struct subject *self = context;

	if (!streq(sighting->namespace_name, self->notice->namespace_name))
		return true;
	if (is_it(&sighting->root, self))
		take(self, sighting->root.api_version, sighting->root.uid);
	else if (is_it(&sighting->owner, self))
		take(self, sighting->owner.api_version, sighting->owner.uid);
	else if (streq(self->kind, "Pod") && streq(sighting->name, self->name))
		take(self, "v1", sighting->uid);
	return !self->is_found;
}

int announce_notice(struct announce *self, const struct notice *notice, struct err *err)
{
	struct subject subject = {.notice = notice};
	const char *slash = strchr(notice->owner, '/');
	struct kube_event_object object = {.api_version = PROFILE_API_VERSION,
					   .kind = "MemoryProfile",
					   .name = PROFILE_OF_NAMESPACE,
					   .namespace = notice->namespace_name};

	if (notice->kind != NOTICE_CAP && slash) {
		snprintf(subject.kind, sizeof(subject.kind), "%.*s", (int)(slash - notice->owner), notice->owner);
		subject.name = slash + 1;
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
