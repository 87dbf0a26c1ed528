/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon-view: the process that serves a view.
 *
 * The supervisor starts it with nothing but a socket on descriptor 3. The first datagram brings the
 * configuration and a process in the sandbox's namespaces. It opens the named trees, has the mount
 * made there, becomes the user that the program is on the host, gives up every privilege, takes a
 * system call filter of its own that leaves it nothing but reading, and only then answers the first
 * request. It has a mount namespace of its own, where the view is not mounted, so it cannot come to
 * wait for itself, and where nothing appears that is mounted later. When the supervisor's end of
 * the socket goes, it ends, and with it the last descriptor of the file system.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/view/named.h"
#include "fs/view/view_config.h"
#include "fs/view/links.h"
#include "fs/view/mounter.h"
#include "fs/view/view.h"
#include "isolate/seccomp/filter.h"
#include "isolate/base/trace.h"
#include "isolate/base/message.h"
#include "isolate/init/privileges.h"
#include "isolate/wire/init_report.h"

#define RESERVED_FILES 16
#define CHANNEL_BYTES (1 << 20) /* of refusals that the supervisor has not read yet */
#define ENOUGH_FILES 65536

struct start {
	const struct view_config *config;
	int pidfd, device, mount;
	bool other_user; /* the program is another user than the caller */
	struct view *view;
	char **paths;
	int *trees;
	struct error error;
};

/* The host's own name for an open object. */
static char *name_of(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	return length > 0 && path[0] == '/' ? strndup(path, (size_t)length) : NULL;
}

static int open_tree_root(struct start *s, uint32_t i)
{
	const struct config_tree *tree = &config_trees(s->config)[i];
	const char *source = packed_string(s->config, tree->source);
	struct stat st;
	int fd = open(source, O_PATH | O_CLOEXEC);

	s->trees[i] = fd;
	if (fd < 0 && (tree->flags & CONFIG_TREE_OPTIONAL))
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set(&s->error, FAILURE_PATH_MISSING, errno,
			"opening %s, to show it read-only", source);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(&s->error, FAILURE_BAD_INPUT, 0,
			"%s is neither a file nor a directory, and only those can be shown",
			source);
	if (object_is_of_kernel(fd))
		return error_set(&s->error, FAILURE_BAD_INPUT, 0,
			"%s belongs to the kernel and not to the host's files; the sandbox has its "
			"own",
			source);
	s->paths[i] = name_of(fd);
	if (!s->paths[i])
		return error_set(&s->error, FAILURE_PATH_MISSING, errno,
			"finding out where %s lies on the host", source);
	return 0;
}

static int check_trees(struct start *s)
{
	const struct view_config *c = s->config;

	for (uint32_t i = 0; i < c->trees.count; i++) {
		struct policy_verdict verdict;

		if (s->trees[i] < 0)
			continue;
		verdict = policy_decide(s->view->policy, s->paths[i],
			config_trees(c)[i].flags & CONFIG_TREE_RUNTIME);
		if (verdict.decision == POLICY_HIDE || verdict.decision == POLICY_WALK)
			return error_set(&s->error, FAILURE_BAD_OPTION, 0,
				"%s is named to be shown, and hidden by %s (%s): of two equal "
				"rules the one that hides wins",
				s->paths[i], policy_rule_id(s->view->policy, verdict.rule),
				policy_rule_pattern(s->view->policy,
					policy_rule_shown(s->view->policy, verdict.rule)));
	}
	return 0;
}

static int fill_view(struct start *s)
{
	const struct view_config *c = s->config;
	const struct config_place *places = packed_rows(c, c->places);

	for (uint32_t i = 0; i < c->trees.count; i++) {
		bool runtime = config_trees(c)[i].flags & CONFIG_TREE_RUNTIME;
		int number = s->trees[i] < 0
			? view_skip_tree(s->view)
			: view_add_tree(s->view, s->trees[i], s->paths[i], runtime);

		if (number < 0)
			return error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, 0,
				"taking up the named trees (at most %d)", VIEW_TREES_MAX);
	}
	for (uint32_t i = 0; i < c->places.count; i++)
		if (view_add_place(s->view, places[i].tree, packed_string(c, places[i].path),
			    places[i].is_directory) < 0)
			return error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
				"taking up the places to mount on");
	if (anchors_find(s->view, packed_string(c, c->home), s->other_user) < 0)
		return error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
			"looking for what is hidden beside the named trees");
	if (check_trees(s) < 0 || masked_check(s->view, &s->error) < 0 ||
		named_check(s->view, c, s->paths, &s->error) < 0)
		return -1;
	/* What only the caller can see is gone through while this process is the caller. */
	if (s->other_user && policy_hides_anything(s->view->policy) &&
		links_walk_anchors(s->view) < 0)
		s->view->anchors_cut = true;
	return 0;
}

static int make_view(struct start *s)
{
	const struct view_config *c = s->config;
	struct policy *policy;
	struct event_sink *events;

	s->paths = calloc(c->trees.count + 1, sizeof *s->paths);
	s->trees = calloc(c->trees.count + 1, sizeof *s->trees);
	if (!s->paths || !s->trees)
		return error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
			"taking up the named trees");
	for (uint32_t i = 0; i < c->trees.count; i++)
		if (open_tree_root(s, i) < 0)
			return -1;
	policy = config_policy(c, s->paths, &s->error);
	if (!policy)
		return -1;
	events = event_sink_new(HELPER_CONTROL, c->flags & CONFIG_SEND_OPENS);
	s->view = events ? view_new(policy, events, c->owner_uid, c->owner_gid) : NULL;
	if (!s->view)
		return error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "making the view");
	s->view->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->view->top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fill_view(s);
}

