/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks_amount: amounts as written: malformed ones, requests above limits, units that look wrong, and
 * the size of the data set. */
#include "policy/decide/decide_checks.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"

#include <ctype.h>
#include <errno.h>

enum { UNIT_RATIO = 100 };

/* ---- invalid amounts ---- */

/* Placeholders of templates that are not filled in yet: "${MEMORY}", "{{inputs.parameters.memory}}", "<memory>". */
static bool is_placeholder(const char *text)
{
	return strpbrk(text, "${}<>%") != NULL;
}

/* Letters that people write for a unit of bytes: [kmgtpe][i][b|bytes]. For cpu, only names without a factor. */
static bool read_unit(const char *unit, enum k8s_resource resource, char *ret_letter, bool *ret_is_binary)
{
	static const char *const endings[] = {"", "b", "byte", "bytes"};
	static const char *const cpu_names[] = {"", "c", "core", "cores", "cpu", "cpus"};
	const char *const *names = resource == K8S_CPU ? cpu_names : endings;
	size_t n = resource == K8S_CPU ? ARRAY_LEN(cpu_names) : ARRAY_LEN(endings);

	*ret_letter = '\0';
	*ret_is_binary = false;
	if (resource != K8S_CPU && *unit && strchr("kmgtpe", tolower((unsigned char)*unit))) {
		*ret_letter = (char)toupper((unsigned char)*unit++);
		*ret_is_binary = *unit == 'i' || *unit == 'I';
		unit += *ret_is_binary;
	}
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(unit, names[i]) == 0)
			return true;
	return false;
}

/* The correction that is probably meant: "; write 32G or 32Gi" for "32GB". "": not clear; NULL: the arena is full. */
static const char *correction(struct arena *arena, const char *text, enum k8s_resource resource)
{
	size_t blank = strspn(text, " \t"), n;
	char unit[12] = "", letter;
	bool is_binary;
	int digits;

	text += blank;
	if (!*text)
		return resource == K8S_CPU ? "" : "; write a size such as 16Gi";
	n = strspn(text, "0123456789.");
	digits = (int)MIN(n, 20);
	blank = strspn(text + n, " \t");
	if (!isdigit((unsigned char)*text) || strlen(text + n + blank) >= sizeof(unit))
		return "";
	memcpy(unit, text + n + blank, strcspn(text + n + blank, " \t"));
	if (!read_unit(unit, resource, &letter, &is_binary))
		return "";
	if (!letter)
		return arena_printf(arena, "; write %.*s", digits, text);
	if (is_binary)
		return arena_printf(arena, "; write %.*s%ci", digits, text, letter);
	return arena_printf(arena, "; write %.*s%c or %.*s%ci", digits, text, letter == 'K' ? 'k' : letter, digits,
			    text, letter);
}

/* Where an amount stands: in a container, in the pod's own resources, or in a volume. */
struct place {
	const struct k8s_container *container; /* NULL: of the pod, or of a volume */
	const struct k8s_volume *volume;       /* NULL: of resources */
	enum k8s_resource resource;
	bool is_limit;
};

static const char *place_pointer(const struct deciding *self, const struct place *place)
{
	const char *map = place->is_limit ? "limits" : "requests", *name = k8s_resource_names[place->resource];

	if (place->volume)
		return arena_printf(self->arena, "/spec/volumes/%zu/emptyDir/sizeLimit",
				    (size_t)(place->volume - self->facts->pod.volumes));
	if (!place->container)
		return arena_printf(self->arena, "/spec/resources/%s/%s", map, name);
	return arena_printf(self->arena, "/spec/%s/%zu/resources/%s/%s", k8s_container_array(place->container),
			    place->container->index, map, name);
}

static const char *place_name(const struct deciding *self, const struct place *place)
{
	const char *name;

	if (!place->volume)
		return arena_printf(self->arena, "%s%s %s", place->container ? "" : "pod-level ",
				    k8s_resource_names[place->resource], place->is_limit ? "limit" : "request");
	name = text_clean(self->arena, place->volume->name, FINDING_NAME_CHARS);
	return name ? arena_printf(self->arena, "volume \"%s\" sizeLimit", name) : NULL;
}

