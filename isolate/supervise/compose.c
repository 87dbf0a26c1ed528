/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composing a sandbox. See compose.h.
 *
 * Nothing of the host is shown but the system runtime, the interpreter and what was named; nothing of the environment is passed but what was named. Paths are
 * handed on as they were given: they are opened once, inside, by the process that mounts them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/compose.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/workspace.h"
#include "isolate/confine/filter.h"
#include "isolate/confine/plan.h"
#include "isolate/confine/privileges.h"
#include "isolate/supervise/locate.h"
#include "isolate/supervise/python.h"

#define RUNNER_DIRECTORY "/run/cordon/runner"
#define SCRIPT_DIRECTORY "/run/cordon/script"
#define ROOT_BYTES (4u << 20)

/* The system runtime: what every program needs and nobody keeps secrets in. */
static const struct { const char *path; unsigned flags; } RUNTIME[] = {
	{ "/usr", 0 },
	{ "/bin", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/sbin", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/lib", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/lib32", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/lib64", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/libx32", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/etc/ld.so.cache", PLAN_BIND_OPTIONAL },
	{ "/etc/alternatives", PLAN_BIND_OPTIONAL },
	{ "/etc/ssl/certs", PLAN_BIND_OPTIONAL },
	{ "/etc/localtime", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/etc/os-release", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
};

static const struct { const char *path, *content, *content_online; } ETC[] = {
	{ "/etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:1000:1000:user:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", NULL },
	{ "/etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n", NULL },
	{ "/etc/hostname", "cordon\n", NULL },
	{ "/etc/hosts", "127.0.0.1 localhost cordon\n::1 localhost\n", NULL },
	{ "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", "passwd: files\ngroup: files\nhosts: files dns\n" },
};

static const char BOOT[] =
	"import sys\n"
	"if sys.version_info < (3, 9): sys.stderr.write('Python %d.%d is older than 3.9' % sys.version_info[:2]); sys.exit(79)\n"
	"sys.path.insert(0, sys.argv[1])\n"
	"try: import _cordon\n"
	"except ImportError as e: sys.stderr.write(str(e)); sys.exit(78)\n"
	"del sys.path[0]\n"
	"if sys.argv[3:]: import os; os.unlink(_cordon.__file__)\n"
	"try: _cordon.preload(sys.argv[2])\n"
	"except ImportError as e: sys.stderr.write(str(e)); sys.exit(80)\n"
	"_cordon.serve(3)\n";

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

static enum seccomp_profile choose_profile(const struct composition_input *in)
{
	bool online = in->options->network == NETWORK_ALLOW;

	/* --permit fork or execve lets a body start processes; then it is held as a command is. */
	if (in->program->kind == PROGRAM_BODY && !permits(in->options, "fork") && !permits(in->options, "execve"))
		return online ? PROFILE_BODY_ONLINE : PROFILE_BODY;
	return in->isolated || online ? PROFILE_COMMAND : PROFILE_COMMAND_OFFLINE;
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

static void set_limits(const struct composition_input *in, struct confine_limits *l, struct confinement *c)
{
	const struct options *o = in->options;
	bool body = in->program->kind == PROGRAM_BODY;
	bool own_user = in->isolated || in->outside_uid != geteuid();

	memset(l, 0, sizeof *l);
	l->memory_bytes = (uint64_t)o->memory_bytes;
	l->fsize_bytes = (uint64_t)o->fsize_bytes;
	l->workspace_bytes = (uint64_t)o->workspace_bytes;
	l->workspace_inodes = l->workspace_bytes / (body ? 65536 : 4096) + 16;
	l->processes = (uint32_t)o->pids;
	l->open_files = open_files(o, c);
	l->cpu_seconds = o->timeout_us > 0 ? (uint32_t)((o->timeout_us + 999999) / 1000000 + 1) : 0;
	l->flags = (in->isolated ? LIMIT_ISOLATED : 0) | (o->network == NETWORK_ALLOW ? LIMIT_HOST_NETWORK : 0) | (in->cgroup ? 0 : LIMIT_MEMORY_WATCH) |
		   (body || o->limit_address_space ? LIMIT_ADDRESS_SPACE : 0) | (o->wait_all && !body ? LIMIT_WAIT_ALL : 0) |
		   (o->tty && !body ? LIMIT_TERMINAL : 0) | (own_user ? LIMIT_PROCESSES : 0);
	l->profile = choose_profile(in);

	c->seccomp = filter_name((enum seccomp_profile)l->profile);
	c->memory = in->cgroup ? "cgroup" : "watchdog";
	c->network = o->network == NETWORK_ALLOW ? "host" : in->isolated ? "none" : "filtered";
	c->limits = (struct enforcers){
		.wall_time = o->timeout_us > 0 ? "timerfd" : NULL,
		.cpu_time = l->cpu_seconds > 0 ? "rlimit" : NULL,
		.memory = in->cgroup ? "cgroup" : l->flags & LIMIT_ADDRESS_SPACE ? "watchdog, rlimit" : "watchdog",
		.processes = in->cgroup ? "cgroup, rlimit" : own_user ? "rlimit" : "watchdog",
		.file_size = "rlimit",
		.open_files = "rlimit",
		.output_size = "supervisor",
		.workspace_size = in->isolated ? "tmpfs" : NULL,
	};
}

static void set_notes(const struct composition_input *in, struct confinement *c)
{
	c->view = in->isolated ? "bind" : "host";
	c->permit = &in->options->permit;
	note(c, "an attack on the host's kernel, which every program shares");
	if (in->isolated && in->options->ro_count > 0)
		note(c, "connecting to a socket below a path that was named with --ro: the view is made of read-only binds, and nothing below a named directory is hidden");
	if (!in->isolated)
		note(c, "reading every file that the user may read, and writing where that user may write: this tier does not hide files");
	if (!in->isolated)
		note(c, "seeing the host's processes and reaching its UNIX sockets");
	if (in->options->network == NETWORK_ALLOW)
		note(c, "reaching the host's network, its loopback services and abstract sockets: --network allow shares all of it");
}

/* One NAME=VALUE; a later one takes the place of an earlier one of the same name. */
static int set_variable(struct string_list *env, const char *name, size_t name_length, const char *value)
{
	char *line = NULL, **grown;

	if (asprintf(&line, "%.*s=%s", (int)name_length, name, value) < 0)
		return -1;
	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->items[i], line, name_length + 1) == 0) {
			free(env->items[i]);
			env->items[i] = line;
			return 0;
		}
	grown = realloc(env->items, (env->count + 1) * sizeof *grown);
	if (!grown) {
		free(line);
		return -1;
	}
	env->items = grown;
	env->items[env->count++] = line;
	return 0;
}

