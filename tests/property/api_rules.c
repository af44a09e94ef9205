/* SPDX-License-Identifier: Apache-2.0 */
#include "api_rules.h"

#include "base/json.h"
#include "base/str.h"
#include "k8s/quantity.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const resources[] = {"cpu", "memory", "ephemeral-storage"};
enum { RESOURCES = 3 };

struct amount {
	bool has;
	__int128 nano;
};

static struct amount read_amount(struct json_object *map, const char *key)
{
	struct json_object *value = json_member(map, key);
	const char *text = value ? json_object_get_string(value) : NULL;
	struct quantity quantity = {.nano = 0};

	if (!text)
		return (struct amount){.has = false};
	if (quantity_parse(text, strlen(text), &quantity, NULL))
		abort();
	return (struct amount){.has = true, .nano = quantity.nano};
}

static void write_amount(struct json_object *map, const char *key, __int128 nano)
{
	struct quantity quantity = {.nano = nano, .format = QUANTITY_DECIMAL_SI};
	char text[QUANTITY_TEXT_BYTES];

	json_object_object_add(map, key, json_object_new_string(quantity_render(&quantity, text)));
}

static struct json_object *map_of(struct json_object *container, const char *which)
{
	return json_member(json_member(container, "resources"), which);
}

static struct json_object *make_member(struct json_object *object, const char *key)
{
	if (!json_member(object, key))
		json_object_object_add(object, key, json_object_new_object());
	return json_member(object, key);
}

static size_t length(struct json_object *array)
{
	return array ? json_object_array_length(array) : 0;
}

/* ---- all containers of a pod, one after the other ---- */

static struct json_object *container_at(struct json_object *pod, size_t i, bool *ret_is_init)
{
	struct json_object *spec = json_member(pod, "spec"), *main_ones = json_member(spec, "containers");
	struct json_object *init = json_member(spec, "initContainers");

	*ret_is_init = i >= length(main_ones);
	if (!*ret_is_init)
		return json_object_array_get_idx(main_ones, i);
	return i - length(main_ones) < length(init) ? json_object_array_get_idx(init, i - length(main_ones)) : NULL;
}

static bool is_sidecar(struct json_object *container)
{
	return streq(json_object_get_string(json_member(container, "restartPolicy")), "Always");
}

/* ---- defaulting ---- */

static void set_missing(struct json_object *to, struct json_object *from)
{
	for (int i = 0; i < RESOURCES; i++) {
		struct amount amount = read_amount(from, resources[i]);

		if (amount.has && !read_amount(to, resources[i]).has)
			write_amount(to, resources[i], amount.nano);
	}
}

static void default_container(struct json_object *container, struct json_object *limit_ranges)
{
	struct json_object *all = make_member(container, "resources");
	struct json_object *requests = make_member(all, "requests"), *limits = make_member(all, "limits");

	set_missing(requests, limits);
	for (size_t k = 0; k < length(limit_ranges); k++) {
		struct json_object *range = json_object_array_get_idx(limit_ranges, k);
		struct json_object *items = json_member(json_member(range, "spec"), "limits");

		for (size_t i = 0; i < length(items); i++) {
			struct json_object *item = json_object_array_get_idx(items, i);

			if (!streq(json_object_get_string(json_member(item, "type")), "Container"))
				continue;
			set_missing(limits, json_member(item, "default"));
			set_missing(requests, json_member(item, "defaultRequest"));
		}
	}
}

void api_default(struct json_object *pod, struct json_object *limit_ranges)
{
	struct json_object *container;
	bool is_init;

	for (size_t i = 0; (container = container_at(pod, i, &is_init)); i++)
		default_container(container, limit_ranges);
}

/* ---- sums ---- */

static struct amount pod_amount(struct json_object *pod, const char *which, const char *resource)
{
	__int128 running = 0, sidecars = 0, start = 0;
	struct json_object *container;
	bool is_init, has = false;

