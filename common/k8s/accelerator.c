/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/accelerator.h"

#include "base/limits.h"

#include <ctype.h>

/* Resource names in order: the first row that matches decides. `*` stands for any text without a slash. milli: what one
 * unit is in thousandths of a device; SHARE_UNKNOWN if the name does not say it. */
enum { NOT_AN_ACCELERATOR = -1, SHARE_UNKNOWN = 0, WHOLE = 1000, MIG_SLICE = 1001 };

struct accelerator_row {
	const char *pattern;
	int milli;
};

static const struct accelerator_row rows[] = {
	/* NVIDIA: a MIG slice counts by its part of the device's memory; time-slicing and MPS hide how many pods share
	 * a device. */
	{"nvidia.com/gpu", WHOLE},
	{"nvidia.com/gpu.shared", SHARE_UNKNOWN},
	{"nvidia.com/mig-*", MIG_SLICE},
	{"nvidia.com/gpumem*", NOT_AN_ACCELERATOR}, /* HAMi: part of nvidia.com/gpu */
	{"nvidia.com/gpucores", NOT_AN_ACCELERATOR},
	{"nvidia.com/priority", NOT_AN_ACCELERATOR},
	{"nvidia.com/*rdma*", NOT_AN_ACCELERATOR},
	{"nvidia.com/*nic*", NOT_AN_ACCELERATOR},
	{"nvidia.com/*sriov*", NOT_AN_ACCELERATOR},
	{"nvidia.com/hostdev*", NOT_AN_ACCELERATOR},
	{"nvidia.com/gpu-*", SHARE_UNKNOWN}, /* slices by memory size */
	{"nvidia.com/*.shared", SHARE_UNKNOWN},
	{"nvidia.com/*", WHOLE}, /* renamed by the device plugin: nvidia.com/a100 */
	{"alpha.kubernetes.io/nvidia-gpu", WHOLE},
	{"volcano.sh/vgpu-number", SHARE_UNKNOWN},
	{"volcano.sh/gpu-number", WHOLE},
	{"volcano.sh/gpu-memory", SHARE_UNKNOWN},
	{"aliyun.com/gpu-core.percentage", 10},
	{"aliyun.com/gpu-mem", SHARE_UNKNOWN},
	{"aliyun.com/gpu", WHOLE},
	{"tencent.com/vcuda-core", 10},
	{"tke.cloud.tencent.com/qgpu-core", 10},
	{"koordinator.sh/gpu", 10},
	{"koordinator.sh/gpu*", SHARE_UNKNOWN},
	/* AMD: partitions of an MI300 (8 dies). */
	{"amd.com/gpu", WHOLE},
	{"amd.com/spx_nps*", WHOLE},
	{"amd.com/dpx_nps*", 500},
	{"amd.com/qpx_nps*", 250},
	{"amd.com/cpx_nps*", 125},
	/* Intel */
	{"gpu.intel.com/*_monitoring", NOT_AN_ACCELERATOR},
	{"gpu.intel.com/i915", WHOLE},
	{"gpu.intel.com/xe", WHOLE},
	{"npu.intel.com/accel", WHOLE},
	{"habana.ai/gaudi*", WHOLE},
	{"habana.ai/goya", WHOLE},
	/* Google, AWS: cores of a Neuron device differ by generation. */
	{"google.com/tpu", WHOLE},
	{"cloud-tpus.google.com/*", WHOLE},
	{"aws.amazon.com/neuron", WHOLE},
	{"aws.amazon.com/neurondevice", WHOLE},
	{"aws.amazon.com/neuroncore", SHARE_UNKNOWN},
	/* Others */
	{"huawei.com/Ascend*-memory", NOT_AN_ACCELERATOR},
	{"huawei.com/Ascend*-core", NOT_AN_ACCELERATOR}, /* HAMi: part of huawei.com/Ascend* */
	{"huawei.com/Ascend*-*c*", SHARE_UNKNOWN},	 /* vNPU: Ascend910-2c */
	{"huawei.com/Ascend*", WHOLE},
	{"huawei.com/npu", WHOLE},
	{"cambricon.com/vmlu", SHARE_UNKNOWN},
	{"cambricon.com/mlu.*", NOT_AN_ACCELERATOR}, /* mlu.smlu.vmemory and similar */
	{"cambricon.com/mlu*", WHOLE},
	{"metax-tech.com/gpu", WHOLE},
	{"metax-tech.com/sgpu", SHARE_UNKNOWN},
	{"iluvatar.ai/*memory*", NOT_AN_ACCELERATOR},
	{"iluvatar.ai/*.vMem", NOT_AN_ACCELERATOR},
	{"iluvatar.ai/*.vCore", NOT_AN_ACCELERATOR},
	{"iluvatar.ai/gpu", WHOLE},
	{"iluvatar.ai/*", SHARE_UNKNOWN},
	{"iluvatar.com/gpu", WHOLE},
	{"mthreads.com/gpu", WHOLE},
	{"mthreads.com/vgpu", SHARE_UNKNOWN},
	{"mthreads.com/sgpu-core", SHARE_UNKNOWN},
	{"birentech.com/gpu", WHOLE},
	{"birentech.com/1-2-gpu", 500},
	{"birentech.com/1-4-gpu", 250},
	{"kunlunxin.com/xpu", WHOLE},
	{"kunlunxin.com/vxpu", SHARE_UNKNOWN},
	{"enflame.com/gcu", WHOLE},
	{"enflame.com/gcu-count", WHOLE},
	{"enflame.com/dtu", WHOLE},
	{"enflame.com/vgcu", SHARE_UNKNOWN},
	{"enflame.com/drs-gcu", SHARE_UNKNOWN},
	{"enflame.com/shared-gcu", SHARE_UNKNOWN},
	{"enflame.com/gcu-core", 10},
	{"vastaitech.com/va", WHOLE},
	{"vastaitech.com/vgpu", SHARE_UNKNOWN},
	{"hygon.com/dcunum", SHARE_UNKNOWN},
	{"hygon.com/dcu", WHOLE},
	{"qualcomm.com/qaic*", WHOLE},
	{"alibabacloud.com/ppu", WHOLE},
	{"alibabacloud.com/ppu*", SHARE_UNKNOWN},
	{"furiosa.ai/rngd-*", SHARE_UNKNOWN},
	{"furiosa.ai/*", WHOLE},
	{"beta.furiosa.ai/npu", WHOLE},
	{"rebellions.ai/*", WHOLE},
	{"tenstorrent.com/*", WHOLE},
	{"c600.graphcore.ai/ipu", WHOLE},
	{"ibm.com/aiu_*", WHOLE},
	{"ibm.com/spyre_*", WHOLE},
	/* Dynamic resource allocation with an extended resource name. */
	{"deviceclass.resource.kubernetes.io/mig.*", SHARE_UNKNOWN},
	{"deviceclass.resource.kubernetes.io/*gpu*", WHOLE},
	{"deviceclass.resource.kubernetes.io/*tpu*", WHOLE},
	{"deviceclass.resource.kubernetes.io/*neuron*", WHOLE},
};

