/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions that stand before libseccomp's own in every filter. Part of the generator:
 * nothing of it is in what is installed.
 */
#ifndef CORDON_ISOLATE_SECCOMP_PREAMBLE_H
#define CORDON_ISOLATE_SECCOMP_PREAMBLE_H

#include <linux/filter.h>
#include <stddef.h>

#include "isolate/seccomp/watched_calls.h"

#define SECCOMP_BEGINNING_MOST 128

/*
 * Writes them to out: ENOSYS for numbers that libseccomp does not know, and a notification for
 * calls that are watched (about: bits of enum watched). Returns how many. They go over into what
 * follows them, which must be a whole program: a foreign ABI is left to its check.
 */
size_t seccomp_beginning(unsigned about, struct sock_filter program[SECCOMP_BEGINNING_MOST]);

/*
 * Prints in C what this architecture is to seccomp(2), and a table of the watched calls that it
 * has: number and what about.
 */
void seccomp_print_watched(void);

#endif
