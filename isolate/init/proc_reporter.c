/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of PID 1. See proc_reporter.h. It allocates nothing: it also runs in a process that
 * was forked from a Python interpreter.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/proc_reporter.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "isolate/base/message.h"
#include "isolate/base/proc_file.h"
#include "isolate/wire/init_report.h"
#include "isolate/init/usage.h"

#define PATIENCE 20          /* fifths of a millisecond */
#define LAST_PATIENCE_MS 300 /* for room, in all */

/*
 * Returns false when there was no room. A supervisor that has closed its end gets nothing.
 * A descriptor goes along unless this user has more in flight than RLIMIT_NOFILE.
 */
static bool send_report(int socket, const struct report *report, int fd)
{
	int sent = message_try(socket, report, sizeof *report, &fd, fd >= 0);

	if (sent != 0 && errno == ETOOMANYREFS)
		sent = message_try(socket, report, sizeof *report, NULL, 0);
	return sent == 0 || errno != EAGAIN;
}

/* Returns false when the process is gone. */
static bool read_stat(pid_t pid, char *text, size_t size)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return proc_file_read(path, text, size) > 0;
}

/* Waits for room while r->patience_ms lasts: from the last look on. Returns whether it was sent. */
static bool send_patiently(struct proc_reporter *r, const struct report *report, int fd)
{
	struct pollfd room = { r->socket, POLLOUT, 0 };

	while (!send_report(r->socket, report, fd)) {
		if (r->patience_ms <= 0)
			return false;
		if (poll(&room, 1, 1) == 0)
			r->patience_ms--;
	}
	return true;
}