static int collect_environment(struct string_list *env, const struct options *o, const char *home, const char *temporary)
{
	const char *const own[][2] = {
		{ "PATH", "/usr/local/bin:/usr/bin:/bin" }, { "LANG", "C.UTF-8" }, { "HOME", home }, { "TMPDIR", temporary },
		{ "TERM", o->tty ? getenv("TERM") : NULL },
	};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (own[i][1] && set_variable(env, own[i][0], strlen(own[i][0]), own[i][1]) < 0)
			return -1;
	for (size_t i = 0; i < o->inherit_env.count; i++) {
		const char *name = o->inherit_env.items[i], *value = getenv(name);

		if (value && set_variable(env, name, strlen(name), value) < 0)
			return -1;
	}
	for (size_t i = 0; i < o->env.count; i++) {
		const char *equals = strchr(o->env.items[i], '=');

		if (equals && set_variable(env, o->env.items[i], (size_t)(equals - o->env.items[i]), equals + 1) < 0)
			return -1;
	}
	return 0;
}

/* Nothing is inherited: PATH, HOME, LANG, TMPDIR, the kind of the terminal with --tty, and what was named. */
static int add_environment(struct plan_builder *b, const struct options *o, const char *home, const char *temporary, struct error *err)
{
	struct string_list env = { NULL, 0 };
	int status = collect_environment(&env, o, home, temporary);

	if (status < 0)
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "making the program's environment");
	for (size_t i = 0; i < env.count; i++) {
		if (status == 0)
			plan_add_environment(b, env.items[i]);
		free(env.items[i]);
	}
	free(env.items);
	return status;
}

/* A file of the host's, as the caller sees it, for programs that share the host's network. */
static void add_host_file(struct plan_builder *b, const char *path)
{
	char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	plan_add_file(b, path, text, length > 0 ? (size_t)length : 0);
}

