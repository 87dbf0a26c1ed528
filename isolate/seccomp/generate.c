/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the system call filters at build time.
 *
 * libseccomp turns syscalls.def into one BPF program a profile, and this prints them as C arrays. A
 * run then installs a constant: nothing is compiled, cached on disk or linked at run time. What the
 * table does not allow is refused with EPERM, and so is a foreign ABI (x32, i386). Numbers that
 * libseccomp does not know, being newer than it or never assigned, get ENOSYS, so that libraries
 * fall back: a few instructions before its program see to that (preamble.c), since libseccomp
 * itself has one default answer only. Nothing is ever killed.
 *
 * seccomp(2), seccomp_rule_add(3), seccomp_export_bpf(3).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "isolate/seccomp/preamble.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define NEW_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)

enum groups { EVERY = 1, SOCKETS = 2, COMMANDS = 4, SERVING = 8, OTHERS = 16, ACCOUNTED = 32 };

static const struct {
	unsigned groups;
	const char *names;
} ALLOWED[] = {
#define ALLOW(groups, names, why) { groups, names },
#define MISSING(names, why)
#include "isolate/seccomp/syscalls.def"
#undef ALLOW
#undef MISSING
};

static const char *const ABSENT[] = {
#define ALLOW(groups, names, why)
#define MISSING(names, why) names,
#include "isolate/seccomp/syscalls.def"
#undef ALLOW
#undef MISSING
};

static const struct profile {
	const char *identifier;
	unsigned groups;
	int internet;
} PROFILES[] = {
#define PROFILE(id, name, groups, internet, why) { #id, groups, internet },
#include "isolate/wire/seccomp_profiles.def"
#undef PROFILE
};

/* What has been decided for each call, so that the rest can be refused. */
#define CALLS 1024
static unsigned char decided[CALLS];

static void die(const char *what, int error)
{
	fprintf(stderr, "seccomp_generate: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

/*
 * The number of a call on this architecture, or -1 where it does not exist. A name that no
 * architecture has is a slip in the table.
 */
static int number_of(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	/* Newer than this libseccomp: the kernel's default answer, ENOSYS, is then right. */
	return number >= 0 && number < CALLS ? number : -1;
}

static void for_each_name(const char *names, void (*act)(scmp_filter_ctx, int), scmp_filter_ctx ctx)
{
	char *copy = strdup(names), *save = NULL;

	if (!copy)
		die("memory", ENOMEM);
	for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		int number = number_of(name);

		if (number >= 0 && !decided[number]) {
			decided[number] = 1;
			act(ctx, number);
		}
	}
	free(copy);
}

static void act_allow(scmp_filter_ctx ctx, int number)
{
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, number, 0);

	if (rc < 0)
		die("allow", rc);
}

static void act_absent(scmp_filter_ctx ctx, int number)
{
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), number, 0);

	if (rc < 0)
		die("absent", rc);
}

/* libseccomp's own macros leave a member out, which clang -Wextra minds. */
static struct scmp_arg_cmp compare(unsigned argument, enum scmp_compare how, uint64_t a, uint64_t b)
{
	return (struct scmp_arg_cmp){ .arg = argument, .op = how, .datum_a = a, .datum_b = b };
}

static struct scmp_arg_cmp equal(unsigned argument, uint64_t value)
{
	return compare(argument, SCMP_CMP_EQ, value, 0);
}

static struct scmp_arg_cmp masked(unsigned argument, uint64_t mask, uint64_t value)
{
	return compare(argument, SCMP_CMP_MASKED_EQ, mask, value);
}

static void allow_if(
	scmp_filter_ctx ctx, int number, unsigned count, const struct scmp_arg_cmp *conditions)
{
	int rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, number, count, conditions);

	if (rc < 0)
		die("conditional allow", rc);
}

/*
 * The kernel reads 32 bits of an int argument, and libseccomp has no masked "not equal". Of the 32
 * conditions that this makes, one holds of every value but the one excluded.
 */
