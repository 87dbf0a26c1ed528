/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number grammar of RFC 8259, for the gate.
 */
#ifndef CORDON_ISOLATE_BASE_JSON_NUMBER_H
#define CORDON_ISOLATE_BASE_JSON_NUMBER_H

#include <stddef.h>

/*
 * Reads the number at the start of text, which begins with a digit or a minus. Returns how many bytes it takes; or sets *wrong to
 * what is wrong with it (static text).
 */
size_t json_number(const unsigned char *text, size_t length, const char **wrong);

#endif
