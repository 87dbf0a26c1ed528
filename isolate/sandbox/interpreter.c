/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the interpreter. See python.h.
 *
 * Starting an interpreter only to learn where it lives would cost as much as the whole execution,
 * so for an ordinary one its layout is read from the file system: bin/python3 beside
 * lib/python3.N/os.py, pyvenv.cfg above bin. Only a shim, or a layout that is not recognised, is
 * run and asked. That happens as the caller and outside, which is no more than what the caller's
 * shell would do with the same word.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/interpreter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isolate/base/clock.h"
#include "isolate/base/text.h"

#define ANSWER_MS 10000
#define OLDEST_MINOR 9
#define MARK "cordon:" /* begins each line of the answer: a shim may chat */

static const char QUESTION[] = "import sys\n"
			       "print('cordon:%d.%d' % sys.version_info[:2])\n"
			       "print('cordon:' + sys.executable)\n"
			       "for p in sorted({sys.prefix, sys.base_prefix, sys.exec_prefix, "
			       "sys.base_exec_prefix}): print('cordon:' + p)\n";

extern char **environ;

/* Shown anyway: the system runtime. */
static bool in_runtime(const char *path)
{
	static const char *const ROOTS[] = { "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/" };

	for (size_t i = 0; i < sizeof ROOTS / sizeof *ROOTS; i++)
		if (strncmp(path, ROOTS[i], strlen(ROOTS[i])) == 0)
			return true;
	return strcmp(path, "/usr") == 0 || strcmp(path, "/") == 0;
}

static bool add_path(struct python *p, const char *path, bool is_link)
{
	for (size_t i = 0; i < p->tree_count; i++)
		if (strcmp(p->trees[i], path) == 0)
			return true;
	if (p->tree_count == PYTHON_MOST_TREES || strlen(path) >= PATH_MAX)
		return false;
	p->is_link[p->tree_count] = is_link;
	strcpy(p->trees[p->tree_count++], path);
	return true;
}

static bool add_tree(struct python *p, const char *path)
{
	struct stat st;

	return in_runtime(path) || stat(path, &st) != 0 || !S_ISDIR(st.st_mode) ||
		add_path(p, path, false);
}

/* An installation's own directories, not its prefix: that may be a home directory. */
static bool add_installation(struct python *p, const char *prefix)
{
	static const char *const PARTS[] = { "bin", "lib", "lib64" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
		int length = snprintf(path, sizeof path, "%s/%s", prefix, PARTS[i]);

		if (length < 0 || (size_t)length >= sizeof path || !add_tree(p, path))
			return false;
	}
	return true;
}

/* Cuts the last component off. Returns false when there is none to cut. */
static bool parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return false;
	if (slash == path)
		slash++;
	*slash = '\0';
	return true;
}

/* Whether prefix/lib (or lib64) holds a standard library: python3.N/os.py. */
static bool has_library(const char *prefix)
{
	static const char *const PLACES[] = { "lib", "lib64" };
	bool found = false;

	for (size_t i = 0; !found && i < 2; i++) {
		char path[PATH_MAX + 300];
		DIR *dir;
		struct dirent *entry;

		snprintf(path, sizeof path, "%s/%s", prefix, PLACES[i]);
		dir = opendir(path);
		while (dir && !found && (entry = readdir(dir))) {
			if (strncmp(entry->d_name, "python3.", 8) != 0)
				continue;
			snprintf(path, sizeof path, "%s/%s/%.200s/os.py", prefix, PLACES[i],
				entry->d_name);
			found = access(path, R_OK) == 0;
		}
		if (dir)
			closedir(dir);
	}
	return found;
}

static bool is_virtual_environment(const char *directory)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/pyvenv.cfg", directory);
	return access(path, R_OK) == 0;
}

