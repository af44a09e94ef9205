/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of yaml share: the type of a plain scalar by the rules of go-yaml v2, which kubectl uses. */
#include "yaml/yaml_tree.h"

#include <stdint.h>

enum yaml_scalar_type {
	YAML_SCALAR_STRING,
	YAML_SCALAR_NULL,
	YAML_SCALAR_BOOL,
	YAML_SCALAR_INT,
	YAML_SCALAR_UINT, /* beyond INT64_MAX */
	YAML_SCALAR_FLOAT,
	YAML_SCALAR_NOT_FINITE, /* .inf, .nan: JSON has none */
};

struct yaml_scalar {
	enum yaml_scalar_type type;
	bool bool_value;
	int64_t int_value;
	uint64_t uint_value;
	double float_value;
};

/** Type and value of a plain scalar. Times are strings. */
struct yaml_scalar yaml_scalar_resolve(const char *text, size_t n);
/** The shortest text that reads back as this finite number, as JSON writes it. */
const char *yaml_scalar_render_float(double value, char buf[40]);