	for (size_t i = 0; (container = container_at(pod, i, &is_init)); i++) {
		struct amount own = read_amount(map_of(container, which), resource);

		has |= own.has;
		if (!is_init || is_sidecar(container))
			running += own.nano;
		if (is_init) {
			__int128 now = sidecars + own.nano;

			if (is_sidecar(container))
				sidecars = now;
			if (now > start)
				start = now;
		}
	}
	return (struct amount){.has = has, .nano = running > start ? running : start};
}

int64_t api_pod_amount(struct json_object *pod, const char *which, const char *resource)
{
	struct quantity quantity = {.nano = pod_amount(pod, which, resource).nano};

	return streq(resource, "cpu") ? quantity_milli_value(&quantity) : quantity_value(&quantity);
}

/* ---- LimitRange ---- */

struct report {
	struct json_object *found;
	char subject[160];
};

static void say(struct report *report, const char *what, const char *resource)
{
	char line[256];

	snprintf(line, sizeof(line), "%s: %s %s", report->subject, what, resource);
	json_object_object_add(report->found, line, json_object_new_boolean(true));
}

static void check_bounds(struct report *report, struct json_object *item, const char *resource, struct amount request,
			 struct amount limit)
{
	struct amount min = read_amount(json_member(item, "min"), resource);
	struct amount max = read_amount(json_member(item, "max"), resource);
	struct amount ratio = read_amount(json_member(item, "maxLimitRequestRatio"), resource);

	if (min.has && (!request.has || request.nano < min.nano || (limit.has && limit.nano < min.nano)))
		say(report, "min", resource);
	if (max.has && (!limit.has || limit.nano > max.nano || (request.has && request.nano > max.nano)))
		say(report, "max", resource);
	if (ratio.has && (!request.has || !limit.has || request.nano == 0 || limit.nano == 0 ||
			  (double)limit.nano / (double)request.nano > (double)ratio.nano / 1e9 * (1 + 1e-12)))
		say(report, "ratio", resource);
}

static void check_item(struct report *report, const char *name, struct json_object *item, struct json_object *pod)
{
	bool is_pod = streq(json_object_get_string(json_member(item, "type")), "Pod"), is_init;
	struct json_object *container;

	for (int r = 0; r < RESOURCES && is_pod; r++) {
		snprintf(report->subject, sizeof(report->subject), "%s: pod", name);
		check_bounds(report, item, resources[r], pod_amount(pod, "requests", resources[r]),
			     pod_amount(pod, "limits", resources[r]));
	}
	for (size_t i = 0; !is_pod && (container = container_at(pod, i, &is_init)); i++) {
		snprintf(report->subject, sizeof(report->subject), "%s: container %s", name,
			 json_object_get_string(json_member(container, "name")));
		for (int r = 0; r < RESOURCES; r++)
			check_bounds(report, item, resources[r],
				     read_amount(map_of(container, "requests"), resources[r]),
				     read_amount(map_of(container, "limits"), resources[r]));
	}
}

/* ---- ResourceQuota ---- */

static bool is_best_effort(struct json_object *pod)
{
	static const char *const maps[] = {"requests", "limits"};
	struct json_object *container;
	bool is_init;

	for (size_t i = 0; (container = container_at(pod, i, &is_init)); i++)
		for (int m = 0; m < 2; m++)
			for (int r = 0; r < 2; r++)
				if (read_amount(map_of(container, maps[m]), resources[r]).nano > 0)
					return false;
	return true;
}

static bool scope_matches(const char *scope, struct json_object *pod)
{
	struct json_object *spec = json_member(pod, "spec");

	if (streq(scope, "BestEffort"))
		return is_best_effort(pod);
	if (streq(scope, "NotBestEffort"))
		return !is_best_effort(pod);
	if (streq(scope, "Terminating"))
		return json_member(spec, "activeDeadlineSeconds");
	if (streq(scope, "NotTerminating"))
		return !json_member(spec, "activeDeadlineSeconds");
	if (streq(scope, "PriorityClass"))
		return json_member(spec, "priorityClassName");
	abort();
}

