/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One execution. See child.h.
 *
 * The fork server's root is shared (it is read-only); what an execution has for itself is mounted
 * over it: workspace, /tmp, /dev/shm, /dev/pts and /proc. Then every privilege goes, and only then
 * the request is taken. PID 1 never touches Python again; the program's process leaves its answer
 * in a sealed memory file that both have mapped, so it needs no descriptor but the standard ones,
 * and has none to forge an answer on.
 */
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/runner/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/export/workspace.h"
#include "isolate/seccomp/filter.h"
#include "isolate/init/privileges.h"
#include "isolate/base/message.h"
#include "isolate/init/mounts.h"
#include "isolate/init/reap.h"
#include "isolate/wire/init_report.h"
#include "isolate/init/program.h"
#include "isolate/init/usage.h"
#include "isolate/runner/imports.h"
#include "net/loopback.h"

#define REPLY_EXTRA (512 * 1024) /* room beside the value for error text and details */
#define MOST_CARRIED 64

struct child {
	const struct runner_spawn *spawn;
	const char *preload;
	/* the spawn's, with what the interpreter held already on top of its memory */
	struct confine_limits watched;
	int socket, workspace, usage_fd, reply_fd;
	uint32_t layers;
	struct body_request request;
	int fds[MESSAGE_MAX_FDS];
	size_t fd_count;
	struct body_reply *reply;
	struct error error;
};

/*
 * What the program's process says through a pipe, in this order: its confinement, before any code
 * runs that is not ours; its preparation (site directories, preloaded modules); one letter, enum
 * body_decision. The pipe is closed before the body begins. Only the first counts for what was
 * confined.
 */
struct confession {
	uint32_t layers;
	struct error error;
};

#define CONFESSION_FD 3
/* of address space, for site directories and preloaded modules */
#define PREPARATION_BYTES (UINT64_C(4) << 30)
#define SUPERVISOR_FD 4 /* until it is confined */

unsigned long child_clone_flags(const struct confine_limits *limits)
{
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
		CLONE_NEWUTS | CLONE_NEWCGROUP;

	if (!(limits->flags & LIMIT_NAMESPACES))
		return 0;
	return limits->flags & LIMIT_HOST_NETWORK ? flags : flags | CLONE_NEWNET;
}

/*
 * What was shown below /tmp and its like would be hidden by the fresh ones: take it off first and
 * put it on again.
 */
