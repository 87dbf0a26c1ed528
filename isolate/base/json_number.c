/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers by grammar, without strtod(3): that follows the locale, needs a terminated copy, and
 * takes much that is no JSON.
 *
 * A number that has a fraction or an exponent and lies beyond the range of a double is refused
 * although the grammar has it: parsers read 1e999 as null, as infinity or as an error. Where the
 * range ends is decided on the digits. Plain integers may have any length.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_gate.h"

#include <stdbool.h>
#include <stdint.h>

static size_t count_digits(const unsigned char *text, size_t length)
{
	size_t count = 0;

	while (count < length && text[count] >= '0' && text[count] <= '9')
		count++;
	return count;
}

/*
 * Whether digits (`whole` of them before the point, `fraction` after it) times ten to the exponent
 * is beyond a double. Where the first digits settle it they decide; the rest is closer to the edge
 * than any parser need agree on.
 */
static bool beyond_double(
	const unsigned char *digits, size_t whole, size_t fraction, int64_t exponent)
{
	/* of 2^1024 - 2^970, where rounding goes to infinity */
	static const char edge[] = "17976931348623158079";
	size_t total = whole + fraction + (fraction ? 1 : 0), at = 0, used = 0;
	int64_t magnitude = (int64_t)whole - 1 + exponent; /* of the first digit */

	for (; at < total && (digits[at] == '0' || digits[at] == '.'); at++)
		magnitude -= digits[at] == '0';
	if (at == total || magnitude != 308)
		return at < total && magnitude > 308;
	for (; used < sizeof edge - 1; at++) {
		char digit = at < total ? (char)digits[at] : '0';

		if (digit == '.')
			continue;
		if (digit != edge[used])
			return digit > edge[used];
		used++;
	}
	return false;
}

/*
 * Reads what follows the e: a sign, or none, and digits. Returns how many bytes, 0 when there are
 * no digits. Exponents far beyond any meaning stop growing.
 */
static size_t read_exponent(const unsigned char *text, size_t length, int64_t *exponent)
{
	bool negative = length > 0 && text[0] == '-';
	size_t sign = length > 0 && (negative || text[0] == '+');
	size_t digits = count_digits(text + sign, length - sign);
	int64_t value = 0;

	for (size_t i = 0; i < digits && value < (int64_t)UINT32_MAX * 4; i++)
		value = value * 10 + (text[sign + i] - '0');
	*exponent = negative ? -value : value;
	return digits ? sign + digits : 0;
}

size_t json_number(const unsigned char *text, size_t length, const char **wrong)
{
	size_t first = text[0] == '-', at = first, whole, fraction = 0, used;
	int64_t exponent = 0;
	bool real = false;

	whole = count_digits(text + at, length - at);
	at += whole;
	if (whole == 0) {
		*wrong = "a number without digits";
		return 0;
	}
	if (whole > 1 && text[first] == '0') {
		*wrong = "a number with a leading zero";
		return 0;
	}
	if (at < length && text[at] == '.') {
		real = true;
		fraction = count_digits(text + at + 1, length - at - 1);
		at += 1 + fraction;
		if (fraction == 0) {
			*wrong = "a number without digits after its point";
			return 0;
		}
	}
	if (at < length && (text[at] | 0x20) == 'e') {
		real = true;
		used = read_exponent(text + at + 1, length - at - 1, &exponent);
		at += 1 + used;
		if (used == 0) {
			*wrong = "a number without digits in its exponent";
			return 0;
		}
	}
	if (real && beyond_double(text + first, whole, fraction, exponent)) {
		*wrong = "a number beyond the range of a double";
		return 0;
	}
	return at;
}
