/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks_amount: amounts as written: malformed ones, units that look wrong, and the size of the data set. */
#include "policy/decide/decide_checks.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"

#include <ctype.h>
#include <errno.h>

enum { UNIT_RATIO = 100, EXTENDED_MAX = 16 };

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

/* An amount as people write it: "32GB", "1,5 gi". */
struct spelling {
	char number[24];
	char letter; /* '\0': no factor */
	bool is_binary;
};

/* A number with a point, or with a comma that can be no separator of thousands. */
static bool read_number(const char *text, size_t n, char ret[24])
{
	const char *digits = "0123456789";
	size_t whole = strspn(text, digits), behind;

	if (!whole || n >= 24)
		return false;
	memcpy(ret, text, n);
	ret[n] = '\0';
	if (whole == n)
		return true;
	ret[whole] = '.';
	behind = n - whole - 1;
	return strspn(ret + whole + 1, digits) == behind && (text[whole] == '.' || behind == 1 || behind == 2);
}

static bool read_spelling(const char *text, enum k8s_resource resource, struct spelling *ret)
{
	const char *number = text + strspn(text, " \t"), *unit;
	size_t n = strspn(number, "0123456789.,"), n_unit;
	char copy[12] = "";

	unit = number + n + strspn(number + n, " \t");
	n_unit = strcspn(unit, " \t");
	if (!read_number(number, n, ret->number) || n_unit >= sizeof(copy))
		return false;
	memcpy(copy, unit, n_unit);
	return read_unit(copy, resource, &ret->letter, &ret->is_binary);
}

/* The correction that is probably meant: "; write 32G or 32Gi" for "32GB". "": not clear; NULL: the arena is full. */
static const char *correction(struct arena *arena, const char *text, enum k8s_resource resource)
{
	struct spelling is;

	if (!text[strspn(text, " \t")])
		return resource == K8S_CPU ? "" : "; write a size such as 16Gi";
	if (!read_spelling(text, resource, &is))
		return "";
	if (!is.letter)
		return arena_printf(arena, "; write %s", is.number);
	if (is.is_binary)
		return arena_printf(arena, "; write %s%ci", is.number, is.letter);
	return arena_printf(arena, "; write %s%c or %s%ci", is.number, is.letter == 'K' ? 'k' : is.letter, is.number,
			    is.letter);
}

/* The same for an accelerator, which is counted, or huge pages, of which no part can be had. */
static const char *extended_correction(struct arena *arena, const struct k8s_extended *item)
{
	const char *better = "";
	struct quantity quantity;
	struct spelling is;

	if (!strstarts(item->name, K8S_HUGEPAGES))
		return "; write a whole number";
	if (read_spelling(item->refused, K8S_MEMORY, &is) && is.letter)
		better = arena_printf(arena, "%s%ci", is.number, is.letter);
	if (better && *better && !quantity_parse(better, strlen(better), &quantity, NULL) &&
	    k8s_extended_takes(item->name, &quantity))
		return arena_printf(arena, "; write %s", better);
	return arena_printf(arena, "; write a multiple of %s", item->name + strlen(K8S_HUGEPAGES));
}

/* Where an amount stands: in a container, in the pod's own resources, or in a volume. */
struct place {
	const struct k8s_container *container; /* NULL: of the pod, or of a volume */
	const struct k8s_volume *volume;       /* NULL: of resources */
	const char *extended;		       /* NULL: `resource` */
	enum k8s_resource resource;
	bool is_limit;
};

static const char *resource_name(const struct place *place)
{
	return place->extended ? place->extended : k8s_resource_names[place->resource];
}

static const char *place_pointer(const struct deciding *self, const struct place *place)
{
	const char *map = place->is_limit ? "limits" : "requests";
	const char *name = k8s_pointer_escape(self->arena, resource_name(place));

	if (!name)
		return NULL;
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
		return arena_printf(self->arena, "%s%s %s", place->container ? "" : "pod-level ", resource_name(place),
				    place->is_limit ? "limit" : "request");
	name = text_clean(self->arena, place->volume->name, TEXT_VALUE_CHARS);
	return name ? arena_printf(self->arena, "volume \"%s\" sizeLimit", name) : NULL;
}

