/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composing a sandbox. See plan_build.h.
 *
 * Nothing of the host is shown but the system runtime, the interpreter and what was named; nothing
 * of the environment is passed but what was named. Paths are handed on as they were given: they are
 * opened once, inside, by the process that mounts them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/plan_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"
#include "fs/export/workspace.h"
#include "isolate/base/trace.h"
#include "isolate/base/locate.h"
#include "isolate/init/privileges.h"
#include "isolate/runner/bootstrap.h"
#include "isolate/sandbox/interpreter.h"
#include "isolate/wire/init_plan.h"

#define RUNNER_DIRECTORY "/run/cordon/runner"
#define SCRIPT_DIRECTORY "/run/cordon/script"
#define ROOT_BYTES (4u << 20)

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Opens the files to copy in, behind the descriptors that a message has already. */
static int open_copies(const struct options *o, int *fds, size_t *count, struct error *err)
{
	for (size_t i = 0; i < o->copy_in.count; i++) {
		const char *path = o->copy_in.items[i];
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		struct stat st;

		if (fd < 0)
			return error_set(err, FAILURE_PATH_MISSING, errno,
				"opening %s, to copy it in", path);
		if (*count >= MESSAGE_MAX_FDS)
			return error_set(err, FAILURE_BAD_INPUT, 0,
				"too many files to copy in (at %s)", path);
		if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !*base_name(path))
			return error_set(err, FAILURE_BAD_INPUT, 0,
				"%s is not a regular file, and only those are copied in; show a "
				"directory with --ro",
				path);
		fds[(*count)++] = steal_fd(&fd);
	}
	return 0;
}

static int add_copies(struct plan_builder *b, const struct options *o, struct sandbox_plan *out,
	struct error *err)
{
	size_t first = out->fd_count;
	struct stat st;

	if (open_copies(o, out->fds, &out->fd_count, err) < 0)
		return -1;
	for (size_t i = first; i < out->fd_count; i++)
		plan_add_copy(b, base_name(o->copy_in.items[i - first]), (unsigned)i,
			fstat(out->fds[i], &st) == 0 ? st.st_mode & 0777 : 0600);
	return 0;
}

static int add_python(const struct sandbox_request *in, struct plan_builder *b,
	struct sandbox_plan *out, const struct python *python, struct error *err)
{
	for (size_t i = 0; in->isolation->has_own_root && i < python->tree_count; i++)
		if (python->is_link[i])
			plan_add_bind(b, python->trees[i], python->trees[i], PLAN_BIND_LIKE_HOST);
		else if (host_files_add_tree(b, python->trees[i], python->trees[i],
				 runtime_flags(in->options), &out->spawn, err) < 0)
			return -1;
	b->plan.command = packer_string(&b->packer, python->path);
	plan_add_argument(b, python->path);
	return 0;
}

/* Many paths are too much for a small stack. */
static int python_for(const struct sandbox_request *in, struct plan_builder *b,
	struct sandbox_plan *out, struct error *err)
{
	struct python *python = malloc(sizeof *python);
	int status;

	if (!python)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "looking for the interpreter");
	status = python_find(in->options->python, python, err) < 0
		? -1
		: add_python(in, b, out, python, err);
	free(python);
	return status;
}

/*
 * A memory file with a script's text, to be copied into the workspace where there is no root of
 * ours to put it in.
 */
static int memory_file(const void *bytes, size_t length, struct error *err)
{
	_cleanup_close_ int fd = memfd_create("script", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, bytes, length) < 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "keeping the script");
	return steal_fd(&fd);
}

static int plan_build_script(const struct sandbox_request *in, struct plan_builder *b,
	struct sandbox_plan *out, struct error *err)
{
	const struct program *p = in->program;
	const char *name = p->name && *base_name(p->name) ? base_name(p->name) : "script.py";
	char path[PATH_MAX];
	int fd;