static int check_amount(const struct deciding *self, struct findings *list, const struct k8s_amount *amount,
			const struct place *place)
{
	bool is_negative = !amount->is_invalid && amount->quantity.nano < 0;
	const char *said, *better, *name;

	if (!amount->text || (!amount->is_invalid && !is_negative) || is_placeholder(amount->text))
		return 0;
	said = text_clean(self->arena, amount->text, FINDING_NAME_CHARS);
	better = is_negative ? "" : correction(self->arena, amount->text, place->resource);
	name = place_name(self, place);
	if (!said || !better || !name)
		return -ENOMEM;
	return finding_add(self, list, CHECK_QUANTITY_INVALID, false, place->container, place_pointer(self, place),
			   arena_printf(self->arena, "the API server rejects %s%s \"%s\"%s",
					is_negative ? "the negative " : "", name, said, better));
}

static int check_resources(const struct deciding *self, struct findings *list, const struct k8s_resources *resources,
			   const struct k8s_container *container)
{
	int r = 0;

	for (int i = 0; i < 2 * K8S_RESOURCE_COUNT_ && !r; i++) {
		const struct k8s_amount *amounts = i % 2 ? resources->limits : resources->requests;
		const struct place place = {
			.container = container, .resource = (enum k8s_resource)(i / 2), .is_limit = i % 2};

		r = check_amount(self, list, &amounts[i / 2], &place);
	}
	return r;
}

int check_quantity(const struct deciding *self, struct findings *list)
{
	const struct k8s_pod *pod = self->input->pod; /* as written: defaulting copies amounts */
	int r = check_resources(self, list, &pod->resources, NULL);

	for (size_t i = 0; i < self->n_items && !r; i++)
		r = check_resources(self, list, &self->items[i].container->resources, self->items[i].container);
	for (size_t i = 0; i < pod->n_volumes && !r; i++) {
		const struct k8s_volume *volume = &self->facts->pod.volumes[i];

		r = check_amount(self, list, &volume->size_limit,
				 &(struct place){.volume = volume, .resource = K8S_MEMORY});
	}
	return r;
}

/* ---- requests above limits ---- */

static int check_above(const struct deciding *self, struct findings *list, const struct sized *item,
		       enum sized_resource resource)
{
	const struct field *fields = item->fields[resource];
	const char *request, *limit;

	if (!fields[SIZE_REQUEST].has || !(fields[SIZE_LIMIT].has || fields[SIZE_LIMIT].is_zero) ||
	    fields[SIZE_REQUEST].is_invalid || fields[SIZE_LIMIT].is_invalid ||
	    field_final(&fields[SIZE_REQUEST]) <= field_final(&fields[SIZE_LIMIT]))
		return 0;
	request = text_value(self, item, resource, SIZE_REQUEST);
	limit = text_value(self, item, resource, SIZE_LIMIT);
	if (!request || !limit)
		return -ENOMEM;
	return finding_add(self, list, CHECK_REQUEST_ABOVE_LIMIT, false, item->container,
			   finding_pointer(self, item, resource, SIZE_REQUEST),
			   arena_printf(self->arena, "the API server rejects %s request %s above limit %s",
					k8s_resource_names[sized_resource_of(resource)], request, limit));
}

int check_request_above_limit(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++)
		for (int k = 0; k < SIZED_COUNT_ && !r; k++)
			r = check_above(self, list, &self->items[i], (enum sized_resource)k);
	return r;
}

/* ---- units ---- */