static struct scmp_arg_cmp differs_at(unsigned argument, uint32_t excluded, unsigned bit)
{
	return masked(argument, UINT64_C(1) << bit, ~(uint64_t)excluded & (UINT64_C(1) << bit));
}

/* ioctl(2) but for TIOCSTI and TIOCLINUX, which differ in their last digit only. */
static void allow_ioctl(scmp_filter_ctx ctx)
{
	const uint32_t prefix = TIOCSTI & ~0xfu;

	_Static_assert((TIOCSTI & ~0xf) == (TIOCLINUX & ~0xf),
		"the two requests share all but the last digit");
	for (unsigned bit = 4; bit < 32; bit++) {
		struct scmp_arg_cmp differs = differs_at(1, prefix, bit);

		allow_if(ctx, SCMP_SYS(ioctl), 1, &differs);
	}
	for (uint32_t digit = 0; digit < 16; digit++) {
		struct scmp_arg_cmp same = masked(1, UINT64_C(0xffffffff), prefix | digit);

		if ((prefix | digit) != TIOCSTI && (prefix | digit) != TIOCLINUX)
			allow_if(ctx, SCMP_SYS(ioctl), 1, &same);
	}
}

/*
 * fcntl(2) but for F_SETLEASE: a lease on a file of the host's holds up the host's programs that
 * open it.
 */
static void allow_fcntl(scmp_filter_ctx ctx)
{
	static const int NUMBERS[] = { SCMP_SYS(fcntl), SCMP_SYS(fcntl64) };

	for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
		for (unsigned bit = 0; NUMBERS[i] >= 0 && bit < 32; bit++) {
			struct scmp_arg_cmp differs = differs_at(1, F_SETLEASE, bit);

			allow_if(ctx, NUMBERS[i], 1, &differs);
		}
}

/*
 * Internet sockets are TCP, UDP and ICMP echo: the other protocols are kernel code that few
 * programs need.
 */
static void allow_internet(scmp_filter_ctx ctx)
{
	static const int FAMILIES[] = { AF_INET, AF_INET6 };
	static const int PROTOCOLS[] = { 0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP,
		IPPROTO_ICMPV6 };

	for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
		for (size_t k = 0; k < sizeof PROTOCOLS / sizeof *PROTOCOLS; k++) {
			const struct scmp_arg_cmp conditions[] = {
				equal(0, (uint64_t)FAMILIES[i]),
				equal(2, (uint64_t)PROTOCOLS[k]),
			};

			allow_if(ctx, SCMP_SYS(socket), 2, conditions);
		}
}

static void allow_sockets(scmp_filter_ctx ctx, const struct profile *p)
{
	const struct scmp_arg_cmp pair = equal(0, AF_UNIX);
	const struct scmp_arg_cmp route[] = { equal(0, AF_NETLINK), equal(2, NETLINK_ROUTE) };

	allow_if(ctx, SCMP_SYS(socketpair), 1, &pair);
	if (!(p->groups & SOCKETS))
		return;
	allow_if(ctx, SCMP_SYS(socket), 1, &pair);
	allow_if(ctx, SCMP_SYS(socket), 2, route);
	if (p->internet)
		allow_internet(ctx);
}

/* New processes without new namespaces; for a body, new threads only. */
static void allow_clone(scmp_filter_ctx ctx, const struct profile *p)
{
	uint64_t mask = NEW_NAMESPACES, value = 0;

	if (!(p->groups & COMMANDS)) {
		mask |= CLONE_THREAD;
		value = CLONE_THREAD;
	}
	/* s390 passes the stack first; the table is for architectures with the flags there. */
	const struct scmp_arg_cmp flags = masked(0, mask, value);

	allow_if(ctx, SCMP_SYS(clone), 1, &flags);
}

