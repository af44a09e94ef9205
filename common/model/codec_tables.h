/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* codec_tables: all members of each object but the head that they share. The codecs read and write objects by them, and
 * generate/ makes the CustomResourceDefinitions and docs/OBJECTS.md of them. Constant. */
#include "model/codec.h"

extern const struct codec_table profile_table, history_table, node_shape_table;