	if (python_for(in, b, out, err) < 0)
		return -1;
	/* what is printed must be seen at once, and not be lost at a timeout */
	plan_add_argument(b, "-u");
	if (in->isolation->has_own_root) {
		snprintf(path, sizeof path, "%s/%.255s", SCRIPT_DIRECTORY, name);
		plan_add_file(b, path, p->text, p->length);
		b->plan.root_bytes += (uint32_t)p->length + 65536;
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

static struct span span_of(const char *text)
{
	return (struct span){ text ? text : "", text ? strlen(text) : 0 };
}

static int plan_build_request(
	const struct sandbox_request *in, struct sandbox_plan *out, struct error *err)
{
	_cleanup_buffer_ struct buffer allow = BUFFER_INIT, permit = BUFFER_INIT,
				       copies = BUFFER_INIT;
	const struct options *o = in->options;
	struct body_request r = {
		.source = { in->program->text, in->program->length },
		.args = span_of(o->args_json),
		.return_expr = span_of(o->return_expr),
		.output_limit = (uint64_t)o->output_limit_bytes,
		.validate_only = in->flags & EXECUTE_VALIDATE_ONLY,
		.skip_validation = in->flags & EXECUTE_SKIP_VALIDATION,
	};

	join(&allow, &o->allow);
	join(&permit, &o->permit);
	for (size_t i = 0; !r.validate_only && i < o->copy_in.count; i++)
		buffer_add(&copies, base_name(o->copy_in.items[i]),
			strlen(base_name(o->copy_in.items[i])) + 1);
	if (allow.failed || permit.failed || copies.failed)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
			"building the request of the body");
	r.allow = span_of(allow.data);
	r.permit = span_of(permit.data);
	r.copies = (struct span){ copies.length ? copies.data : "", copies.length };
	out->request_fds[0] = -1;
	out->request_fd_count = 1;
	if (!r.validate_only && open_copies(o, out->request_fds, &out->request_fd_count, err) < 0)
		return -1;
	out->request_fds[0] = body_request_write(&r, err);
	return out->request_fds[0] < 0 ? -1 : 0;
}

/*
 * Tier subprocess: the program's user may not be able to reach the runner where it is installed, so
 * a copy lies in the workspace until it is loaded.
 */
static int lend_runner(
	struct plan_builder *b, const char *runner, struct sandbox_plan *out, struct error *err)
{
	int fd = open(runner, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set(
			err, FAILURE_HELPER_MISSING, errno, "opening the runner %s", runner);
	plan_add_copy(b, "_cordon.so", (unsigned)out->fd_count, 0500);
	out->fds[out->fd_count++] = fd;
	return 0;
}

/*
 * The fork server: an interpreter that loads the runner and waits on descriptor 3. It runs nothing
 * of its site directories (-S): its children do that, and import what is to be preloaded, once they
 * are confined.
 */
static int plan_build_runner(const struct sandbox_request *in, struct plan_builder *b,
	struct sandbox_plan *out, struct error *err)
{
	char runner[PATH_MAX], directory[PATH_MAX];
	_cleanup_buffer_ struct buffer preload = BUFFER_INIT;
	int pair[2];

