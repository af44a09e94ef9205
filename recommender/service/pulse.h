/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pulse: a thread says how long its next step may take; another one sees when it took longer. Any thread. */
#include "base/attr.h"
#include "base/timefmt.h"

#include <stdatomic.h>
#include <stdint.h>

struct pulse {
	_Atomic int64_t due_ms; /* of time_monotonic_ms(); 0: nothing was promised */
};

/** Before the step: within this time there will be another call. */
static inline void pulse_promise(struct pulse *self, int64_t within_ms)
{
	atomic_store(&self->due_ms, time_monotonic_ms() + within_ms);
}

/** So late is it, in ms; 0: it is not. */
static inline int64_t pulse_late_ms(struct pulse *self)
{
	int64_t due_ms = atomic_load(&self->due_ms);

	return due_ms ? MAX(time_monotonic_ms() - due_ms, 0) : 0;
}