/* A character of a name as kube-state-metrics writes it. */
static char sanitised(char c)
{
	return isalnum((unsigned char)c) ? c : '_';
}

/* Matches a glob. With `is_metric` the name is sanitised already, and the pattern's text is compared in that spelling.
 * If the text behind a star does not match, the last star takes one more character; earlier stars need not change to
 * find every match. Cost: the name times the pattern. */
static bool glob_match(const char *pattern, const char *name, bool is_metric)
{
	const char *behind_star = NULL, *retry = NULL;

	for (;;) {
		STEPS(1);
		if (*pattern == '*') {
			behind_star = ++pattern;
			retry = name;
		} else if (*pattern && *name == (is_metric ? sanitised(*pattern) : *pattern)) {
			pattern++;
			name++;
		} else if (!*name && !*pattern) {
			return true;
		} else if (!retry || !*retry || (!is_metric && *retry == '/')) {
			return false;
		} else {
			pattern = behind_star;
			name = ++retry;
		}
	}
}

/* The row of a name. All patterns begin with a letter. */
static const struct accelerator_row *row_of(const char *name, bool is_metric)
{
	if (strnlen(name, LIMIT_QUALIFIED_NAME_BYTES + 1) > LIMIT_QUALIFIED_NAME_BYTES)
		return NULL;
	STEPS(ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].pattern[0] == name[0] && glob_match(rows[i].pattern, name, is_metric))
			return rows[i].milli == NOT_AN_ACCELERATOR ? NULL : &rows[i];
	return NULL;
}

