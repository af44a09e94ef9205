/* SPDX-License-Identifier: Apache-2.0 */
#include "registration/registration.h"

#include "base/arena.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One configuration. */
struct watched {
	struct json_object *object;
	bool is_read, is_present;
	struct drifts told;
};

struct registration {
	struct configurations *configurations;
	struct registration_config config;
	struct arena arena;
	char *chain_pem;
	struct watched watched[CONFIGURATION_COUNT_];
};

static void compare(struct registration *self, enum configuration_kind kind)
{
	struct watched *watched = &self->watched[kind];
	struct compare_expected expected = self->config.expected;
	struct drifts now;

	if (!watched->is_read)
		return;
	expected.chain_pem = self->chain_pem;
	memset(&now, 0, sizeof(now));
	if (watched->object)
		compare_configuration(kind, watched->object, &expected, &now);
	for (size_t i = 0; i < DRIFT_FIELD_COUNT_; i++)
		if (!streq(now.words[i], watched->told.words[i]))
			self->config.drifted(self->config.context, kind, (enum drift_field)i,
					     *now.words[i] ? now.words[i] : NULL);
	watched->told = now;
}

static void seen(void *context, enum configuration_kind kind, struct json_object *object)
{
	struct registration *self = context;
	struct watched *watched = &self->watched[kind];
	bool is_news = !watched->is_read || watched->is_present != (object != NULL);

	json_object_get(object);
	json_object_put(watched->object);
	watched->object = object;
	watched->is_read = true;
	watched->is_present = object != NULL;
	if (is_news)
		self->config.present(self->config.context, kind, object != NULL);
	compare(self, kind);
}

static int copy_config(struct registration *self, const struct registration_config *config)
{
	const char *const *excluded = config->expected.excluded_namespaces;
	const char **names;
	size_t n = 0;

	self->config = *config;
	while (excluded && excluded[n])
		n++;
	names = arena_array(&self->arena, n + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!(names[i] = arena_strdup(&self->arena, excluded[i])))
			return -ENOMEM;
	self->config.expected.excluded_namespaces = names;
	if (config->expected.own_namespace &&
	    !(self->config.expected.own_namespace = arena_strdup(&self->arena, config->expected.own_namespace)))
		return -ENOMEM;
	return 0;
}

int registration_start(struct configurations *configurations, const struct registration_config *config,
		       struct registration **ret, struct err *err)
{
	struct registration *self = calloc(1, sizeof(*self));
	int r = 0;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->configurations = configurations;
	self->arena = (struct arena)ARENA_INIT(1 * MIB);
	if (copy_config(self, config))
		r = err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = configurations_listen(configurations, seen, self, err);
	if (r)
		registration_free(self);
	else
		*ret = self;
	return r;
}

void registration_free(struct registration *self)
{
	if (!self)
		return;
	configurations_unlisten(self->configurations, self);
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		json_object_put(self->watched[i].object);
	free(self->chain_pem);
	arena_release(&self->arena);
	free(self);
}

void registration_set_chain(struct registration *self, const char *chain_pem)
{
	char *copy;

	if (streq(self->chain_pem, chain_pem))
		return;
	copy = chain_pem ? strdup(chain_pem) : NULL;
	if (chain_pem && !copy)
		return; /* asked again soon */
	free(self->chain_pem);
	self->chain_pem = copy;
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		compare(self, (enum configuration_kind)i);
}