static void add_runtime(struct plan_builder *b, const struct options *o)
{
	bool online = o->network == NETWORK_ALLOW;

	for (size_t i = 0; i < sizeof RUNTIME / sizeof *RUNTIME; i++)
		plan_add_bind(b, RUNTIME[i].path, RUNTIME[i].path, RUNTIME[i].flags);
	for (size_t i = 0; i < sizeof ETC / sizeof *ETC; i++) {
		const char *content = online && ETC[i].content_online ? ETC[i].content_online : ETC[i].content;

		if (online && strcmp(ETC[i].path, "/etc/hosts") == 0)
			add_host_file(b, ETC[i].path);
		else
			plan_add_file(b, ETC[i].path, content, strlen(content));
	}
	if (online)
		add_host_file(b, "/etc/resolv.conf");
	else
		plan_add_file(b, "/etc/resolv.conf", "", 0);
}

/* Whether a path inside lies in a directory that each execution has for itself. */
static bool is_private(const char *path)
{
	static const char *const PRIVATE[] = { "/tmp", "/workspace", "/dev/shm" };

	for (size_t i = 0; i < sizeof PRIVATE / sizeof *PRIVATE; i++) {
		size_t length = strlen(PRIVATE[i]);

		if (strncmp(path, PRIVATE[i], length) == 0 && (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

/* A tree of the host's; where a fresh directory would hide it from the runner's executions, they are told to carry it over. */
static int add_tree(struct plan_builder *b, const char *source, const char *target, struct runner_spawn *spawn, struct error *err)
{
	size_t length = strlen(target) + 1;

	plan_add_bind(b, source, target, 0);
	if (!is_private(target))
		return 0;
	if (length > sizeof spawn->targets - spawn->targets_length)
		return error_set(err, FAILURE_BAD_OPTION, E2BIG, "too many places below /tmp, /workspace and /dev/shm are to be shown");
	memcpy(spawn->targets + spawn->targets_length, target, length);
	spawn->targets_length += (uint32_t)length;
	return 0;
}

static int add_named_trees(struct plan_builder *b, const struct options *o, struct runner_spawn *spawn, struct error *err)
{
	for (size_t i = 0; i < o->ro_count; i++)
		if (add_tree(b, o->ro[i].source, o->ro[i].target, spawn, err) < 0)
			return -1;
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Opens the files to copy in; their descriptors go with message fds, their names into the plan b. */
static int add_copies(struct plan_builder *b, const struct options *o, int *fds, size_t *count, struct error *err)
{
	for (size_t i = 0; i < o->copy_in.count; i++) {
		const char *path = o->copy_in.items[i];
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		struct stat st;

		if (fd < 0)
			return error_set(err, FAILURE_PATH_MISSING, errno, "opening %s, to copy it in", path);
		if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !*base_name(path) || *count >= MESSAGE_MAX_FDS) {
			close(fd);
			return error_set(err, FAILURE_BAD_INPUT, 0, *count >= MESSAGE_MAX_FDS ? "too many files to copy in (at %s)" :
					 "%s is not a regular file, and only those are copied in; show a directory with --ro", path);
		}
		plan_add_copy(b, base_name(path), (unsigned)*count, st.st_mode & 0777);
		fds[(*count)++] = fd;
	}
	return 0;
}

static int python_for(const struct composition_input *in, struct plan_builder *b, struct composition *out, struct python *python, struct error *err)
{
	if (python_find(in->options->python, python, err) < 0)
		return -1;
	for (size_t i = 0; in->isolated && i < python->tree_count; i++)
		if (add_tree(b, python->trees[i], python->trees[i], &out->spawn, err) < 0)
			return -1;
	b->head.command = plan_add_text(b, python->path, strlen(python->path));
	plan_add_argument(b, python->path);
	return 0;
}

/* A memory file with a script's text, to be copied into the workspace where there is no root of ours to put it in. */
static int memory_file(const void *bytes, size_t length, struct error *err)
{
	int fd = memfd_create("script", MFD_CLOEXEC);
	const char *at = bytes;

	while (fd >= 0 && length > 0) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			close(fd);
			fd = -1;
			break;
		}
		at += wrote;
		length -= (size_t)wrote;
	}
	if (fd < 0)
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "keeping the script");
	return fd;
}

static int compose_script(const struct composition_input *in, struct plan_builder *b, struct composition *out, struct error *err)
{
	const struct program *p = in->program;
	const char *name = p->name && *base_name(p->name) ? base_name(p->name) : "script.py";
	struct python python;
	char path[PATH_MAX];
	int fd;

	if (python_for(in, b, out, &python, err) < 0)
		return -1;
	plan_add_argument(b, "-u"); /* what is printed must be seen at once, and not be lost at a timeout */
	if (in->isolated) {
		snprintf(path, sizeof path, "%s/%.255s", SCRIPT_DIRECTORY, name);
		plan_add_file(b, path, p->text, p->length);
		b->head.root_bytes += (uint32_t)p->length + 65536;
	} else {
		snprintf(path, sizeof path, "%.3000s/%.255s", out->workspace, name);
		fd = memory_file(p->text, p->length, err);
		if (fd < 0)
			return -1;
		plan_add_copy(b, name, (unsigned)out->fd_count, 0600);
		out->fds[out->fd_count++] = fd;
	}
	plan_add_argument(b, path);
	for (char *const *argument = p->argv; argument && *argument; argument++)
		plan_add_argument(b, *argument);
	return 0;
}

static void join(struct buffer *joined, const struct string_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		buffer_printf(joined, "%s%s", i ? "," : "", list->items[i]);
}

static void add_joined(struct plan_builder *b, const char *name, const struct string_list *list)
{
	struct buffer joined = BUFFER_INIT;

	join(&joined, list);
	plan_add_file(b, name, joined.length ? joined.data : "", joined.length);
	buffer_free(&joined);
}

/* The request to the runner: the body's parts, and the files to copy in. */
static int compose_request(const struct composition_input *in, struct composition *out, struct error *err)
{
	const struct options *o = in->options;
	struct plan_builder b;

	plan_begin(&b);
	b.head.command = b.head.directory = plan_add_text(&b, "", 0);
	b.head.output_limit = (uint64_t)o->output_limit_bytes;
	b.head.body_flags = (in->flags & EXECUTE_VALIDATE_ONLY ? REQUEST_VALIDATE_ONLY : 0) | (in->flags & EXECUTE_SKIP_VALIDATION ? REQUEST_SKIP_VALIDATION : 0);
	plan_add_file(&b, REQUEST_SOURCE, in->program->text, in->program->length);
	plan_add_file(&b, REQUEST_ARGS, o->args_json ? o->args_json : "", o->args_json ? strlen(o->args_json) : 0);
	plan_add_file(&b, REQUEST_RETURN, o->return_expr ? o->return_expr : "", o->return_expr ? strlen(o->return_expr) : 0);
	add_joined(&b, REQUEST_ALLOW, &o->allow);
	add_joined(&b, REQUEST_PERMIT, &o->permit);
	out->request_fds[0] = -1;
	out->request_fd_count = 1;
	if (!(in->flags & EXECUTE_VALIDATE_ONLY) && add_copies(&b, o, out->request_fds, &out->request_fd_count, err) < 0) {
		plan_abandon(&b);
		return -1;
	}
	out->request_fds[0] = plan_finish(&b, err);
	return out->request_fds[0] < 0 ? -1 : 0;
}

/*
 * Tier subprocess: the program's user may not be able to reach the runner where it is installed, so a copy lies in the workspace until it is loaded.
 */
static int lend_runner(struct plan_builder *b, const char *runner, struct composition *out, struct error *err)
{
	int fd = open(runner, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, FAILURE_HELPER_MISSING, errno, "opening the runner %s", runner);
	plan_add_copy(b, "_cordon.so", (unsigned)out->fd_count, 0500);
	out->fds[out->fd_count++] = fd;
	return 0;
}

/* The fork server: an interpreter that loads the runner and waits on descriptor 3. */
static int compose_runner(const struct composition_input *in, struct plan_builder *b, struct composition *out, struct error *err)
{
	char runner[PATH_MAX], directory[PATH_MAX];
	struct buffer preload = BUFFER_INIT;
	struct python python;
	int pair[2];

	if (locate(OWN_RUNNER, runner, sizeof runner, err) < 0 || python_for(in, b, out, &python, err) < 0)
		return -1;
	if (in->isolated) {
		plan_add_bind(b, runner, RUNNER_DIRECTORY "/_cordon.so", 0);
		strcpy(directory, RUNNER_DIRECTORY);
	} else {
		strcpy(directory, out->workspace);
		if (lend_runner(b, runner, out, err) < 0)
			return -1;
	}
	plan_add_argument(b, "-I");
	plan_add_argument(b, "-c");
	plan_add_argument(b, BOOT);
	plan_add_argument(b, directory);
	join(&preload, &in->options->preload);
	plan_add_argument(b, preload.length ? preload.data : "");
	if (!in->isolated)
		plan_add_argument(b, "lent");
	buffer_free(&preload);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the runner's socket");
	out->runner_socket = pair[0];
	b->head.runner_fd_index = (int32_t)out->fd_count;
	out->fds[out->fd_count++] = pair[1];
	return compose_request(in, out, err);
}

static int compose_command(const struct composition_input *in, struct plan_builder *b, struct error *err)
{
	char *const *argv = in->program->argv;

	if (!argv || !argv[0] || !argv[0][0])
		return error_set(err, FAILURE_BAD_INPUT, 0, "there is no command to run");
	b->head.command = plan_add_text(b, argv[0], strlen(argv[0]));
	for (; *argv; argv++)
		plan_add_argument(b, *argv);
	return 0;
}

/* Tier subprocess: a directory of its own on the host, which goes with the run. */
static int make_workspace(const struct composition_input *in, struct composition *out, struct error *err)
{
	const char *base = getenv("TMPDIR");
	char path[sizeof out->workspace];
	int fd, status = 0;

	if (!base || base[0] != '/' || strlen(base) > 3000)
		base = "/tmp";
	snprintf(path, sizeof path, "%.3000s/cordon-XXXXXX", base);
	if (!mkdtemp(path))
		return error_set(err, FAILURE_PATH_MISSING, errno, "making a working directory in %s", base);
	strcpy(out->workspace, path);
	if (in->outside_uid == geteuid())
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, in->outside_uid, in->outside_gid) != 0)
		status = error_set(err, FAILURE_INTERNAL, errno, "giving %s to the program's user", path);
	if (fd >= 0)
		close(fd);
	return status;
}