static int find_refused(const struct deciding *self, struct findings *list, const struct place *place, const char *kind,
			const char *text, const char *better)
{
	const char *said = text_clean(self->arena, text, TEXT_VALUE_CHARS), *name = place_name(self, place);

	if (!said || !better || !name)
		return -ENOMEM;
	return finding_add(self, list, CHECK_QUANTITY_INVALID, false, place->container, place_pointer(self, place),
			   arena_printf(self->arena, "the API server rejects %s%s \"%s\"%s", kind, name, said, better));
}

static int check_amount(const struct deciding *self, struct findings *list, const struct k8s_amount *amount,
			const struct place *place)
{
	bool is_negative = !amount->is_invalid && amount->quantity.nano < 0;

	if (!amount->text || (!amount->is_invalid && !is_negative) || is_placeholder(amount->text))
		return 0;
	return find_refused(self, list, place, is_negative ? "the negative " : "", amount->text,
			    is_negative ? "" : correction(self->arena, amount->text, place->resource));
}

/* The first EXTENDED_MAX of a container. */
static int check_extended(const struct deciding *self, struct findings *list, const struct k8s_resources *resources,
			  const struct k8s_container *container)
{
	size_t n = 0;
	int r = 0;

	STEPS(resources->n_extended);
	for (size_t i = 0; i < resources->n_extended && n < EXTENDED_MAX && !r; i++) {
		const struct k8s_extended *item = &resources->extended[i];
		const struct place place = {.container = container, .extended = item->name, .is_limit = item->is_limit};

		if (!item->refused || is_placeholder(item->refused))
			continue;
		r = find_refused(self, list, &place, "", item->refused, extended_correction(self->arena, item));
		n++;
	}
	return r;
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
	return r ? r : check_extended(self, list, resources, container);
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
	said = text_clean(self->arena, amount->text, TEXT_VALUE_CHARS);
	limit_said = text_value(self, item, SIZED_MEMORY, SIZE_LIMIT);
	if (!said || !limit_said)
		return NULL;
	if (is_milli)
		return arena_printf(self->arena, "memory %s %s is in thousandths of a byte; write %.*sM or %.*sMi",
				    name, said, (int)MIN(n - 1, TEXT_VALUE_CHARS - 3), said,
				    (int)MIN(n - 1, TEXT_VALUE_CHARS - 3), said);
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

/* The memory that the container may use with its sizes, and its text. 0: not limited. */
static int64_t memory_cap(const struct deciding *self, const struct sized *item, const char **ret_text)
{
	const struct k8s_amount *of_pod = &self->facts->pod.resources.limits[K8S_MEMORY];
	int64_t own = field_final(&item->fields[SIZED_MEMORY][SIZE_LIMIT]);

	if (!k8s_amount_is_set(of_pod) || of_pod->value <= 0 || (own > 0 && own < of_pod->value)) {
		*ret_text = text_final(self, item, SIZED_MEMORY, SIZE_LIMIT);
		return own;
	}
	*ret_text = text_clean(self->arena, of_pod->text, TEXT_VALUE_CHARS);
	return of_pod->value;
}

static int find_invalid_dataset(const struct deciding *self, struct findings *list, const char *text)
{
	const char *said, *better;

	if (is_placeholder(text))
		return 0;
	said = text_clean(self->arena, text, TEXT_VALUE_CHARS);
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
		const char *said;
		int64_t cap = memory_cap(self, item, &said);

		if (!said)
			return -ENOMEM;
		if (item->is_main && cap > 0 && bytes > cap)
			r = finding_add(self, list, CHECK_DATASET_EXCEEDS_MEMORY, false, item->container,
					finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
					arena_printf(self->arena,
						     "data set %s exceeds memory limit %s; stream, memory-map or ask "
						     "for more",
						     text, said));
	}
	return r;
}
