/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON number as the decimal that was written, of any length: compared, divided and normalised
 * without rounding.
 *
 * Pure, no allocation: a decimal points at the digits of the text that it was read from.
 */
#ifndef CORDON_ISOLATE_BASE_JSON_DECIMAL_H
#define CORDON_ISOLATE_BASE_JSON_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_write.h"

/* 0.D1D2D3... times ten to the point. Neither the first nor the last digit is 0. */
struct decimal {
	/* first significant digit; a point may stand among them and does not count */
	const char *digits;
	uint32_t count; /* of significant digits */
	int64_t point;
	int sign; /* -1, 0, 1 */
};

/*
 * Reads text that has the grammar of a JSON number. Exponents beyond any meaning are cut at 10^15.
 */
struct decimal decimal_read(const char *text, size_t length);

/* Less than, equal to or greater than 0. */
int decimal_compare(const struct decimal *a, const struct decimal *b);

bool decimal_is_integer(const struct decimal *d);

/*
 * Whether value is a whole multiple of divisor, which must not be 0 and have at most
 * DECIMAL_DIVISOR_DIGITS digits.
 */
#define DECIMAL_DIVISOR_DIGITS 18
bool decimal_is_multiple(const struct decimal *value, const struct decimal *divisor);

/* Appends a form that equal numbers share: 1, 1.0 and 10e-1 are one. It is no JSON. */
void decimal_normal(const struct decimal *d, struct buffer *out);

#endif