/* The value of a key of an environment's pyvenv.cfg. Returns whether it has one. */
static bool environment_value(const char *environment, const char *key, char *value, size_t size)
{
	char path[PATH_MAX + 16], line[PATH_MAX + 64];
	size_t length = strlen(key);
	bool found = false;
	FILE *file;

	snprintf(path, sizeof path, "%s/pyvenv.cfg", environment);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof line, file)) {
		char *at = line + strspn(line, " \t");

		if (strncasecmp(at, key, length) != 0)
			continue;
		at += length + strspn(at + length, " \t");
		if (*at != '=')
			continue;
		at += 1 + strspn(at + 1, " \t");
		at[strcspn(at, "\r\n")] = '\0';
		found = strlen(at) < size;
		if (found)
			strcpy(value, at);
	}
	if (file)
		fclose(file);
	return found;
}

/* Takes out "/./", "//" and "x/.." by the letters alone. */
static void clean(char *path)
{
	char *to = path;

	for (char *at = path; *at;) {
		size_t length = strcspn(++at, "/");

		if (length == 2 && strncmp(at, "..", 2) == 0) {
			while (to > path && *--to != '/')
				;
		} else if (length > 0 && !(length == 1 && *at == '.')) {
			*to++ = '/';
			memmove(to, at, length);
			to += length;
		}
		at += length;
	}
	*to = '\0';
}

/*
 * One installation, by a name that leads to it. Homebrew's links its packages to each other through
 * the directory above its Cellar.
 */
static bool add_named_installation(struct python *p, const char *prefix)
{
	const char *cellar = strstr(prefix, "/Cellar/");
	char above[PATH_MAX];

	if (!has_library(prefix))
		return true;
	if (cellar && cellar > prefix) {
		snprintf(above, sizeof above, "%.*s", (int)(cellar - prefix), prefix);
		return add_tree(p, above);
	}
	return add_installation(p, prefix);
}

/*
 * Every installation that the program's path names, link by link: an interpreter looks for its
 * library beside the names by which it was found, so those must be there inside, too. A tree is
 * bound under the name that the link gives it; a link that lies in none is made again.
 */
static bool add_installations(struct python *p, const char *program)
{
	char at[PATH_MAX], prefix[PATH_MAX], target[PATH_MAX];

	snprintf(at, sizeof at, "%s", program);
	for (int links = 0; links < 40; links++) {
		size_t directory;
		ssize_t length;

		strcpy(prefix, at);
		if (!parent(prefix) || !parent(prefix) || !add_named_installation(p, prefix))
			return false;
		length = readlink(at, target, sizeof target - 1);
		if (length <= 0)
			break;
		if (!in_runtime(at) && !has_library(prefix) && !is_virtual_environment(prefix) &&
			!add_path(p, at, true))
			return false;
		target[length] = '\0';
		directory = target[0] == '/' ? 0 : (size_t)(strrchr(at, '/') - at) + 1;
		if (directory + (size_t)length >= sizeof at)
			return false;
		strcpy(at + directory, target);
		clean(at);
	}
	if (!realpath(program, at) || !parent(at) || !parent(at))
		return false;
	return add_named_installation(p, at);
}

/*
 * A virtual environment and what it was made from. Returns false when its pyvenv.cfg does not lead
 * to an installation.
 */
static bool add_environment(struct python *p, const char *environment)
{
	char home[PATH_MAX - 16], program[PATH_MAX];

	if (!environment_value(environment, "home", home, sizeof home) || home[0] != '/')
		return false;
	clean(home);
	snprintf(program, sizeof program, "%s/python3", home);
	return access(program, X_OK) == 0 && add_installations(p, program) &&
		add_installations(p, p->path) && add_tree(p, environment);
}