int compose(const struct composition_input *in, struct composition *out, struct confinement *c, struct error *err)
{
	const char *home = "/workspace", *temporary = "/tmp";
	enum program_kind kind = in->program->kind;
	struct plan_builder b;
	int status = -1;

	memset(out, 0, sizeof *out);
	out->runner_socket = -1;
	out->fds[0] = -1;
	out->fd_count = 1;
	plan_begin(&b);
	set_notes(in, c);
	out->spawn.magic = RUNNER_SPAWN_MAGIC;
	set_limits(in, &out->spawn.limits, c);
	b.head.limits = out->spawn.limits;
	b.head.root_bytes = ROOT_BYTES;
	b.head.rows = (uint16_t)in->rows;
	b.head.columns = (uint16_t)in->columns;
	b.head.inside_uid = in->isolated ? INSIDE_ID : in->outside_uid;
	b.head.inside_gid = in->isolated ? INSIDE_ID : in->outside_gid;
	if (!in->isolated) {
		if (make_workspace(in, out, err) < 0)
			goto out;
		home = temporary = out->workspace;
	}
	b.head.directory = plan_add_text(&b, home, strlen(home));
	if (add_environment(&b, in->options, home, temporary, err) < 0)
		goto out;
	if (in->isolated)
		add_runtime(&b, in->options);
	if (in->isolated && add_named_trees(&b, in->options, &out->spawn, err) < 0)
		goto out;
	if (kind != PROGRAM_BODY && add_copies(&b, in->options, out->fds, &out->fd_count, err) < 0)
		goto out;
	if (kind == PROGRAM_BODY) {
		/* The fork server itself is not the program: its children are held, each by limits of its own. */
		b.head.limits.profile = PROFILE_NONE;
		b.head.limits.memory_bytes = 0;
		b.head.limits.processes = UINT32_MAX;
		status = compose_runner(in, &b, out, err);
	} else if (kind == PROGRAM_SCRIPT) {
		status = compose_script(in, &b, out, err);
	} else {
		status = compose_command(in, &b, err);
	}
out:
	if (status < 0) {
		plan_abandon(&b);
		return -1;
	}
	out->fds[0] = plan_finish(&b, err);
	return out->fds[0] < 0 ? -1 : 0;
}

static void close_all(int *fds, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*count = 0;
}

void compose_free(struct composition *c)
{
	close_all(c->fds, &c->fd_count);
	close_all(c->request_fds, &c->request_fd_count);
	if (c->runner_socket >= 0)
		close(c->runner_socket);
	c->runner_socket = -1;
	if (c->workspace[0]) {
		int fd = open(c->workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			workspace_empty(fd);
		rmdir(c->workspace);
		c->workspace[0] = '\0';
	}
}
