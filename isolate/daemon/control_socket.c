/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket. See control_socket.h.
 *
 * A socket file says nothing about whether a daemon listens: connecting to it does. Two daemons
 * that find the same dead file at once are kept apart by a lock beside it, which the winner holds
 * for as long as it lives.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"

#if !defined SO_PEERPIDFD && \
	(defined __x86_64__ || defined __i386__ || defined __aarch64__ || defined __riscv)
#define SO_PEERPIDFD 77 /* asm-generic/socket.h, Linux 6.5 */
#endif

#define FIRST_PASSED 3
#define BACKLOG 128
#define INIT_NAME "cordon-init"
#define ANCESTORS_MOST 4096
#define WALKS_MOST 8

bool socket_default_path(char *out, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int length = -1;

	if (runtime && runtime[0] == '/')
		length = snprintf(out, size, "%s/cordon/control.sock", runtime);
	else if (geteuid() == 0)
		length = snprintf(out, size, "/run/cordon/control.sock");
	return length > 0 && (size_t)length < size;
}

static int address_of(const char *path, struct sockaddr_un *address, struct error *err)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address->sun_path)
		return error_set(
			err, FAILURE_BAD_OPTION, ENAMETOOLONG, "the control socket %.200s", path);
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

/* What a service manager passed: sd_listen_fds(3), by its protocol. -1: nothing. */
static int take_passed(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int listening = 0, fd = FIRST_PASSED;
	socklen_t length = sizeof listening;

	if (!pid || !count || strtol(pid, NULL, 10) != getpid() || strtol(count, NULL, 10) < 1)
		return -1;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 || !listening)
		return -1;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		return -1;
	return fd;
}

/* The directory of the socket, made when it is missing; ours alone when it is. */
static int prepare_directory(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char directory[sizeof((struct sockaddr_un *)0)->sun_path];
	struct stat st;

	if (!slash || slash == path)
		return 0;
	snprintf(directory, sizeof directory, "%.*s", (int)(slash - path), path);
	if (mkdir(directory, 0700) != 0 && errno != EEXIST)
		return error_set(err, FAILURE_PATH_MISSING, errno,
			"making the directory %s of the control socket", directory);
	if (stat(directory, &st) != 0 || !S_ISDIR(st.st_mode) ||
		(st.st_uid != geteuid() && st.st_uid != 0))
		return error_set(err, FAILURE_PATH_MISSING, EACCES,
			"%s, the directory of the control socket, belongs to somebody else",
			directory);
	return 0;
}

/* Held until the process ends: the descriptor is left open on purpose. */
static int lock_beside(const char *path, struct error *err)
{
	char lock[sizeof((struct sockaddr_un *)0)->sun_path + 8];
	int fd;

	snprintf(lock, sizeof lock, "%s.lock", path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_set(err, FAILURE_PATH_MISSING, errno, "opening %s", lock);
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		error_set(err, FAILURE_DAEMON_RUNNING, errno, "a daemon holds %s", lock);
		close(fd);
		return -1;
	}
	return 0;
}

