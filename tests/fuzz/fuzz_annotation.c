/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is the decision annotation of a pod with two containers, of the template of a Job, and what LimitRanger is
 * said to have set: read, or passed over. */
#include "fuzz/fuzz_review.h"

#include "policy/annotation.h"
#include "policy/decide.h"

#define RESOURCES                                                                                                      \
	"\"resources\":{\"requests\":{\"memory\":\"4Gi\",\"ephemeral-storage\":\"2Gi\"},\"limits\":{\"memory\":"       \
	"\"3Gi\",\"nvidia.com/gpu\":\"1\"}}"
#define CONTAINERS                                                                                                     \
	"\"containers\":[{\"name\":\"c1\"," RESOURCES "},{\"name\":\"c2\",\"resources\":{\"limits\":{\"memory\":"      \
	"\"1Gi\"}}}]"
#define REVIEW(group, kind, operation)                                                                                 \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\",\"kind\":{"   \
	"\"group\":\"" group "\",\"version\":\"v1\",\"kind\":\"" kind "\"},\"namespace\":\"ml\",\"operation\":"        \
	"\"" operation "\",\"object\":{\"apiVersion\":\"" group "/v1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":"  \
	"\"train\",\"annotations\":{"

static void check_read(const char *text)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(8 * MIB);
	struct annotation_container set;
	struct annotation annotation;
	struct annotation_set parsed;

	cost_begin();
	if (annotation_read(text, "c1", &annotation, &set))
		require(annotation.mode < MODE_COUNT_ && annotation.revision >= 0 && annotation.whole_runs >= 0,
			"figures of an annotation");
	if (annotation_parse(text, &arena, &parsed) == 0)
		for (size_t i = 0; i < parsed.n; i++)
			require(parsed.entries[i].to.nano >= 0 && parsed.entries[i].from.nano >= 0, "no negative size");
	fuzz_cost_end(strlen(text));
}

static void check_review(struct review_world *world, enum review_route route, const char *head, const char *key,
			 const char *text, const char *rest)
{
	CLEANUP(strbuf_release) struct strbuf review = STRBUF_INIT(LIMIT_REVIEW_BYTES);

	strbuf_addf(&review, "%s\"%s\":", head, key);
	strbuf_add_json_string(&review, text);
	if (strbuf_adds(&review, rest))
		return;
	check_patch(world, route, strbuf_text(&review), review.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = size ? strndup((const char *)data + 1, size - 1) : NULL;
	struct review_world *world;

	if (!text)
		return 0;
	world = world_of(data[0]);
	check_read(text);
	check_review(world, ROUTE_MUTATE, REVIEW("", "Pod", "CREATE"), "memtamer.io/decision", text,
		     "}},\"spec\":{" CONTAINERS "}}}}");
	check_review(world, ROUTE_MUTATE, REVIEW("", "Pod", "CREATE"), "kubernetes.io/limit-ranger", text,
		     "}},\"spec\":{" CONTAINERS "}}}}");
	check_review(world, ROUTE_TEMPLATES, REVIEW("batch", "Job", "CREATE"), "memtamer.io/template-decision", text,
		     "}},\"spec\":{\"template\":{\"spec\":{" CONTAINERS "}}}}}}");
	check_review(world, ROUTE_TEMPLATES, REVIEW("batch", "Job", "UPDATE"), "memtamer.io/template-decision", text,
		     "}},\"spec\":{\"template\":{\"spec\":{" CONTAINERS "}}}},\"oldObject\":{}}}");
	return 0;
}
