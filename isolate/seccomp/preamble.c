/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every filter begins with. See preamble.h.
 *
 * libseccomp has one default answer, and no way to say "this argument has any value but that one"
 * of a pointer beside another rule for the same call. Both are a few instructions, which are
 * written here: they decide what they are for and leave all else, by falling through, to the
 * program that follows. So nothing that it refuses can be allowed here.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/seccomp/preamble.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "isolate/base/message.h"

#define CALLS 1024
#define X32_BIT 0x40000000u

enum how { ALWAYS, UNLESS };

static const struct watched_call {
	const char *name;
	enum watched about;
	enum how how;
	int argument;
	uint64_t value;
} WATCHED_CALLS[] = {
#define WATCHED(call, about, how, argument, value, why) \
	{ #call, WATCHED_##about, how, argument, value },
#include "isolate/seccomp/watched_calls.def"
#undef WATCHED
};

static int is_known(uint32_t number)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
	int known = name != NULL;

	free(name);
	return known;
}

/*
 * The numbers above the highest known one, and in runs of eight and more below it (x86-64 has one).
 * Returns how many runs.
 */
#define MOST_RUNS 16
static size_t find_unknown_numbers(uint32_t runs[MOST_RUNS][2])
{
	uint32_t start = 0;
	size_t count = 0;

	for (uint32_t number = 0; number <= CALLS && count < MOST_RUNS; number++) {
		if (number < CALLS && !is_known(number))
			continue;
		if (number == CALLS || number - start >= 8) {
			runs[count][0] = start;
			runs[count++][1] = number == CALLS ? X32_BIT - 1 : number - 1;
		}
		start = number + 1;
	}
	return count;
}

static struct sock_filter load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static struct sock_filter jump(unsigned how, uint32_t value, size_t if_so, size_t if_not)
{
	return (struct sock_filter)BPF_JUMP(
		BPF_JMP | how | BPF_K, value, (uint8_t)if_so, (uint8_t)if_not);
}

static struct sock_filter answer(uint32_t action)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/* Where the halves of an argument are, the low one first. */
static size_t half(int argument, int high)
{
	const int big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return offsetof(struct seccomp_data, args) + 8 * (size_t)argument +
		(high != big_endian ? 4 : 0);
}

/* Instructions that notify a watched call, with the number of the call loaded before and after. */
static size_t watch_one(const struct watched_call *w, struct sock_filter *out)
{
	/* of what follows the comparison of the number */
	static const size_t LENGTHS[] = { [ALWAYS] = 1, [UNLESS] = 6 };
	size_t count = 0;
	int number = seccomp_syscall_resolve_name(w->name);

	if (number < 0)
		return 0;
	out[count++] = jump(BPF_JEQ, (uint32_t)number, 0, LENGTHS[w->how]);
	if (w->how == UNLESS) {
		out[count++] = load(half(w->argument, 0));
		out[count++] = jump(BPF_JEQ, (uint32_t)w->value, 0, 2);
		out[count++] = load(half(w->argument, 1));
		out[count++] = jump(BPF_JEQ, (uint32_t)(w->value >> 32), 1, 0);
	}
	out[count++] = answer(SECCOMP_RET_USER_NOTIF);
	if (w->how == UNLESS)
		out[count++] = load(offsetof(struct seccomp_data, nr));
	return count;
}

size_t seccomp_beginning(unsigned about, struct sock_filter program[SECCOMP_BEGINNING_MOST])
{
	uint32_t runs[MOST_RUNS][2];
	size_t count = 3, unknown = find_unknown_numbers(runs);

	while (unknown-- > 0) {
		program[count++] = jump(BPF_JGE, runs[unknown][0], 0, 2);
		program[count++] = jump(BPF_JGT, runs[unknown][1], 1, 0);
		program[count++] = answer(SECCOMP_RET_ERRNO | ENOSYS);
	}
	for (size_t i = 0; i < sizeof WATCHED_CALLS / sizeof *WATCHED_CALLS; i++)
		if (WATCHED_CALLS[i].about & about)
			count += watch_one(&WATCHED_CALLS[i], program + count);
	program[0] = load(offsetof(struct seccomp_data, arch));
	program[1] = jump(BPF_JEQ, seccomp_arch_native(), 0, count - 2);
	program[2] = load(offsetof(struct seccomp_data, nr));
	return count;
}

void seccomp_print_watched(void)
{
	printf("#define NATIVE_ARCHITECTURE 0x%08xu\n\nstatic const struct { int number; enum "
	       "watched about; } WATCHED_CALLS[] = {\n",
		(unsigned)seccomp_arch_native());
	for (size_t i = 0; i < sizeof WATCHED_CALLS / sizeof *WATCHED_CALLS; i++) {
		int number = seccomp_syscall_resolve_name(WATCHED_CALLS[i].name);

		if (number >= 0)
			printf("\t{ %d, %d },\n", number, (int)WATCHED_CALLS[i].about);
	}
	printf("};\n");
}