	if (locate(OWN_RUNNER, runner, sizeof runner, err) < 0 || python_for(in, b, out, err) < 0)
		return -1;
	if (in->isolation->has_own_root) {
		plan_add_bind(b, runner, RUNNER_DIRECTORY "/_cordon.so", 0);
		strcpy(directory, RUNNER_DIRECTORY);
	} else {
		strcpy(directory, out->workspace);
		if (lend_runner(b, runner, out, err) < 0)
			return -1;
	}
	plan_add_argument(b, "-IS");
	plan_add_argument(b, "-c");
	plan_add_argument(b, RUNNER_BOOTSTRAP);
	plan_add_argument(b, directory);
	join(&preload, &in->options->preload);
	plan_add_argument(b, preload.length ? preload.data : "");
	if (!in->isolation->has_own_root)
		plan_add_argument(b, "lent");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the runner's socket");
	out->runner_socket = pair[0];
	b->plan.runner_fd_index = (int32_t)out->fd_count;
	out->fds[out->fd_count++] = pair[1];
	return plan_build_request(in, out, err);
}

static int plan_build_command(
	const struct sandbox_request *in, struct plan_builder *b, struct error *err)
{
	char *const *argv = in->program->argv;

	if (!argv || !argv[0] || !argv[0][0])
		return error_set(err, FAILURE_BAD_INPUT, 0, "there is no command to run");
	b->plan.command = packer_string(&b->packer, argv[0]);
	for (; *argv; argv++)
		plan_add_argument(b, *argv);
	return 0;
}

/*
 * Tier subprocess: the name of a directory that cordon-init will make, and that goes with the run.
 * 64 random bits: no other process can have made it before.
 */
static int name_workspace(struct sandbox_plan *out, struct error *err)
{
	const char *base = getenv("TMPDIR");
	uint64_t random;

	if (!base || base[0] != '/' || strlen(base) > 3000)
		base = "/tmp";
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "naming a working directory");
	snprintf(out->workspace, sizeof out->workspace, "%.3000s/cordon-%016llx", base,
		(unsigned long long)random);
	return 0;
}

/*
 * The caller's directory, as it is called inside: below the deepest of the named trees that shows
 * it. Returns false when none does.
 */
static bool shown_directory(const struct options *o, char path[PATH_MAX])
{
	char here[PATH_MAX], source[PATH_MAX];
	size_t deepest = 0;

	if (!getcwd(here, sizeof here))
		return false;
	for (size_t i = 0; i < o->ro_count; i++) {
		size_t length = realpath(o->ro[i].source, source) ? strlen(source) : 0;
		int written;

		if (length <= deepest || strncmp(here, source, length) != 0 ||
			(length > 1 && here[length] != '/' && here[length] != '\0'))
			continue;
		written = snprintf(path, PATH_MAX, "%s%s%s", o->ro[i].target, length > 1 ? "" : "/",
			here + length);
		if (written > 0 && written < PATH_MAX)
			deepest = length;
	}
	return deepest > 0;
}

/*
 * Where the program starts. What was asked for must be there; the caller's own directory may be
 * hidden.
 */
static void choose_directory(
	const struct sandbox_request *in, struct plan_builder *b, const char *workspace)
{
	char shown[PATH_MAX];

	if (in->options->cwd) {
		b->plan.directory = packer_string(&b->packer, in->options->cwd);
	} else if (in->isolation->has_own_root && in->program->kind != PROGRAM_BODY &&
		shown_directory(in->options, shown)) {
		b->plan.directory = packer_string(&b->packer, shown);
		b->plan.otherwise = packer_string(&b->packer, workspace);
	} else {
		b->plan.directory = packer_string(&b->packer, workspace);
	}
}

/*
 * One NAME=VALUE of the environment. A later one takes the place of an earlier one of the same
 * name, because getenv(3) inside would find the first.
 */
static int set_variable(
	struct string_list *env, const char *name, size_t name_length, const char *value)
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

static int collect_environment(
	struct string_list *env, const struct options *o, const char *home, const char *temporary)
{
	const char *const own[][2] = {
		{ "PATH", "/usr/local/bin:/usr/bin:/bin" },
		{ "LANG", "C.UTF-8" },
		{ "HOME", home },
		{ "TMPDIR", temporary },
		{ "TERM", o->tty ? getenv("TERM") : NULL },
	};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (own[i][1] && set_variable(env, own[i][0], strlen(own[i][0]), own[i][1]) < 0)
			return -1;
	for (size_t i = 0; i < o->inherit_env.count; i++) {
		const char *name = o->inherit_env.items[i], *value = getenv(name);

		if (value && strcmp(name, TRACE_VARIABLE) != 0 &&
			set_variable(env, name, strlen(name), value) < 0)
			return -1;
	}
	for (size_t i = 0; i < o->env.count; i++) {
		const char *equals = strchr(o->env.items[i], '=');

		if (equals &&
			set_variable(env, o->env.items[i], (size_t)(equals - o->env.items[i]),
				equals + 1) < 0)
			return -1;
	}
	return 0;
}

static int add_environment(struct plan_builder *b, const struct options *o, const char *home,
	const char *temporary, struct error *err)
{
	struct string_list env = { NULL, 0 };
	int status = collect_environment(&env, o, home, temporary);

	if (status < 0)
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
			"making the program's environment");
	for (size_t i = 0; i < env.count; i++) {
		if (status == 0)
			plan_add_environment(b, env.items[i]);
		free(env.items[i]);
	}
	free(env.items);
	return status;
}