static void allow_personality(scmp_filter_ctx ctx)
{
	static const uint64_t HARMLESS[] = { PER_LINUX, PER_LINUX32, ADDR_NO_RANDOMIZE, UNAME26,
		0xffffffff };

	for (size_t i = 0; i < sizeof HARMLESS / sizeof *HARMLESS; i++) {
		struct scmp_arg_cmp same = equal(0, HARMLESS[i]);

		allow_if(ctx, SCMP_SYS(personality), 1, &same);
	}
}

/*
 * Calls that set limits or priorities of a process named by its id. A program's user is PID 1's
 * user, too, and PID 1 is what watches the limits: without descriptors, on no CPU or at the lowest
 * priority it would not. In a process namespace of its own a program may name any process but that
 * one, elsewhere only itself (0).
 */
static void allow_control(scmp_filter_ctx ctx, const struct profile *p)
{
	static const struct {
		int number;
		unsigned pid_argument;
		uint64_t which;
	} CALLS_BY_PID[] = {
		{ SCMP_SYS(prlimit64), 0, 0 },
		{ SCMP_SYS(sched_setaffinity), 0, 0 },
		{ SCMP_SYS(sched_setscheduler), 0, 0 },
		{ SCMP_SYS(sched_setparam), 0, 0 },
		{ SCMP_SYS(sched_setattr), 0, 0 },
		/* No priority of groups or users is set: PID 1 may be among them. */
		{ SCMP_SYS(setpriority), 1, PRIO_PROCESS },
		{ SCMP_SYS(ioprio_set), 1, IOPRIO_WHO_PROCESS },
	};

	for (size_t i = 0; i < sizeof CALLS_BY_PID / sizeof *CALLS_BY_PID; i++)
		for (unsigned bit = 0; bit < (p->groups & OTHERS ? 32 : 1); bit++) {
			unsigned argument = CALLS_BY_PID[i].pid_argument;
			const struct scmp_arg_cmp conditions[] = {
				p->groups & OTHERS ? differs_at(argument, 1, bit)
						   : equal(argument, 0),
				equal(0, CALLS_BY_PID[i].which),
			};

			allow_if(ctx, CALLS_BY_PID[i].number, argument == 0 ? 1 : 2, conditions);
		}
}

/*
 * A program may narrow itself with filters of its own, but not with a listener: of two filters that
 * notify the later one's listener is asked, and it might let through what this one refuses. The
 * kernel allows one listener only, yet that of a supervisor that has died no longer counts.
 */
static void allow_filters(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp no_listener = masked(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0);

	allow_if(ctx, SCMP_SYS(seccomp), 1, &no_listener);
}

static void mark(int number)
{
	if (number >= 0 && number < CALLS)
		decided[number] = 1;
}

/*
 * openat(2) for reading and nothing else. openat2(2) has its flags in memory, where a filter cannot
 * see them; the server has no right to write anyway.
 */
static void allow_opening(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp reading = masked(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);

	allow_if(ctx, SCMP_SYS(openat), 1, &reading);
}

/* The view's server asks how much is in a pipe (FIONREAD), and nothing else. */
static void allow_counting(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp counting = masked(1, UINT64_C(0xffffffff), FIONREAD);

	allow_if(ctx, SCMP_SYS(ioctl), 1, &counting);
}

static void add_rules(scmp_filter_ctx ctx, const struct profile *p)
{
	memset(decided, 0, sizeof decided);
	if (p->groups & EVERY) {
		allow_ioctl(ctx);
		allow_fcntl(ctx);
		allow_sockets(ctx, p);
		allow_clone(ctx, p);
		allow_personality(ctx);
		allow_control(ctx, p);
		allow_filters(ctx);
	} else {
		allow_opening(ctx);
		allow_counting(ctx);
		mark(SCMP_SYS(openat));
	}
	if (p->groups & EVERY) {
		mark(SCMP_SYS(fcntl));
		mark(SCMP_SYS(fcntl64));
	}
	mark(SCMP_SYS(ioctl));
	mark(SCMP_SYS(socket));
	mark(SCMP_SYS(socketpair));
	mark(SCMP_SYS(clone));
	mark(SCMP_SYS(personality));
	mark(SCMP_SYS(seccomp));
	for (size_t i = 0; i < sizeof ABSENT / sizeof *ABSENT; i++)
		for_each_name(ABSENT[i], act_absent, ctx);
	for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++)
		if (ALLOWED[i].groups & p->groups)
			for_each_name(ALLOWED[i].names, act_allow, ctx);
}