static int find_on_path(const char *name, char *path, struct error *err)
{
	const char *list = getenv("PATH");
	char directory[PATH_MAX];

	if (!list || !*list)
		list = "/usr/local/bin:/usr/bin:/bin";
	for (const char *at = list; *at; at += strcspn(at, ":"), at += *at == ':') {
		size_t length = strcspn(at, ":");
		struct stat st;

		if (length == 0 || at[0] != '/' || length + strlen(name) + 2 > PATH_MAX)
			/* a relative entry would mean another program in each directory */
			continue;
		memcpy(directory, at, length);
		directory[length] = '\0';
		snprintf(path, PATH_MAX, "%.*s/%s", (int)length, directory, name);
		if (access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return 0;
	}
	return error_set(err, FAILURE_INTERPRETER_MISSING, 0,
		"%s is in no directory of PATH (%.300s)", name, list);
}

/* Whether the file begins with "#!". */
static int is_script(const char *path, struct error *err)
{
	char start[2] = { 0, 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), result;

	if (fd < 0)
		return error_set(err, FAILURE_INTERPRETER_MISSING, errno,
			"opening the interpreter %s", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || access(path, X_OK) != 0)
		result = error_set(err, FAILURE_INTERPRETER_MISSING, 0,
			"the interpreter %s is not an executable file", path);
	else
		result = read(fd, start, 2) == 2 && start[0] == '#' && start[1] == '!';
	close(fd);
	return result;
}

/* Returns the length, or -1 when it took too long or was too much. */
static ssize_t read_answer(int fd, char *text, size_t size)
{
	int64_t deadline = clock_now_us() / 1000 + ANSWER_MS;
	size_t length = 0;

	while (length < size - 1) {
		struct pollfd ready = { fd, POLLIN, 0 };
		int64_t left = deadline - clock_now_us() / 1000;
		ssize_t got;

		if (left <= 0 || poll(&ready, 1, (int)left) <= 0)
			return -1;
		got = read(fd, text + length, size - 1 - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	text[length] = '\0';
	return length == size - 1 ? -1 : (ssize_t)length;
}

/* Runs it with a question about itself. Returns the length of its answer, or -1. */
static ssize_t ask(const char *path, char *text, size_t size, struct error *err)
{
	char *const argv[] = { (char *)path, (char *)"-I", (char *)"-S", (char *)"-c",
		(char *)QUESTION, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	struct buffer said = BUFFER_INIT;
	ssize_t length = -1;
	int ends[2], code, status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"asking the interpreter %s about itself", path);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2); /* a shim that fails says why */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	code = posix_spawn(&pid, path, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (code == 0) {
		length = read_answer(ends[0], text, size);
		if (length < 0)
			kill(-pid, SIGKILL); /* a shim's children, too */
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	/*
	 * Where the caller ignores SIGCHLD there is no status, and the answer has to speak for
	 * itself.
	 */
	if (code == 0 && length > 0 && strstr(text, MARK))
		return length;
	text_visible(&said, text, length > 0 ? strnlen(text, 300) : 0, TEXT_ONE_LINE);
	length = error_set(err, FAILURE_INTERPRETER_MISSING, code,
		"%s did not say where its Python is: %s", path,
		said.length          ? said.data
			: length < 0 ? "it took too long, or said too much"
				     : "it said nothing");
	buffer_free(&said);
	return length;
}

static int too_old(const char *path, int major, int minor, struct error *err)
{
	if (major == 3 && minor >= OLDEST_MINOR)
		return 0;
	return error_set(err, FAILURE_INTERPRETER_MISSING, 0,
		"%s is Python %d.%d, and 3.%d is the oldest that will do", path, major, minor,
		OLDEST_MINOR);
}

static int learn_by_asking(struct python *p, struct error *err)
{
	char text[8192], real[PATH_MAX], asked[PATH_MAX];
	int line = 0, major = 0, minor = 0;

	strcpy(asked, p->path);
	if (ask(p->path, text, sizeof text, err) < 0)
		return -1;
	for (char *at = strstr(text, MARK); at; at = strstr(at, MARK), line++) {
		size_t length = strcspn(at += strlen(MARK), "\n");
		char *value = at;

		at += length + (at[length] != '\0');
		value[length] = '\0';
		if (line == 0 &&
			(sscanf(value, "%d.%d", &major, &minor) != 2 ||
				too_old(asked, major, minor, err) < 0))
			return -1;
		if (line == 0)
			continue;
		if (value[0] != '/' || length >= PATH_MAX)
			return error_set(err, FAILURE_INTERPRETER_MISSING, 0,
				"%s gave no usable path for its Python", asked);
		if (line == 1)
			strcpy(p->path, value);
		else if (!(is_virtual_environment(value) ? add_tree(p, value)
							 : add_installation(p, value)))
			return error_set(err, FAILURE_INTERPRETER_MISSING, 0,
				"%s needs too many directories", asked);
	}
	if (line < 2 || access(p->path, X_OK) != 0 || !realpath(p->path, real))
		return error_set(err, FAILURE_INTERPRETER_MISSING, errno,
			"%s names an interpreter that is not there", asked);
	if (!in_runtime(real) && parent(real))
		add_tree(p, real);
	strcpy(real, p->path);
	if (parent(real) && parent(real) && is_virtual_environment(real))
		add_environment(p, real);
	return 0;
}

/*
 * The version in the name of the real file, python3.11: every installation has one. Anything else
 * is asked.
 */
static bool version_of_name(const char *real, int *minor)
{
	const char *name = strrchr(real, '/');
	int end = 0;

	return name && sscanf(name, "/python3.%d%n", minor, &end) == 1 && name[end] == '\0';
}

/*
 * The minor version of an environment: "version = 3.11.2", or "version_info = ..." where uv or
 * virtualenv made it.
 */
static bool version_of_environment(const char *environment, int *minor)
{
	char text[64];

	return (environment_value(environment, "version", text, sizeof text) ||
		       environment_value(environment, "version_info", text, sizeof text)) &&
		sscanf(text, "3.%d", minor) == 1;
}

/*
 * From the file system alone. Returns 1, 0 when the layout is not a known one, or -1 for one that
 * is too old.
 */
static int learn_from_layout(struct python *p, struct error *err)
{
	char real[PATH_MAX], prefix[PATH_MAX], above[PATH_MAX];
	bool environment, named;
	int minor;

	strcpy(above, p->path);
	if (!realpath(p->path, real) || !parent(above) || !parent(above))
		return 0;
	environment = is_virtual_environment(above);
	named = version_of_name(real, &minor);
	if (!named && !(environment && version_of_environment(above, &minor)))
		return 0;
	if (too_old(p->path, 3, minor, err) < 0)
		return -1;
	if (environment)
		return add_environment(p, above);
	strcpy(prefix, real);
	if (!in_runtime(real) &&
		(!parent(prefix) || !parent(prefix) || !has_library(prefix) ||
			!add_installations(p, real)))
		return 0;
	strcpy(p->path, real); /* no environment: the links that led here mean nothing */
	return 1;
}

int python_find(const char *name, struct python *out, struct error *err)
{
	char directory[PATH_MAX];
	int script, known;

	memset(out, 0, sizeof *out);
	if (!*name || strlen(name) >= PATH_MAX / 2)
		return error_set(err, FAILURE_INTERPRETER_MISSING, 0,
			"the name of the interpreter is empty or too long");
	if (!strchr(name, '/')) {
		if (find_on_path(name, out->path, err) < 0)
			return -1;
	} else if (name[0] == '/') {
		strcpy(out->path, name);
	} else if (!getcwd(directory, sizeof directory) ||
		strlen(directory) + strlen(name) + 2 > PATH_MAX) {
		return error_set(err, FAILURE_INTERPRETER_MISSING, errno,
			"the interpreter %s is relative to a directory that is not there", name);
	} else {
		strcat(strcat(strcpy(out->path, directory), "/"), name); /* it fits: see above */
	}
	script = is_script(out->path, err);
	if (script < 0)
		return -1;
	known = script ? 0 : learn_from_layout(out, err);
	if (known == 0)
		out->tree_count = 0;
	if (known < 0)
		return -1;
	return known ? 0 : learn_by_asking(out, err);
}