static bool counts(struct json_object *quota, struct json_object *pod)
{
	struct json_object *scopes = json_member(json_member(quota, "spec"), "scopes");

	for (size_t i = 0; i < length(scopes); i++)
		if (!scope_matches(json_object_get_string(json_object_array_get_idx(scopes, i)), pod))
			return false;
	return true;
}

/* "limits.memory" -> limits, memory; "memory" -> requests, memory. False: pods. */
static bool split(const char *key, const char **ret_which, const char **ret_resource)
{
	*ret_which = strstarts(key, "limits.") ? "limits" : "requests";
	*ret_resource = strstarts(key, "limits.") ? key + 7 : strstarts(key, "requests.") ? key + 9 : key;
	return !streq(key, "pods");
}

static __int128 usage(struct json_object *pod, const char *key)
{
	const char *which, *resource;

	if (!split(key, &which, &resource))
		return 1000000000;
	return pod_amount(pod, which, resource).nano;
}

static void check_demand(struct report *report, struct json_object *pod, const char *key)
{
	const char *which, *resource;
	struct json_object *container;
	bool is_init;

	if (!split(key, &which, &resource) || streq(resource, "ephemeral-storage"))
		return;
	for (size_t i = 0; (container = container_at(pod, i, &is_init)); i++)
		if (!read_amount(map_of(container, which), resource).has)
			say(report, "must specify", key);
}

static void check_quota(struct report *report, struct json_object *quota, struct json_object *pod)
{
	struct json_object *status = json_member(quota, "status"), *hard = json_member(status, "hard");
	struct json_object *used = json_member(status, "used");

	if (!counts(quota, pod))
		return;
	snprintf(report->subject, sizeof(report->subject), "%s",
		 json_object_get_string(json_member(json_member(quota, "metadata"), "name")));
	json_object_object_foreach(hard, key, ignored)
	{
		__int128 more = usage(pod, key);

		(void)ignored;
		check_demand(report, pod, key);
		if (more > 0 && read_amount(used, key).nano + more > read_amount(hard, key).nano)
			say(report, "exceeded", key);
	}
}

void api_charge(struct json_object *pod, struct json_object *quotas)
{
	for (size_t i = 0; i < length(quotas); i++) {
		struct json_object *quota = json_object_array_get_idx(quotas, i);
		struct json_object *status = json_member(quota, "status"), *used = json_member(status, "used");

		if (!counts(quota, pod))
			continue;
		json_object_object_foreach(json_member(status, "hard"), key, ignored)
		{
			(void)ignored;
			write_amount(used, key, read_amount(used, key).nano + usage(pod, key));
		}
	}
}

/* ---- all together ---- */

static void check_order(struct report *report, struct json_object *pod)
{
	struct json_object *container;
	bool is_init;

	for (size_t i = 0; (container = container_at(pod, i, &is_init)); i++) {
		snprintf(report->subject, sizeof(report->subject), "container %s",
			 json_object_get_string(json_member(container, "name")));
		for (int r = 0; r < RESOURCES; r++) {
			struct amount request = read_amount(map_of(container, "requests"), resources[r]);
			struct amount limit = read_amount(map_of(container, "limits"), resources[r]);

			if (limit.has && request.nano > limit.nano)
				say(report, "request above limit", resources[r]);
		}
	}
}

struct json_object *api_refusals(struct json_object *pod, struct json_object *limit_ranges, struct json_object *quotas)
{
	struct report report = {.found = json_object_new_object()};

	check_order(&report, pod);
	for (size_t k = 0; k < length(limit_ranges); k++) {
		struct json_object *range = json_object_array_get_idx(limit_ranges, k);
		struct json_object *items = json_member(json_member(range, "spec"), "limits");
		const char *name = json_object_get_string(json_member(json_member(range, "metadata"), "name"));

		for (size_t i = 0; i < length(items); i++) {
			char item_name[64];

			snprintf(item_name, sizeof(item_name), "%s/%zu", name, i);
			check_item(&report, item_name, json_object_array_get_idx(items, i), pod);
		}
	}
	for (size_t i = 0; i < length(quotas); i++)
		check_quota(&report, json_object_array_get_idx(quotas, i), pod);
	return report.found;
}