static int bind_new(const char *path, struct error *err)
{
	struct sockaddr_un address;
	struct stat st;
	mode_t mask;
	int fd, status;

	if (address_of(path, &address, err) < 0 || prepare_directory(path, err) < 0)
		return -1;
	/* Only a socket is replaced. */
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return error_set(err, FAILURE_PATH_MISSING, EEXIST,
			"%s is there and is no socket; it is left as it is, so name another place "
			"for the control socket",
			path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the control socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN) {
		error_set(err, FAILURE_DAEMON_RUNNING, 0, "a daemon answers at %s", path);
		goto fail;
	}
	if (lock_beside(path, err) < 0)
		goto fail;
	unlink(path);
	mask = umask(0177);
	status = bind(fd, (struct sockaddr *)&address, sizeof address);
	umask(mask);
	if (status == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error_set(err, FAILURE_PATH_MISSING, errno, "listening at %s", path);
fail:
	close(fd);
	return -1;
}

int socket_listen(const char *path, bool *passed, struct error *err)
{
	int fd = take_passed();

	*passed = fd >= 0;
	if (fd >= 0)
		return fd;
	if (!path)
		return error_set(err, FAILURE_PATH_MISSING, 0,
			"there is no place for the control socket: set XDG_RUNTIME_DIR or give "
			"--socket");
	return bind_new(path, err);
}

int socket_connect(const char *path, struct error *err)
{
	struct sockaddr_un address;
	int fd, status;

	if (address_of(path, &address, err) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "making a socket");
	do
		status = connect(fd, (struct sockaddr *)&address, sizeof address);
	while (status != 0 && errno == EINTR);
	if (status != 0) {
		error_set(err, FAILURE_DAEMON_MISSING, errno, "connecting to %s", path);
	} else if (!socket_peer_is_ours(fd)) {
		error_set(err, FAILURE_DAEMON_MISSING, EPERM,
			"the daemon at %s belongs to another user", path);
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

int socket_connect_now(const char *path)
{
	struct sockaddr_un address;
	struct error ignored = ERROR_INIT;
	int fd = address_of(path, &address, &ignored) < 0
		? -1
		: socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
		(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
			socket_peer_is_ours(fd)))
		return fd;
	close(fd);
	return -1;
}

unsigned socket_peer(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.uid
									    : (unsigned)-1;
}

bool socket_peer_is_ours(int fd)
{
	unsigned uid = socket_peer(fd);

	return uid == geteuid() || uid == 0;
}

static bool has_our_namespace(pid_t pid, const char *kind)
{
	struct stat own, other;
	char path[48];

	snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
	if (stat(path, &own) != 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kind);
	return stat(path, &other) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* The parent of a process, and whether the process is cordon-init; -1 where it cannot be seen. */
static pid_t parent_of(pid_t pid, bool *is_init)
{
	char path[40], text[1024];
	const char *name, *end;

	*is_init = false;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (proc_file_read(path, text, sizeof text) <= 0 || !(name = strchr(text, '(')) ||
		!(end = strrchr(text, ')')))
		return -1;
	*is_init = (size_t)(end - name) == sizeof INIT_NAME &&
		memcmp(name + 1, INIT_NAME, sizeof INIT_NAME - 1) == 0;
	return (pid_t)proc_stat_field(text, PROC_STAT_PARENT);
}

/*
 * In the tier subprocess a program has the daemon's namespaces, but stands below a cordon-init,
 * which adopts its orphans and whose name no other process can change. A parent that ended
 * meanwhile has left its child to another: then the walk begins again, and a program that makes it
 * do so for ever is one to refuse. A parent that is there and cannot be seen (hidepid of proc(5))
 * ends the walk.
 */
static bool is_below_init(pid_t client)
{
	for (int walk = 0; walk < WALKS_MOST; walk++) {
		pid_t pid = client, child = client;
		bool is_init, child_is_init;

		for (int depth = 0; pid > 0 && depth < ANCESTORS_MOST; depth++) {
			pid_t parent = parent_of(pid, &is_init);

			if (is_init)
				return true;
			if (parent < 0)
				break;
			child = pid;
			pid = parent;
		}
		if (pid == 0 || (pid != client && parent_of(child, &child_is_init) == pid))
			return false;
	}
	return true;
}

/*
 * Whether the process is in no sandbox. It must still be there afterwards, or its pid may have been
 * reused: from Linux 6.5 on that can be asked.
 */
static bool is_outside(int fd, pid_t pid)
{
	struct pollfd gone = { .fd = -1, .events = POLLIN };
	bool outside;
#ifdef SO_PEERPIDFD
	socklen_t length = sizeof gone.fd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &gone.fd, &length) != 0)
		gone.fd = -1;
#else
	(void)fd;
#endif
	outside = pid > 0 && has_our_namespace(pid, "user") && has_our_namespace(pid, "pid") &&
		!is_below_init(pid);
	outside = outside && (gone.fd < 0 || poll(&gone, 1, 0) == 0);
	if (gone.fd >= 0)
		close(gone.fd);
	return outside;
}

bool socket_client_is_ours(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		return false;
	/* Nothing in a sandbox is root outside, but much of it is this user. */
	return peer.uid == 0 || (peer.uid == geteuid() && is_outside(fd, peer.pid));
}