static bool write_map(pid_t pid, const char *file, uint32_t id)
{
	char path[40], lines[48];
	int length = snprintf(lines, sizeof lines, "0 0 1\n%u %u 1\n", (unsigned)id, (unsigned)id),
	    fd;
	bool written;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	written = fd >= 0 && write(fd, lines, (size_t)length) == length;
	if (fd >= 0)
		close(fd);
	return written;
}

/*
 * A user namespace in which root and the program's ids mean the same as outside. Only a process
 * outside may map two ids, so a child that stays behind does it, once this one is inside.
 */
static int unshare_mapped(const struct view_config *c)
{
	pid_t parent = getpid(), child;
	int ends[2], status = -1, how;
	char byte = 0;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	child = fork();
	if (child == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 1 && write_map(parent, "uid_map", c->server_uid) &&
					write_map(parent, "gid_map", c->server_gid)
				? 0
				: 1);
	}
	if (child > 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
		status = write(ends[1], &byte, 1) == 1 ? 0 : -1;
	close(ends[0]);
	close(ends[1]);
	if (child > 0 && (waitpid(child, &how, 0) != child || how != 0))
		status = -1;
	return status;
}

/*
 * A mount namespace without the view, which nothing can be mounted into any more. An ordinary user
 * needs a user namespace for that; no id is mapped there, because what counts for reading is its id
 * on the host, and that stays. So does root without CAP_SYS_ADMIN, as in a container, which is
 * about to become another user.
 */
static int leave_mounts(struct start *s)
{
	if (unshare(CLONE_NEWNS) != 0 &&
		(s->other_user ? unshare_mapped(s->config)
			       : unshare(CLONE_NEWUSER | CLONE_NEWNS)) != 0)
		return error_set(&s->error, FAILURE_USERNS_DENIED, errno,
			"giving the view's server a mount namespace of its own");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return error_set(&s->error, FAILURE_MOUNT_DENIED, errno,
			"making the mounts of the view's server private");
	return 0;
}

/*
 * A descriptor is held for each file that is open or mapped inside. Some are kept for what the
 * server opens for itself, or a program could keep it from looking.
 */
static void raise_descriptors(struct view *v)
{
	struct rlimit files, more;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	more = (struct rlimit){ ENOUGH_FILES, ENOUGH_FILES };
	if (files.rlim_max >= ENOUGH_FILES ||
		setrlimit(RLIMIT_NOFILE, &more) != 0) /* only root may raise it further */
		setrlimit(RLIMIT_NOFILE, &files);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		v->most_descriptors =
			files.rlim_cur < INT_MAX ? (int)files.rlim_cur - RESERVED_FILES : INT_MAX;
}

static int confine(struct start *s)
{
	const struct view_config *c = s->config;
	uint32_t layers = 0;

	if (s->other_user && privileges_become(c->server_uid, c->server_gid, &s->error) < 0)
		return -1;
	if (privileges_drop(&layers, &s->error) < 0 ||
		privileges_die_with(HELPER_CONTROL, &s->error) < 0)
		return -1;
	/*
	 * Its own /proc/self/fd is how a named file is opened for reading; it must stay its owner.
	 */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		return error_set(
			&s->error, FAILURE_INTERNAL, errno, "keeping access to /proc/self");
	return filter_install(PROFILE_VIEW, &s->error);
}

static int set_up(struct start *s)
{
	int fds[2];
	const int room = CHANNEL_BYTES;
	size_t count;
	char byte;

	if (message_receive(HELPER_CONTROL, &byte, 1, fds, 2, &count) <= 0 || count != 2)
		return error_set(&s->error, FAILURE_INTERNAL, errno,
			"receiving the configuration of the view");
	s->config = config_open(fds[0], &s->error);
	close(fds[0]);
	if (!s->config)
		return -1;
	s->other_user = s->config->server_uid != getuid();
	if (mounter_mount(fds[1], s->config->owner_uid, s->config->owner_gid, &s->device, &s->mount,
		    &s->error) < 0 ||
		leave_mounts(s) < 0 || make_view(s) < 0)
		return -1;
	close(fds[1]);
	raise_descriptors(s->view);
	/* the kernel gives as much of it as it lets others have */
	setsockopt(HELPER_CONTROL, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (server_open(s->view, s->device, &s->error) < 0)
		return -1;
	return confine(s);
}

int main(void)
{
	static struct start s = { .device = -1, .mount = -1, .error = ERROR_INIT };
	struct report r;
	sigset_t none;

	if (fcntl(HELPER_CONTROL, F_SETFD, FD_CLOEXEC) != 0) {
		fprintf(stderr,
			"cordon-view: this program is started by cordon and has no other use\n");
		return 64;
	}
	trace_adopt(HELPER_TRACE, "view");
	/*
	 * A terminal's signals are for the caller: the view outlives the program, not the other way
	 * round.
	 */
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (set_up(&s) < 0) {
		report_failure(&r, &s.error);
		message_send(HELPER_CONTROL, &r, sizeof r, NULL, 0);
		return 1;
	}
	report_init(&r, REPORT_READY);
	r.layers = LAYER_SECCOMP | LAYER_NO_NEW_PRIVILEGES;
	if (message_send(HELPER_CONTROL, &r, sizeof r, &s.mount, 1) != 0)
		return 1;
	close(s.mount);
	trace("view", "mounted, confined, serving");
	return server_serve(s.view, s.device, HELPER_CONTROL) == 0 ? 0 : 1;
}