const char *accelerator_pattern(size_t i, bool *ret_is)
{
	if (i >= sizeof(rows) / sizeof(rows[0]))
		return NULL;
	*ret_is = rows[i].milli != NOT_AN_ACCELERATOR;
	return rows[i].pattern;
}

bool accelerator_is_resource(const char *resource_name)
{
	return row_of(resource_name, false) != NULL;
}

bool accelerator_is_metric_resource(const char *sanitised_name)
{
	return row_of(sanitised_name, true) != NULL;
}

/* Slices whose part of the memory differs from what their compute slices suggest, on the usual devices: profiles with
 * twice the memory, and devices that are cut into four. */
static const struct mig_row {
	const char *profile;
	int eighths;
} mig_rows[] = {
	{"1g.6gb", 2},	{"2g.12gb", 4}, {"4g.24gb", 8}, /* A30 */
	{"1g.20gb", 2}, {"1g.35gb", 2}, {"1g.45gb", 2}, {"1g.47gb", 2},
	{"1g.67gb", 2}, {"1g.24gb", 2}, {"2g.48gb", 4}, {"4g.96gb", 8}, /* RTX PRO 6000 */
};

/* By compute slices, of which there are 7, but 8 slices of memory. */
static int eighths_of_compute(int compute)
{
	static const int eighths[] = {0, 1, 2, 4, 4, 0, 0, 8};

	return compute >= 0 && compute < (int)(sizeof(eighths) / sizeof(eighths[0])) ? eighths[compute] : 0;
}

/* Memory is divided into halves, quarters and eighths. */
static int nearest_eighths(int64_t slice_mib, int64_t device_mib)
{
	int best = 1;

	for (int eighths = 2; eighths <= 8; eighths *= 2)
		/* above the geometric mean: eighths / sqrt(2) */
		if (slice_mib * 8 * 10 > device_mib * eighths * 7)
			best = eighths;
	return best;
}

bool accelerator_mig_read(const char *profile, int64_t device_mib, struct accelerator_mig *ret)
{
	const char *p = profile;
	int64_t gib = 0;
	int compute, eighths;

	if (!isdigit((unsigned char)p[0]) || p[1] != 'g' || p[2] != '.' || !isdigit((unsigned char)p[3]))
		return false;
	compute = p[0] - '0';
	for (p += 3; isdigit((unsigned char)*p) && gib < 100000; p++)
		gib = gib * 10 + (*p - '0');
	if (!strstarts(p, "gb") || gib <= 0)
		return false;
	p += 2;
	eighths = eighths_of_compute(compute);
	for (size_t i = 0; i < sizeof(mig_rows) / sizeof(mig_rows[0]); i++)
		if (strncmp(profile, mig_rows[i].profile, (size_t)(p - profile)) == 0 &&
		    strlen(mig_rows[i].profile) == (size_t)(p - profile))
			eighths = mig_rows[i].eighths;
	if (!eighths)
		return false;
	if (device_mib > 0 && device_mib < INT32_MAX)
		eighths = nearest_eighths(gib * 1024, device_mib);
	*ret = (struct accelerator_mig){.milli = eighths * 125, .compute = compute};
	return true;
}

/* "nvidia.com/mig-3g.20gb" is half of a device's memory. */
static int mig_milli(const char *name)
{
	const char *p = strchr(name, '-');
	struct accelerator_mig mig;

	return p && accelerator_mig_read(p + 1, 0, &mig) ? (int)mig.milli : SHARE_UNKNOWN;
}

int64_t accelerator_milli(const char *resource_name)
{
	const struct accelerator_row *row = row_of(resource_name, false);

	if (!row)
		return -1;
	return row->milli == MIG_SLICE ? mig_milli(resource_name) : row->milli;
}
