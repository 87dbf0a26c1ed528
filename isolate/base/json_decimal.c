/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimals. See json_decimal.h. Everything goes digit by digit, so numbers of a million digits cost
 * what they are long and nothing is rounded.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_decimal.h"

#include <inttypes.h>

#define EXPONENT_MOST INT64_C(1000000000000000)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int64_t read_exponent(const char *text, size_t length)
{
	bool negative = length > 0 && text[0] == '-';
	int64_t value = 0;

	for (size_t i = length > 0 && (text[0] == '-' || text[0] == '+');
		i < length && is_digit(text[i]); i++)
		if (value < EXPONENT_MOST)
			value = value * 10 + (text[i] - '0');
	if (value > EXPONENT_MOST)
		value = EXPONENT_MOST;
	return negative ? -value : value;
}

struct decimal decimal_read(const char *text, size_t length)
{
	struct decimal d = { .digits = text, .count = 0, .point = 0, .sign = 0 };
	bool fraction = false;
	uint32_t since_first = 0;
	size_t at = length > 0 && text[0] == '-';

	for (; at < length && (is_digit(text[at]) || text[at] == '.'); at++) {
		if (text[at] == '.') {
			fraction = true;
			continue;
		}
		if (text[at] != '0' && d.sign == 0) {
			d.sign = text[0] == '-' ? -1 : 1;
			d.digits = text + at;
		}
		if (d.sign != 0) {
			since_first++;
			if (text[at] != '0')
				d.count = since_first;
			d.point += !fraction;
		} else {
			d.point -= fraction;
		}
	}
	if (d.sign == 0)
		return (struct decimal){ .digits = text, .count = 0, .point = 0, .sign = 0 };
	if (at < length)
		d.point += read_exponent(text + at + 1, length - at - 1);
	return d;
}

/* The next digit, stepping over the point. */
static char next_digit(const char **at)
{
	char c = *(*at)++;

	return c == '.' ? *(*at)++ : c;
}

static int compare_sizes(const struct decimal *a, const struct decimal *b)
{
	const char *x = a->digits, *y = b->digits;
	uint32_t shorter = a->count < b->count ? a->count : b->count;

	if (a->point != b->point)
		return a->point < b->point ? -1 : 1;
	for (uint32_t i = 0; i < shorter; i++) {
		char p = next_digit(&x), q = next_digit(&y);

		if (p != q)
			return p < q ? -1 : 1;
	}
	return a->count < b->count ? -1 : a->count > b->count;
}

int decimal_compare(const struct decimal *a, const struct decimal *b)
{
	if (a->sign != b->sign)
		return a->sign < b->sign ? -1 : 1;
	return a->sign * compare_sizes(a, b);
}

bool decimal_is_integer(const struct decimal *d)
{
	return d->sign == 0 || d->point >= (int64_t)d->count;
}

static uint64_t times(uint64_t a, uint64_t b, uint64_t modulus)
{
	return (uint64_t)((unsigned __int128)a * b % modulus);
}

bool decimal_is_multiple(const struct decimal *value, const struct decimal *divisor)
{
	/*
	 * value is V times 10^v, divisor is D times 10^d, V and D whole and without a 0 at their
	 * ends.
	 */
	int64_t shift = (value->point - value->count) - (divisor->point - divisor->count);
	uint64_t modulus = 0, rest = 0, power = 10;
	const char *at = divisor->digits;

	if (value->sign == 0)
		return true;
	if (shift < 0) /* V would have to end with a 0 */
		return false;
	for (uint32_t i = 0; i < divisor->count; i++)
		modulus = modulus * 10 + (uint64_t)(next_digit(&at) - '0');
	at = value->digits;
	for (uint32_t i = 0; i < value->count; i++)
		rest = (times(rest, 10, modulus) + (uint64_t)(next_digit(&at) - '0')) % modulus;
	for (power %= modulus; shift > 0; shift >>= 1, power = times(power, power, modulus))
		if (shift & 1)
			rest = times(rest, power, modulus);
	return rest == 0;
}

void decimal_normal(const struct decimal *d, struct buffer *out)
{
	const char *at = d->digits;
	uint32_t left = d->count;

	buffer_add_text(out, d->sign < 0 ? "-." : d->sign > 0 ? "." : "0");
	while (left > 0) {
		char block[256];
		uint32_t used = 0;

		while (left > 0 && used < sizeof block) {
			block[used++] = next_digit(&at);
			left--;
		}
		buffer_add(out, block, used);
	}
	if (d->sign)
		buffer_printf(out, "e%" PRId64, d->point);
}
