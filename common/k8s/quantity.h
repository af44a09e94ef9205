/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* quantity: Kubernetes resource quantities as exact numbers, parsed and printed as apimachinery does
 * (k8s.io/apimachinery/pkg/api/resource/quantity.go): suffixes n u m "" k M G T P E, Ki..Ei, decimal exponents e3 E3;
 * fractions finer than nano round up (away from zero); binary amounts are cut to +-(2^63-1), decimal ones to +-10^26
 * (apimachinery keeps any size; integers are cut to int64 when they are read); the canonical text keeps
 * the format, has no fraction and the largest possible suffix.
 * Invariants: a value is a whole number of nano units and fits 128 bits. No locale, no allocation. Any thread. Cost:
 * parsing is linear in `n`, everything else is constant. */
#include "base/err.h"

#include <stdint.h>

enum quantity_format { QUANTITY_BINARY_SI, QUANTITY_DECIMAL_SI, QUANTITY_DECIMAL_EXPONENT };

struct quantity {
	__int128 nano;
	enum quantity_format format;
};

#define QUANTITY_TEXT_BYTES 64
enum { QUANTITY_E_SYNTAX = 1 };

/** Parse `n` bytes (not NUL-terminated). @return 0 or QUANTITY_E_SYNTAX (err names the text; ret untouched). */
int quantity_parse(const char *text, size_t n, struct quantity *ret, struct err *err) ATTR_NODISCARD;
/** Whole units, rounded up (away from zero), cut to int64: bytes for memory. */
int64_t quantity_value(const struct quantity *self);
/** Thousandths, rounded up, cut to int64: millicores for cpu. */
int64_t quantity_milli_value(const struct quantity *self);
/** -1, 0, 1. */
int quantity_cmp(const struct quantity *a, const struct quantity *b);
struct quantity quantity_from_bytes(int64_t bytes);
/** Canonical text into `buf`; returns buf. */
const char *quantity_render(const struct quantity *self, char buf[QUANTITY_TEXT_BYTES]);
/** Canonical BinarySI text of bytes: 1073741824 -> "1Gi"; below 1 KiB plain digits: 1000 -> "1000". */
const char *quantity_render_bytes(int64_t bytes, char buf[QUANTITY_TEXT_BYTES]);
/** For people: the same text, rounded up to a whole Mi, or to a whole Ki below 1Mi, so that it never understates and
 * the API accepts it. Values that memtamer sets are whole Mi, so they are printed exactly: 91912000000 -> "87655Mi",
 * 1258291200 -> "1200Mi", 1073741824 -> "1Gi", 0 -> "0". */
const char *quantity_render_human(int64_t bytes, char buf[QUANTITY_TEXT_BYTES]);
/** The same in a buffer that lives as long as the enclosing block. */
#define HUMAN(bytes) quantity_render_human((bytes), (char[QUANTITY_TEXT_BYTES]){0})