/* "": none. */
static const char *unit_trouble(const struct deciding *self, const struct sized *item, int f)
{
	const struct k8s_resources *resources = &item->container->resources;
	const struct k8s_amount *amount = f == SIZE_LIMIT ? &resources->limits[K8S_MEMORY]
							  : &resources->requests[K8S_MEMORY];
	const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
	size_t n = amount->text ? strlen(amount->text) : 0;
	bool is_tiny = amount->value < (int64_t)MIB;
	/* A large one is nobody's mistake: the API server keeps 1.1Gi as 1181116006400m. */
	bool is_milli = is_tiny && n && amount->text[n - 1] == 'm';
	bool is_far_below = f == SIZE_REQUEST && limit->has && !limit->is_invalid &&
			    amount->value < limit->now_bytes / UNIT_RATIO;
	const char *name = f == SIZE_LIMIT ? "limit" : "request", *said, *limit_said;

	if (!n || amount->is_invalid || amount->value <= 0)
		return "";
	if (!is_tiny && !is_far_below)
		return "";
	said = text_clean(self->arena, amount->text, FINDING_NAME_CHARS);
	limit_said = text_value(self, item, SIZED_MEMORY, SIZE_LIMIT);
	if (!said || !limit_said)
		return NULL;
	if (is_milli)
		return arena_printf(self->arena, "memory %s %s is in thousandths of a byte; write %.*sM or %.*sMi",
				    name, said, (int)MIN(n - 1, 20), said, (int)MIN(n - 1, 20), said);
	if (is_tiny)
		return arena_printf(self->arena, "memory %s %s is less than 1Mi; is the unit missing?", name, said);
	return arena_printf(self->arena, "memory request %s next to a limit of %s; is the unit right?", said,
			    limit_said);
}

int check_unit(const struct deciding *self, struct findings *list)
{
	for (size_t i = 0; i < self->n_items; i++) {
		for (int f = 0; f < 2; f++) {
			const char *text = unit_trouble(self, &self->items[i], f);
			int r = 0;

			if (!text || text[0])
				r = finding_add(self, list, CHECK_MEMORY_UNIT_SUSPICIOUS, false,
						self->items[i].container,
						finding_pointer(self, &self->items[i], SIZED_MEMORY, f), text);
			if (r)
				return r;
		}
	}
	return 0;
}

/* ---- the data set ---- */

/* The memory that the container may use with its sizes. 0: not limited. */
static int64_t memory_cap(const struct deciding *self, const struct sized *item)
{
	const struct k8s_amount *of_pod = &self->facts->pod.resources.limits[K8S_MEMORY];
	int64_t own = field_final(&item->fields[SIZED_MEMORY][SIZE_LIMIT]);

	if (!k8s_amount_is_set(of_pod) || of_pod->value <= 0 || (own > 0 && own < of_pod->value))
		return own;
	return of_pod->value;
}

static int find_invalid_dataset(const struct deciding *self, struct findings *list, const char *text)
{
	const char *said, *better;

	if (is_placeholder(text))
		return 0;
	said = text_clean(self->arena, text, QUANTITY_TEXT_BYTES);
	better = said ? correction(self->arena, said, K8S_MEMORY) : NULL;
	if (!better)
		return -ENOMEM;
	return finding_add(self, list, CHECK_DATASET_EXCEEDS_MEMORY, false, NULL, "/metadata/annotations",
			   arena_printf(self->arena, "annotation " KEY_DATASET " \"%s\" is no size%s", said, better));
}

int check_dataset(const struct deciding *self, struct findings *list)
{
	const char *text = k8s_label_get(&self->facts->pod.annotations, KEY_DATASET);
	size_t n = text ? strnlen(text, QUANTITY_TEXT_BYTES) : 0;
	struct quantity quantity;
	int64_t bytes;
	int r = 0;

	if (!text)
		return 0;
	if (n == QUANTITY_TEXT_BYTES || quantity_parse(text, n, &quantity, NULL) || quantity.nano < 0)
		return find_invalid_dataset(self, list, text);
	bytes = quantity_value(&quantity);
	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		int64_t cap = memory_cap(self, item);

		if (item->is_main && cap > 0 && bytes > cap)
			r = finding_add(self, list, CHECK_DATASET_EXCEEDS_MEMORY, false, item->container,
					finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
					arena_printf(self->arena,
						     "data set %s exceeds memory limit %s; stream, memory-map or ask "
						     "for more",
						     EXACT(bytes), EXACT(cap)));
	}
	return r;
}