static bool send_process(struct proc_reporter *r, pid_t pid)
{
	struct report report;
	char stat[1024];
	bool has_memory = false, was_sent;
	ssize_t length;
	int pidfd;

	report_init(&report, REPORT_PROCESS);
	report.pid = (uint32_t)pid;
	if (read_stat(pid, stat, sizeof stat)) {
		report.parent = (uint32_t)proc_stat_field(stat, PROC_STAT_PARENT);
		report.count = report.parent == (uint32_t)getpid();
		/* one that has ended has none */
		has_memory = proc_stat_field(stat, PROC_STAT_VIRTUAL) > 0;
	}
	length = proc_file_command(pid, report.context, sizeof report.context);
	/*
	 * The program is started with vfork(2)'s semantics, which end a moment before its new
	 * memory has a command line.
	 */
	for (int tries = 0; has_memory && length == 0 && tries < PATIENCE; tries++) {
		const struct timespec moment = { 0, 200000 };

		nanosleep(&moment, NULL);
		length = proc_file_command(pid, report.context, sizeof report.context);
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	was_sent = send_patiently(r, &report, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	return was_sent;
}

/* Returns whether it was sent. */
static bool send_gone(struct proc_reporter *r, pid_t pid, int status, bool is_known)
{
	struct report report;

	report_init(&report, REPORT_GONE);
	report.pid = (uint32_t)pid;
	report.status = is_known ? status & 0xffff : 0;
	report.count = is_known;
	return send_patiently(r, &report, -1);
}

static void take(void *context, pid_t pid)
{
	struct proc_reporter *r = context;

	for (unsigned i = 0; i < r->count; i++)
		if (r->known[i].pid == pid) {
			r->known[i].seen = true;
			return;
		}
	/* One that found no room is new again the next time. */
	if (r->count == PROCESSES_MOST || !send_process(r, pid))
		return;
	r->known[r->count].pid = pid;
	r->known[r->count++].seen = true;
}

void proc_reporter_begin(
	struct proc_reporter *r, int socket, pid_t main, bool whole_namespace, bool own_network)
{
	*r = (struct proc_reporter){
		.whole_namespace = whole_namespace, .own_network = own_network, .socket = socket
	};
	take(r, main);
}

struct cpu {
	uint64_t ticks;
};

static void add_cpu(void *context, pid_t pid)
{
	struct cpu *cpu = context;
	char stat[1024];

	if (read_stat(pid, stat, sizeof stat))
		for (int field = PROC_STAT_CPU_FIRST; field <= PROC_STAT_CPU_LAST; field++)
			cpu->ticks += proc_stat_field(stat, field);
}

/*
 * Sent to an address outside, where a network of its own has no route: what the kernel counted for
 * both versions of the protocol.
 */
static uint64_t read_no_route(void)
{
	char text[8192], *names, *values, *end;
	uint64_t count = 0;

	if (proc_file_read("/proc/self/net/snmp", text, sizeof text) > 0 &&
		(names = strstr(text, "Ip: ")) && (values = strchr(names, '\n'))) {
		values++;
		end = values - 1;
		*end = '\0';
		for (char *name = strtok_r(names, " ", &names); name;
			name = strtok_r(NULL, " ", &names)) {
			if (strcmp(name, "OutNoRoutes") == 0)
				count = strtoull(values, NULL, 10);
			values += strcspn(values, " \n");
			values += *values == ' ';
		}
	}
	if (proc_file_read("/proc/self/net/snmp6", text, sizeof text) > 0 &&
		(names = strstr(text, "Ip6OutNoRoutes")))
		count += strtoull(names + strlen("Ip6OutNoRoutes"), NULL, 10);
	return count;
}

static void sample(struct proc_reporter *r)
{
	struct usage_totals totals = { 0, 0 };
	struct cpu cpu = { 0 };
	struct rusage reaped;
	struct statvfs workspace;
	struct report report;
	uint64_t no_route = r->own_network ? read_no_route() : 0;

	report_init(&report, REPORT_SAMPLE);
	usage_read(r->whole_namespace, &totals);
	usage_each_process(r->whole_namespace, add_cpu, &cpu);
	report.usage.user_us = cpu.ticks * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	if (getrusage(RUSAGE_CHILDREN, &reaped) == 0)
		report.usage.user_us +=
			(uint64_t)(reaped.ru_utime.tv_sec + reaped.ru_stime.tv_sec) * 1000000 +
			(uint64_t)(reaped.ru_utime.tv_usec + reaped.ru_stime.tv_usec);
	report.usage.peak_memory_bytes = totals.bytes == UINT64_MAX ? 0 : totals.bytes;
	report.usage.peak_processes = totals.processes;
	if (r->whole_namespace && statvfs("/workspace", &workspace) == 0)
		report.usage.written_bytes =
			(uint64_t)(workspace.f_blocks - workspace.f_bfree) * workspace.f_frsize;
	if (no_route > r->no_route)
		report.count = no_route - r->no_route < UINT32_MAX
			? (uint32_t)(no_route - r->no_route)
			: UINT32_MAX;
	r->no_route = no_route;
	send_report(r->socket, &report, -1);
}

void proc_reporter_look(struct proc_reporter *r, bool sample_now)
{
	struct timespec now;
	int64_t now_ns;

	for (unsigned i = 0; i < r->count; i++)
		r->known[i].seen = false;
	if (usage_each_process(r->whole_namespace, take, r) == 0)
		for (unsigned i = 0; i < r->count;) {
			if (r->known[i].seen || !send_gone(r, r->known[i].pid, 0, false)) {
				i++;
				continue;
			}
			r->known[i] = r->known[--r->count];
		}
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (!sample_now && now_ns - r->sampled_ns < ROSTER_SAMPLE_NS)
		return;
	r->sampled_ns = now_ns;
	sample(r);
}

void proc_reporter_look_last(struct proc_reporter *r)
{
	r->patience_ms = LAST_PATIENCE_MS;
	usage_each_process(r->whole_namespace, take, r);
}

void proc_reporter_reaped(struct proc_reporter *r, pid_t pid, int status)
{
	bool was_sent = send_gone(r, pid, status, true);

	/* A report that found no room is sent the next time, without its status. */
	for (unsigned i = 0; was_sent && i < r->count; i++)
		if (r->known[i].pid == pid) {
			r->known[i] = r->known[--r->count];
			break;
		}
}

void proc_reporter_say_paused(int socket, bool paused)
{
	struct report report;

	report_init(&report, paused ? REPORT_STOPPED : REPORT_CONTINUED);
	send_report(socket, &report, -1);
}