int plan_build(const struct sandbox_request *in, struct sandbox_plan *out, struct record *record,
	struct error *err)
{
	struct confinement *c = &record->confinement;
	const char *home = "/home/user", *temporary = "/tmp", *directory = "/workspace";
	enum program_kind kind = in->program->kind;
	struct plan_builder b;
	int status = -1;

	memset(out, 0, sizeof *out);
	out->runner_socket = -1;
	out->fds[0] = -1;
	out->fd_count = 1;
	out->view_config = -1;
	plan_begin(&b);
	out->spawn.magic = RUNNER_SPAWN_MAGIC;
	limits_from_options(in, &out->spawn.limits, c);
	if (plan_view_check(in, err) < 0)
		goto out;
	b.plan.limits = out->spawn.limits;
	b.plan.root_bytes = ROOT_BYTES;
	b.plan.rows = (uint16_t)in->rows;
	b.plan.columns = (uint16_t)in->columns;
	b.plan.inside_uid = out->spawn.limits.uid;
	b.plan.inside_gid = out->spawn.limits.gid;
	if (!in->isolation->has_own_root) {
		if (name_workspace(out, err) < 0)
			goto out;
		home = temporary = directory = out->workspace;
	}
	choose_directory(in, &b, directory);
	b.plan.workspace = packer_string(&b.packer, out->workspace);
	if (add_environment(&b, in->options, home, temporary, err) < 0)
		goto out;
	if (in->isolation->has_own_root && host_files_add(in, &b, &out->spawn, err) < 0)
		goto out;
	if (kind != PROGRAM_BODY && add_copies(&b, in->options, out, err) < 0)
		goto out;
	if (kind == PROGRAM_BODY) {
		/*
		 * The fork server itself is not the program: its children are held, each by limits
		 * of its own.
		 */
		b.plan.limits.profile = PROFILE_NONE;
		b.plan.limits.flags &= ~(uint32_t)(LIMIT_EVENTS | LIMIT_COUNT_REFUSALS);
		b.plan.limits.memory_bytes = 0;
		b.plan.limits.processes = UINT32_MAX;
		status = plan_build_runner(in, &b, out, err);
	} else if (kind == PROGRAM_SCRIPT) {
		status = plan_build_script(in, &b, out, err);
	} else {
		status = plan_build_command(in, &b, err);
	}
	if (status == 0 && in->isolation->has_own_root)
		status = plan_view(in, &b, out, c, &record->view, err);
out:
	if (status < 0) {
		packer_free(&b.packer);
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

void plan_build_free(struct sandbox_plan *c)
{
	close_all(c->fds, &c->fd_count);
	close_all(c->request_fds, &c->request_fd_count);
	if (c->view_config >= 0)
		close(c->view_config);
	c->view_config = -1;
	if (c->runner_socket >= 0)
		close(c->runner_socket);
	c->runner_socket = -1;
	if (c->workspace[0]) {
		workspace_remove(c->workspace);
		c->workspace[0] = '\0';
	}
}