static void print_instruction(struct sock_filter instruction)
{
	printf("\t{ 0x%04x, %u, %u, 0x%08x },\n", instruction.code, instruction.jt, instruction.jf,
		instruction.k);
}

/*
 * With notifies, every refusal becomes a notification: the same program to the instruction, so what
 * is allowed cannot differ. "There is no such call" (ENOSYS) stays what it is: libraries ask for
 * newer calls all the time, and that is no refusal. `about` says which allowed calls are notified,
 * too.
 */
static void print_filter(scmp_filter_ctx ctx, const char *prefix, const char *identifier,
	int notifies, unsigned about)
{
	struct sock_filter instruction, beginning[SECCOMP_BEGINNING_MOST];
	FILE *file = tmpfile();
	size_t count;
	int rc;

	if (!file)
		die("tmpfile", errno);
	rc = seccomp_export_bpf(ctx, fileno(file));
	if (rc < 0)
		die("export", rc);
	rewind(file);
	printf("static const struct sock_filter %s_%s[] = {\n", prefix, identifier);
	count = seccomp_beginning(about, beginning);
	for (size_t i = 0; i < count; i++)
		print_instruction(beginning[i]);
	while (fread(&instruction, sizeof instruction, 1, file) == 1) {
		if (notifies && instruction.code == (BPF_RET | BPF_K) &&
			instruction.k == (SECCOMP_RET_ERRNO | EPERM))
			instruction.k = SECCOMP_RET_USER_NOTIF;
		print_instruction(instruction);
		count++;
	}
	printf("};\n\n");
	fclose(file);
	if (count == 0 || count > BPF_MAXINSNS)
		die(identifier, E2BIG);
}

/* A notified call is one that the profile has allowed without conditions. */
static unsigned can_watch(const struct profile *p)
{
	return (p->groups & EVERY ? WATCHED_PROCESS : 0) |
		(p->groups & SOCKETS && p->internet ? WATCHED_ADDRESS : 0);
}

static void print_names(void)
{
	printf("static const char *const CALL_NAMES[] = {\n");
	for (int number = 0; number < CALLS; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

		if (name)
			printf("\t[%d] = \"%s\",\n", number, name);
		free(name);
	}
	printf("};\n\n");
	seccomp_print_watched();
}

int main(void)
{
	printf("/* Generated by seccomp_generate from syscalls.def and watched_calls.def. "
	       "*/\n#include <linux/filter.h>\n\n");
	for (size_t i = 0; i < sizeof PROFILES / sizeof *PROFILES; i++) {
		scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

		if (!ctx)
			die("seccomp_init", ENOMEM);
		if (seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) < 0)
			die("bad architecture", EINVAL);
		if (seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0)
			die("binary tree", EINVAL);
		add_rules(ctx, &PROFILES[i]);
		print_filter(ctx, "FILTER", PROFILES[i].identifier, 0, 0);
		print_filter(ctx, "COUNTING", PROFILES[i].identifier, 1, 0);
		print_filter(ctx, "NOTIFYING", PROFILES[i].identifier, 1,
			can_watch(&PROFILES[i]) & ~(unsigned)WATCHED_ADDRESS);
		print_filter(ctx, "WATCHING", PROFILES[i].identifier, 1, can_watch(&PROFILES[i]));
		printf("#define WATCHES_%s %uu\n\n", PROFILES[i].identifier,
			can_watch(&PROFILES[i]));
		seccomp_release(ctx);
	}
	print_names();
	return fflush(stdout) == 0 ? 0 : 1;
}
