/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* levers: what to do about each kind of end, in order, with exact settings; what not to do; and the commands that tell
 * more. Three tables, of which docs/TRIAGE.md is made. Pure. */
#include "base/strbuf.h"
#include "triage/rules.h"

struct lever {
	enum kind kind;
	const char *cause;	  /* for this cause only; LEVER_NO_CAUSE: only where none is known; NULL: for all */
	enum framework framework; /* for this framework only; FRAMEWORK_NONE: for all */
	const char *action;
	const char *setting; /* with placeholders, see lever_render */
	const char *why;
};

struct advice {
	enum kind kind;
	const char *text;
};

/* Texts of the tables name NVIDIA's commands and resources. Other devices have their own for them, or none: then the
 * text is not for them. */
enum device {
	DEVICE_NVIDIA, /* also where the device is not known */
	DEVICE_AMD,
	DEVICE_TPU,
	DEVICE_NPU,
	DEVICE_MLU,
	DEVICE_XPU,
	DEVICE_HPU,
	DEVICE_MPS,
	DEVICE_COUNT_
};
extern const char *const device_names[DEVICE_COUNT_];

/** The device, by the line that decided. */
enum device lever_device(const struct verdict *verdict);
/** Whether a device has all that a text names. */
bool device_has(enum device device, const char *text);
/** Appends what the device has for the word of NVIDIA that begins at `at`. @return the bytes of the word; 0: none
 * begins here. */
size_t device_render_word(enum device device, const char *at, struct strbuf *buf);
/** Appends the text with the words of the verdict's device. */
void lever_render_words(const struct verdict *verdict, const char *text, struct strbuf *buf);
/** The framework, by the line that decided; FRAMEWORK_TORCH where it is not known. */
enum framework lever_framework(const struct verdict *verdict);
/** Whether a row of levers_avoid or levers_next is for this kind, device and framework: torch.cuda is PyTorch's. */
bool lever_advice_fits(const struct advice *advice, const struct verdict *verdict);

#define LEVER_NO_CAUSE ""

/* The row of levers_next that frees what the ranks that still wait hold. */
#define LEVER_STOP "Stop the whole job first: the other ranks hold their GPUs while they wait."

/* Reads what the rows of levers_next that begin with it would show. */
#define TRIAGE_POD_COMMAND "kubectl memtamer triage POD"

extern const struct lever levers[];
extern const size_t n_levers;
extern const struct advice levers_avoid[]; /* what not to do */
extern const size_t n_levers_avoid;
extern const struct advice levers_next[]; /* commands */
extern const size_t n_levers_next;

/** Whether a lever is for this verdict, its framework and its device. Levers without a cause are for all verdicts of
 * their kind; an option that the version of PyTorch in the log does not know is for none. */
bool lever_fits(const struct lever *lever, const struct verdict *verdict);
/** Who has set the limit that was reached, where it was not Kubernetes, as a cause; NULL: Kubernetes, or not known. */
const char *lever_place(const struct verdict *verdict);
/** Whether a text names Kubernetes, and the limit that was reached is of a scheduler or of Docker. */
bool lever_is_elsewhere(const char *text, const struct verdict *verdict);
/** Whether the container that was killed at its limit is a sidecar or an init container, by the status of its pod. */
bool lever_is_helper(const struct verdict *verdict);
/** Whether a lever that fits is left to try: it was not in force when the run ended, and its number can be smaller. All
 * answers list these. */
bool lever_is_left(const struct lever *lever, const struct verdict *verdict, const struct facts *facts);
/** Appends why a lever that fits is not left: the name of the setting that was in force, or the number that cannot be
 * smaller. @return false: it is left. */
bool lever_render_used(const struct lever *lever, const struct facts *facts, struct strbuf *buf);
/** Whether the version of PyTorch, if the log or the form of the message tells it, ends at its start with this setting
 * of the allocator. */
bool lever_is_refused(const char *setting, const struct verdict *verdict);
/** Appends why the lever helps, and what is to be known of versions of PyTorch where the log does not name one. */
void lever_render_why(const struct lever *lever, const struct verdict *verdict, struct strbuf *buf);
/** The name of the allocator's variable for a version of PyTorch as in verdict.torch_version and for the device. */
const char *lever_variable(const struct verdict *verdict);
/** Appends the setting with its placeholders replaced: {conf} is the allocator's variable, {double} twice the limit;
 *  <peak>, F/C, B/2, 2*A, S/2 and W/2 become figures where the verdict or the numbers of `facts` (NULL: none) have
 * them, and stay as they are otherwise. Options of the allocator that were in force stay in its value. @return the
 * sticky status of `buf`. */
int lever_render(const struct lever *lever, const struct verdict *verdict, const struct facts *facts,
		 struct strbuf *buf);
