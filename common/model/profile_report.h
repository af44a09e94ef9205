/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* profile_report: observedGeneration and conditions of a MemoryProfile as JSON. Private to the layer model. */
#include "model/codec.h"
#include "model/profile.h"

/** The members of the status that are the report. */
extern const struct codec_table profile_report_table;
