/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. Each writes into text and returns it. */
#ifndef CORDON_TUI_DRAW_FORMAT_H
#define CORDON_TUI_DRAW_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_MAX 32

char *format_bytes(int64_t bytes, char text[FORMAT_MAX]);         /* 512B 9.6M 512M 1.5G, at most 5 columns */
char *format_duration(int64_t milliseconds, char text[FORMAT_MAX]); /* 68ms 1.25s 2:05 3:10:00 */
char *format_count(uint64_t count, char text[FORMAT_MAX]);        /* 1234567 as 1,234,567 */

/* Time of day in the local zone, with milliseconds: 12:00:01.250. */
char *format_clock(int64_t time_ns, char text[FORMAT_MAX]);

/* Date and time in the local zone: 2026-11-30 12:00:01. */
char *format_date(int64_t time_ns, char text[FORMAT_MAX]);

/* Since some other time: +1.250s. */
char *format_since(int64_t nanoseconds, char text[FORMAT_MAX]);

#endif