static int remount(struct child *n, int root)
{
	const char *targets[MOST_CARRIED];
	int trees[MOST_CARRIED];
	size_t count = 0;

	for (const char *at = n->spawn->targets;
		at < n->spawn->targets + n->spawn->targets_length && count < MOST_CARRIED;
		at += strlen(at) + 1) {
		trees[count] =
			open_tree(AT_FDCWD, at, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		if (trees[count] < 0)
			return error_set(&n->error, FAILURE_MOUNT_DENIED, errno,
				"taking %s over into the execution", at);
		targets[count++] = at;
	}
	if (mounts_private(root, &n->spawn->limits, &n->error) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (mounts_put(trees[i], root, targets[i], &n->error) < 0)
			return -1;
	return 0;
}

static int isolate(struct child *n)
{
	const uid_t uid = n->spawn->limits.uid;
	const gid_t gid = n->spawn->limits.gid;
	int root, status;

	if (privileges_map(0, &(struct id_map){ uid, uid, gid, gid }, &n->error) < 0)
		return -1;
	(void)!sethostname("cordon", 6); /* the server's own name is the same one, or was refused */
	if (!(n->spawn->limits.flags & LIMIT_HOST_NETWORK) && loopback_up(&n->error) < 0)
		return -1;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_set(&n->error, FAILURE_MOUNT_DENIED, errno, "opening the root");
	status = remount(n, root);
	close(root);
	if (status < 0 || privileges_limit_namespace(&n->layers, &n->error) < 0)
		return -1;
	if (chdir("/workspace") != 0)
		return error_set(&n->error, FAILURE_MOUNT_DENIED, errno, "entering the workspace");
	n->layers |= LAYER_OWN_ROOT | LAYER_USER_NAMESPACE | LAYER_MOUNT_NAMESPACE |
		LAYER_PID_NAMESPACE | LAYER_IPC_NAMESPACE | LAYER_UTS_NAMESPACE |
		LAYER_CGROUP_NAMESPACE |
		(n->spawn->limits.flags & LIMIT_HOST_NETWORK ? 0 : LAYER_NETWORK_NAMESPACE);
	return 0;
}

static int prepare(struct child *n, const int *fds)
{
	for (int standard = 0; standard <= 2; standard++)
		if (dup2(fds[1 + standard], standard) < 0)
			return error_set(&n->error, FAILURE_INTERNAL, errno,
				"taking the standard streams of the execution");
	/*
	 * The server is not dumpable, and the maps of users in /proc/self are root's as long as
	 * that holds here.
	 */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		return error_set(&n->error, FAILURE_INTERNAL, errno,
			"making the execution's own /proc its own");
	if (n->spawn->limits.flags & LIMIT_NAMESPACES) {
		if (isolate(n) < 0)
			return -1;
	} else if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
		return error_set(
			&n->error, FAILURE_INTERNAL, errno, "becoming the reaper of the execution");
	}
	n->workspace = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (n->workspace < 0)
		return error_set(&n->error, FAILURE_PATH_MISSING, errno, "opening the workspace");
	n->usage_fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	if (privileges_drop(&n->layers, &n->error) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return error_set(&n->error, FAILURE_INTERNAL, errno, "hiding the memory of PID 1");
	return 0;
}

/* The files that came behind the request, each with the mode that it has on the host. */
static int copy_in(struct child *n)
{
	const char *name = n->request.copies.bytes, *end = name + n->request.copies.length;
	struct stat st;

	for (size_t i = 1; name < end; name += strlen(name) + 1, i++) {
		if (i >= n->fd_count || fstat(n->fds[i], &st) != 0)
			return error_set(
				&n->error, FAILURE_INTERNAL, 0, "a file to copy in did not arrive");
		if (workspace_copy_in(n->workspace, name, n->fds[i], st.st_mode & 0777, &n->error) <
			0)
			return -1;
	}
	return 0;
}

static int make_reply(struct child *n)
{
	size_t size = sizeof *n->reply + (size_t)n->request.output_limit + REPLY_EXTRA;

	n->reply_fd = memfd_create("reply", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (n->reply_fd < 0 || ftruncate(n->reply_fd, (off_t)size) != 0 ||
		fcntl(n->reply_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
		(n->reply = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, n->reply_fd, 0)) ==
			MAP_FAILED)
		return error_set(&n->error, FAILURE_RESOURCES_EXHAUSTED, errno,
			"making the memory of the reply");
	n->reply->size = size - sizeof *n->reply;
	return 0;
}

/* Returns 1 with a request, 0 when the supervisor is gone, -1 with an error. */
static int take_request(struct child *n)
{
	char byte;
	ssize_t got = message_receive(n->socket, &byte, 1, n->fds, MESSAGE_MAX_FDS, &n->fd_count);

	if (got == 0)
		return 0;
	if (got < 0 || n->fd_count < 1)
		return error_set(&n->error, FAILURE_INTERNAL, errno,
			"receiving the request of the execution");
	if (body_request_open(n->fds[0], &n->request, &n->error) < 0 || copy_in(n) < 0 ||
		make_reply(n) < 0)
		return -1;
	return 1;
}

/*
 * The listener, if there is one, goes to the supervisor, over the socket that is closed before any
 * code of the program's runs.
 */
static int install_filter(const struct confine_limits *limits, struct error *err)
{
	int listener;

	return filter_install_notifying(limits, &listener, err) < 0 ||
			report_listener(SUPERVISOR_FD, listener, err) < 0
		? -1
		: 0;
}

static int limit_program(struct child *n, uint64_t extra, struct error *err)
{
	struct confine_limits limits = n->spawn->limits;

	if (limits.memory_bytes > 0)
		limits.memory_bytes += extra;
	return rlimits_apply(&limits, limits.flags & LIMIT_NAMESPACES ? 1 : 0, err);
}

/* In the program's process: the last of the confinement. */
static int confine_program(struct child *n, struct confession *c)
{
	const struct confine_limits *limits = &n->spawn->limits;

	reap_unblock_signals();
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 || setsid() < 0)
		return error_set(&c->error, FAILURE_INTERNAL, errno,
			"giving the program a session of its own");
	if (limit_program(n, PREPARATION_BYTES, &c->error) < 0)
		return -1;
	if (!(limits->flags & LIMIT_NAMESPACES))
		landlock_scope(&c->layers);
	if (install_filter(limits, &c->error) < 0 || rlimits_open_files(limits, &c->error) < 0)
		return -1;
	c->layers |= LAYER_SECCOMP;
	return 0;
}

/* Returns whether the program may go on. After this it has descriptors 0, 1 and 2, and the pipe. */
static bool confess(struct child *n, int pipe)
{
	struct confession c = { 0, ERROR_INIT };
	int status, socket = fcntl(n->socket, F_DUPFD_CLOEXEC, SUPERVISOR_FD + 1);

	if (dup2(pipe, CONFESSION_FD) < 0 || dup2(socket, SUPERVISOR_FD) < 0 ||
		close_range(SUPERVISOR_FD + 1, ~0u, 0) != 0)
		return false;
	status = confine_program(n, &c);
	close(SUPERVISOR_FD);
	return write(CONFESSION_FD, &c, sizeof c) == sizeof c && status == 0;
}

/*
 * Site directories and preloaded modules, where anything can be imported at all. What they hold is
 * no part of the body's memory.
 */
static bool prepare_program(struct child *n)
{
	struct span preload = { n->preload, strlen(n->preload) };
	struct confession c = { 0, ERROR_INIT };
	char reason[400];

	if ((preload.length > 0 || n->request.allow.length > 0) &&
		body_site(reason, sizeof reason) < 0)
		error_set(&c.error, FAILURE_INTERPRETER_MISSING, 0,
			"the interpreter's site directories: %s", reason);
	else if (body_preload(preload, reason, sizeof reason) < 0)
		error_set(&c.error, FAILURE_BAD_OPTION, 0, "--preload: %s", reason);
	else
		limit_program(n, 0, &c.error);
	return write(CONFESSION_FD, &c, sizeof c) == sizeof c && c.error.code == FAILURE_NONE;
}

static bool report_decision(enum body_decision decision)
{
	char letter = (char)decision;

	return write(CONFESSION_FD, &letter, 1) == 1 && close(CONFESSION_FD) == 0;
}

static void live_as_program(struct child *n, int pipe)
{
	if (!confess(n, pipe))
		_exit(125);
	PyOS_AfterFork_Child();
	if (!prepare_program(n))
		_exit(125);
	body_perform(&n->request, report_decision, n->reply);
	_exit(0);
}

static void send_failure(struct child *n)
{
	struct report r;

	report_failure(&r, &n->error);
	message_send(n->socket, &r, sizeof r, NULL, 0);
}

/* Returns whether a whole one came, or the writer ended first. */
static bool read_confession(int pipe, struct confession *c)
{
	ssize_t got;

	do
		got = read(pipe, c, sizeof *c);
	while (got < 0 && errno == EINTR);
	return got == sizeof *c;
}

/*
 * Until the program's process is confined it is our own code, so waiting for its word is waiting
 * for a few system calls, or for its end.
 */
static int hear_confession(struct child *n, int pipe)
{
	struct confession c;

	if (!read_confession(pipe, &c))
		return error_set(&n->error, FAILURE_INTERNAL, 0,
			"confining the program's process: it ended before it could say how that "
			"went");
	n->layers |= c.layers;
	n->error = c.error;
	return c.error.code == FAILURE_NONE ? 0 : -1;
}

/*
 * The word of a process that has run code of site directories: it may be any bytes. The
 * supervisor's time for a start bounds the wait, and what the program holds by then is put on top
 * of its memory.
 */
static int hear_preparation(struct child *n, int pipe)
{
	bool has_namespaces = n->spawn->limits.flags & LIMIT_NAMESPACES;
	struct usage_totals held = { 0, 0 };
	struct confession c;

	if (!read_confession(pipe, &c))
		return error_set(&n->error, FAILURE_INTERPRETER_MISSING, 0,
			"the program's process ended while it imported its site directories and "
			"what --preload names");
	if (c.error.code != FAILURE_NONE) {
		c.error.context[sizeof c.error.context - 1] = '\0';
		return error_set(&n->error,
			c.error.code == FAILURE_BAD_OPTION ? FAILURE_BAD_OPTION
							   : FAILURE_INTERPRETER_MISSING,
			0, "%s", c.error.context);
	}
	if (n->watched.memory_bytes > 0 && usage_read(has_namespaces, &held) == 0 &&
		held.bytes != UINT64_MAX)
		n->watched.memory_bytes += held.bytes;
	return 0;
}

/* After the program's end. Anything but the one letter means that a body began. */
static bool was_refused(int pipe)
{
	char letters[2];

	return fcntl(pipe, F_SETFL, O_NONBLOCK) == 0 && read(pipe, letters, sizeof letters) == 1 &&
		letters[0] == BODY_IS_REFUSED;
}

static void watch_program(struct child *n, pid_t program, int pipe)
{
	struct report r;

	for (int standard = 0; standard <= 2; standard++)
		close(standard);
	for (size_t i = 0; i < n->fd_count; i++)
		close(n->fds[i]);
	report_init(&r, REPORT_STARTED);
	r.layers = n->layers;
	message_send(n->socket, &r, sizeof r, NULL, 0);
	reap_until_end(program, n->socket, n->usage_fd, &n->watched, &r);
	r.layers = n->layers;
	r.count = was_refused(pipe);
	message_send(n->socket, &r, sizeof r, &n->reply_fd, 1);
}

/*
 * Forks the program and hears how its confinement and preparation went. Returns its process id, or
 * -1 with an error (it is not running then).
 */
static pid_t start_program(struct child *n, int *pipe)
{
	int ends[2];
	pid_t program;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_set(&n->error, FAILURE_RESOURCES_EXHAUSTED, errno,
			"making a pipe to the program's process");
	program = fork();
	if (program == 0)
		live_as_program(n, ends[1]);
	close(ends[1]);
	if (program < 0) {
		close(ends[0]);
		return error_set(&n->error, FAILURE_RESOURCES_EXHAUSTED, errno,
			"starting the program's process");
	}
	*pipe = ends[0];
	if (hear_confession(n, ends[0]) == 0 && hear_preparation(n, ends[0]) == 0)
		return program;
	kill(program, SIGKILL);
	return -1;
}

void child_run(
	const struct runner_spawn *spawn, const int fds[RUNNER_SPAWN_FDS], const char *preload)
{
	static struct child n = { .workspace = -1, .usage_fd = -1, .reply_fd = -1 };
	struct report ready;
	pid_t program;
	int arrived, pipe = -1;

	reap_block_signals();
	n.spawn = spawn;
	n.preload = preload;
	n.watched = spawn->limits;
	n.socket = fds[0];
	if (prepare(&n, fds) < 0)
		goto fail;
	report_init(&ready, REPORT_READY);
	ready.layers = n.layers;
	if (message_send(n.socket, &ready, sizeof ready, &n.workspace, 1) != 0)
		_exit(0);
	arrived = take_request(&n);
	if (arrived == 0)
		_exit(0);
	if (arrived < 0)
		goto fail;
	program = start_program(&n, &pipe);
	if (program < 0)
		goto fail;
	watch_program(&n, program, pipe);
	_exit(0);
fail:
	send_failure(&n);
	_exit(1);
}
