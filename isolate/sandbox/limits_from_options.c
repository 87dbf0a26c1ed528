/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an execution is allowed, and what enforces it. See plan_build.h.
 *
 * The words for the record are set here, beside the flags that make them true.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/plan_build.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "isolate/seccomp/filter.h"
#include "isolate/base/proc_file.h"

/* What these limits do not stop, for the record. */
static void note(struct confinement *c, const char *text)
{
	if (c->note_count < sizeof c->notes / sizeof *c->notes)
		c->notes[c->note_count++] = text;
}

static bool permits(const struct options *o, const char *name)
{
	for (size_t i = 0; i < o->permit.count; i++)
		if (strcmp(o->permit.items[i], name) == 0)
			return true;
	return false;
}

static enum seccomp_profile choose_profile(const struct sandbox_request *in)
{
	bool online = in->options->network == NETWORK_ALLOW;

	/* --permit fork or execve lets a body start processes; then it is held as a command is. */
	if (in->program->kind == PROGRAM_BODY && !permits(in->options, "fork") &&
		!permits(in->options, "execve"))
		return online ? PROFILE_BODY_ONLINE : PROFILE_BODY;
	if (in->isolation->has_namespaces)
		return in->cgroup ? PROFILE_COMMAND_ACCOUNTED : PROFILE_COMMAND;
	return online ? PROFILE_COMMAND_SHARED : PROFILE_COMMAND_OFFLINE;
}

/* The caller's own hard limit stands above what is asked for. */
static uint32_t open_files(const struct options *o, struct confinement *c)
{
	struct rlimit own;

	if (getrlimit(RLIMIT_NOFILE, &own) == 0 && own.rlim_max < (rlim_t)o->nofile) {
		c->clamped_open_files = (unsigned)own.rlim_max;
		return (uint32_t)own.rlim_max;
	}
	return (uint32_t)o->nofile;
}

/*
 * A program is the user that calls, by the same number, so that what compares an owner (git's
 * index) finds what it expects. Root's program is another user outside, and an ordinary one inside.
 */
static uint32_t inside_id(uint32_t own)
{
	return own == 0 ? 1000 : own;
}

/*
 * Whether a crash inside starts a handler of the host's, core(5): see limit_core() in
 * init/program.c.
 */
static bool starts_core_handler(void)
{
	struct rlimit core;
	char pattern[128];

	return getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max < 1 &&
		proc_file_read("/proc/sys/kernel/core_pattern", pattern, sizeof pattern) > 0 &&
		(pattern[0] == '|' || pattern[0] == '@');
}

static void add_notes(const struct sandbox_request *in, struct confinement *c)
{
	c->view = in->isolation->has_own_root ? "bind" : "host";
	c->permit = &in->options->permit;
	c->host_sockets = &in->options->host_sockets;
	note(c, "an attack on the host's kernel, which every program shares");
	if (in->isolation->has_own_root && in->options->ro_count > 0 &&
		in->options->view == VIEW_BIND)
		note(c,
			"connecting to a socket below a path that was named with --ro: the view is "
			"made of read-only binds, and nothing below a named directory is hidden");
	note(c,
		"using a part of what the kernel counts for the caller's user over all namespaces: "
		"descriptors in flight "
		"between processes, pages of pipes, inotify watches, queued signals, locked "
		"memory");
	if (starts_core_handler())
		note(c,
			"starting the host's handler of core files by a crash: the caller's hard "
			"limit on core files is 0 "
			"(ulimit -Hc), and would have to be 1 for that");
	if (in->options->host_sockets.count > 0)
		note(c,
			"whatever the host's services do for it behind the sockets that were named "
			"with --host-socket");
	if (!in->cgroup)
		note(c,
			"using memory that is in no process: the kernel's buffers for pipes and "
			"sockets, shared pages given back with madvise. Only a cgroup counts "
			"those");
	if (!in->isolation->has_own_root)
		note(c,
			"reading every file that the user may read, and writing where that user "
			"may write: this tier does not hide files");
	if (!in->isolation->has_namespaces)
		note(c, "seeing the host's processes and reaching its UNIX sockets");
	if (in->options->network == NETWORK_ALLOW)
		note(c,
			"reaching the host's network, its loopback services and abstract sockets: "
			"--network allow shares all of it");
}

void limits_from_options(
	const struct sandbox_request *in, struct confine_limits *l, struct confinement *c)
{
	const struct options *o = in->options;
	bool body = in->program->kind == PROGRAM_BODY;
	bool own_user = in->isolation->has_namespaces || in->outside_uid != geteuid();

	memset(l, 0, sizeof *l);
	l->uid = in->isolation->has_namespaces ? inside_id(geteuid()) : in->outside_uid;
	l->gid = in->isolation->has_namespaces ? inside_id(getegid()) : in->outside_gid;
	l->memory_bytes = (uint64_t)o->memory_bytes;
	l->fsize_bytes = (uint64_t)o->fsize_bytes;
	l->workspace_bytes = (uint64_t)o->workspace_bytes;
	l->workspace_inodes = l->workspace_bytes / (body ? 65536 : 4096) + 16;
	l->processes = (uint32_t)o->pids;
	l->open_files = open_files(o, c);
	l->cpu_seconds = o->timeout_us > 0 ? (uint32_t)((o->timeout_us + 999999) / 1000000 + 1) : 0;
	l->flags = (in->isolation->has_namespaces ? LIMIT_NAMESPACES : 0) |
		(o->network == NETWORK_ALLOW ? LIMIT_HOST_NETWORK : 0) |
		(body || o->limit_address_space ? LIMIT_ADDRESS_SPACE : 0) |
		(o->wait_all && !body ? LIMIT_WAIT_ALL : 0) |
		(o->tty && !body ? LIMIT_TERMINAL : 0) | (own_user ? LIMIT_PROCESSES : 0) |
		(in->events ? LIMIT_EVENTS : 0) | LIMIT_COUNT_REFUSALS;
	l->profile = choose_profile(in);

	c->seccomp = filter_name((enum seccomp_profile)l->profile);
	c->memory = in->cgroup ? "cgroup" : "watchdog";
	c->network = o->network == NETWORK_ALLOW ? "host"
		: in->isolation->has_namespaces  ? "none"
						 : "filtered";
	c->limits = (struct enforcers){
		.wall_time = o->timeout_us > 0 ? "timerfd" : NULL,
		.cpu_time = l->cpu_seconds > 0 ? "rlimit" : NULL,
		.memory = l->flags & LIMIT_ADDRESS_SPACE
			? in->cgroup ? "watchdog, cgroup, rlimit" : "watchdog, rlimit"
			: in->cgroup ? "watchdog, cgroup"
				     : "watchdog",
		.processes = in->cgroup ? "cgroup, rlimit"
			: own_user      ? "rlimit"
					: "watchdog",
		.file_size = "rlimit",
		.open_files = "rlimit",
		.output_size = "supervisor",
		.workspace_size = in->isolation->has_own_root ? "tmpfs" : NULL,
	};
	add_notes(in, c);
}

int64_t limits_most_memory(const struct options *o)
{
	int64_t most = o->memory_bytes + o->workspace_bytes;

	for (size_t i = 0; i < o->ro_count; i++)
		most += o->ro[i].scratch ? o->workspace_bytes : 0;
	return most;
}
