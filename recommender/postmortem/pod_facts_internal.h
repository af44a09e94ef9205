/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_facts_internal: what the files of pod_facts share. */
#include "postmortem/pod_facts.h"

/* Adds a statement without figures. `value`: an enum stop, or -1. */
static inline void pod_facts_say(struct facts *facts, enum signal_id signal, int64_t value, const char *text)
{
	struct reading reading;

	reading_init(&reading);
	reading.value = value;
	facts_add(facts, signal, &reading, text);
}

/** An eviction in the kubelet's words, by which resource was short. */
void pod_facts_of_eviction(struct facts *facts, const char *message);
