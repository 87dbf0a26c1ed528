/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store. See store.h.
 *
 * Before SQLite is let near a file its header is read: SQLite recovers and rewrites by itself, and
 * a file that is not ours, or newer than we are, has to stay as it is. The directories and the file
 * are made with modes that let nobody else in, and links are not followed at their end.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION 0x636f7264 /* "cord" */
#define BUSY_MS 10000
#define WAL_TRIES 400
#define HEADER_BYTES 100

static const char *const MIGRATIONS[] = {
#define MIGRATION(sql) sql,
#include "isolate/tools/migrations.def"
#undef MIGRATION
};
#define STEPS (sizeof MIGRATIONS / sizeof *MIGRATIONS)

int64_t store_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- errors ---- */

static int fail(struct store *s, int code, const char *what, struct error *err)
{
	static const struct {
		int code;
		enum failure failure;
	} MEANT[] = {
		{ SQLITE_CORRUPT, FAILURE_LIBRARY_BROKEN },
		{ SQLITE_NOTADB, FAILURE_LIBRARY_BROKEN },
		{ SQLITE_BUSY, FAILURE_LIBRARY_BUSY },
		{ SQLITE_LOCKED, FAILURE_LIBRARY_BUSY },
		{ SQLITE_FULL, FAILURE_LIBRARY_BUSY },
		{ SQLITE_IOERR, FAILURE_LIBRARY_BUSY },
		{ SQLITE_NOMEM, FAILURE_RESOURCES_EXHAUSTED },
		{ SQLITE_CANTOPEN, FAILURE_PATH_MISSING },
		{ SQLITE_READONLY, FAILURE_LIBRARY_UNWRITABLE },
		{ SQLITE_PERM, FAILURE_LIBRARY_UNWRITABLE },
		{ SQLITE_PROTOCOL, FAILURE_LIBRARY_BUSY },
	};
	enum failure failure = FAILURE_INTERNAL;

	for (size_t i = 0; i < sizeof MEANT / sizeof *MEANT; i++)
		if (MEANT[i].code == (code & 0xff))
			failure = MEANT[i].failure;
	return error_set(err, failure, 0, "%s in %.200s: %.120s", what, s->path,
		s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
}

/* ---- places ---- */

int store_base(char *out, size_t size, struct error *err)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	int length = -1;

	if (data && data[0] == '/')
		length = snprintf(out, size, "%s/cordon/users", data);
	else if (home && home[0] == '/')
		length = snprintf(out, size, "%s/.local/share/cordon/users", home);
	if (length > 0 && (size_t)length < size - 100)
		return 0;
	return error_set(err, FAILURE_PATH_MISSING, 0,
		"there is no place for tool libraries: set XDG_DATA_HOME or HOME");
}

bool store_identity(char out[PATH_MAX])
{
	struct error ignored = ERROR_INIT;
	struct stat st;

	if (store_base(out, PATH_MAX, &ignored) < 0)
		return false;
	if (stat(out, &st) == 0)
		snprintf(out, PATH_MAX, "%llu:%llu", (unsigned long long)st.st_dev,
			(unsigned long long)st.st_ino);
	return true;
}

/* An EROFS or EACCES below the home directory is mostly a unit's or a container's doing. */
static int unusable(int error, const char *what, const char *path, struct error *err)
{
	bool unwritable = error == EROFS || error == EACCES || error == EPERM;

	return error_set(err, unwritable ? FAILURE_LIBRARY_UNWRITABLE : FAILURE_PATH_MISSING, error,
		"%s %s, for tool libraries", what, path);
}

static int make_directories(const char *path, struct error *err)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		size_t length = slash ? (size_t)(slash - path) : strlen(path);

		memcpy(part, path, length);
		part[length] = '\0';
		if (mkdir(part, 0700) != 0 && errno != EEXIST)
			return unusable(errno, "making", part, err);
		if (!slash)
			return 0;
	}
}

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int read_header(const struct store *s, int fd, struct error *err)
{
	unsigned char header[HEADER_BYTES];
	ssize_t got = pread(fd, header, sizeof header, 0);

	if (got == 0)
		return 0;
	if (got != HEADER_BYTES || memcmp(header, "SQLite format 3", 16) != 0)
		return error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"%s is no tool library: it does not begin as a database does", s->path);
	if (big_endian(header + 68) != 0 && big_endian(header + 68) != APPLICATION)
		return error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"%s is a database of another program", s->path);
	if (big_endian(header + 60) > STEPS)
		return error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"%s has schema version %u, and this cordon knows %zu", s->path,
			big_endian(header + 60), STEPS);
	return 0;
}

/* Looks at the file, makes it where that is wanted. Returns 0, 1 when there is none, or -1. */
static int look(const struct store *s, bool create, struct error *err)
{
	int fd = open(s->path,
		    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK |
			    (create ? O_CREAT : 0),
		    0600),
	    status;
	struct stat st;

	if (fd < 0 && errno == ENOENT && !create)
		return 1;
	if (fd < 0)
		return unusable(errno, "opening", s->path, err);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		status =
			error_set(err, FAILURE_LIBRARY_BROKEN, 0, "%s is no regular file", s->path);
	else if (st.st_uid != geteuid() && geteuid() != 0)
		status = error_set(
			err, FAILURE_LIBRARY_BROKEN, 0, "%s belongs to somebody else", s->path);
	else if ((st.st_mode & 077) && fchmod(fd, 0600) != 0)
		status = error_set(
			err, FAILURE_PATH_MISSING, errno, "keeping others out of %s", s->path);
	else
		status = read_header(s, fd, err);
	close(fd);
	return status;
}

/* ---- opening ---- */

/* One number out of the database. */
static int read_number(struct store *s, const char *sql, int64_t *value, struct error *err)
{
	sqlite3_stmt *statement = store_query(s, err, sql, "");
	int status = statement ? store_step(s, statement, err) : -1;

	if (status > 0)
		*value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return status < 0 ? -1 : 0;
}

/*
 * Whether what is open is a library, of a schema that we know, or nothing yet. Only reads: in a
 * transaction, since another process may make the tables between one number and the next.
 */
static int check_ours(struct store *s, unsigned steps, int64_t *found, struct error *err)
{
	int64_t version = 0, application = 0, tables = 0;

	if (read_number(s, "PRAGMA user_version", &version, err) < 0 ||
		read_number(s, "PRAGMA application_id", &application, err) < 0 ||
		read_number(s, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
		return -1;
	*found = version;
	if (application != APPLICATION && (application != 0 || version != 0 || tables != 0))
		return error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"%s is a database of another program", s->path);
	if (version > (int64_t)steps)
		return error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"%s has schema version %lld, and this cordon knows %u", s->path,
			(long long)version, steps);
	return 0;
}

static int check_at_once(struct store *s, unsigned steps, struct error *err)
{
	int code = sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL), status;
	int64_t version;

	if (code != SQLITE_OK)
		return fail(s, code, "opening", err);
	status = check_ours(s, steps, &version, err);
	code = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	return status < 0 || code == SQLITE_OK ? status : fail(s, code, "opening", err);
}

static int migrate(struct store *s, unsigned steps, struct error *err)
{
	int64_t version = 0;

	if (read_number(s, "PRAGMA user_version", &version, err) < 0)
		return -1;
	if (version == (int64_t)steps)
		return 0;
	if (store_begin(s, err) < 0 || check_ours(s, steps, &version, err) < 0)
		return -1;
	for (; version < (int64_t)steps; version++)
		if (sqlite3_exec(s->db, MIGRATIONS[version], NULL, NULL, NULL) != SQLITE_OK)
			return fail(s, sqlite3_errcode(s->db), "making tables", err);
	{
		char sql[120];

		snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%u",
			APPLICATION, steps);
		if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
			return fail(s, sqlite3_errcode(s->db), "making tables", err);
	}
	return store_commit(s, err);
}

/* Turning WAL on needs the file for itself for a moment, and does not wait for it by itself. */
static int turn_on_wal(struct store *s, struct error *err)
{
	int code = SQLITE_BUSY;

	for (int i = 0; i < WAL_TRIES && (code & 0xff) == SQLITE_BUSY; i++) {
		if (i > 0)
			sqlite3_sleep(10);
		code = sqlite3_exec(s->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
	}
	if (code != SQLITE_OK)
		return fail(s, code, "opening", err);
	code = sqlite3_exec(s->db,
		"PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON",
		NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : fail(s, code, "opening", err);
}

int store_open(struct store *s, const char *base, const char *user, bool create, unsigned steps,
	struct error *err)
{
	int code, status;

	*s = (struct store){ .db = NULL };
	snprintf(s->user, sizeof s->user, "%s", user);
	if (snprintf(s->path, sizeof s->path, "%s/%s", base, user) >= (int)sizeof s->path - 20)
		return error_set(err, FAILURE_PATH_MISSING, ENAMETOOLONG,
			"the path of the tool library of %s", user);
	if (create && make_directories(s->path, err) < 0)
		return -1;
	strcat(s->path, "/tools.sqlite");
	status = look(s, create, err);
	if (status != 0)
		return status < 0 ? -1 : 0;
	/* What SQLite makes beside the file has the file's own mode. */
	code = sqlite3_open_v2(s->path, &s->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
	if (code == SQLITE_OK) {
		sqlite3_extended_result_codes(s->db, 1);
		sqlite3_busy_timeout(s->db, BUSY_MS);
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		status = check_at_once(s, steps ? steps : (unsigned)STEPS, err);
		if (status == 0)
			status = turn_on_wal(s, err);
		if (status == 0)
			status = migrate(s, steps ? steps : (unsigned)STEPS, err);
	} else {
		status = fail(s, code, "opening", err);
	}
	if (status < 0)
		store_close(s);
	return status;
}

void store_close(struct store *s)
{
	if (s->in_transaction)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->in_transaction = false;
	sqlite3_close_v2(s->db);
	s->db = NULL;
}

int store_begin(struct store *s, struct error *err)
{
	int code;

	assert(!s->in_transaction);
	code = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	s->in_transaction = code == SQLITE_OK;
	return code == SQLITE_OK ? 0 : fail(s, code, "beginning to write", err);
}

int store_commit(struct store *s, struct error *err)
{
	int code;

	assert(s->in_transaction);
	code = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return fail(s, code, "writing", err);
	s->in_transaction = false;
	return 0;
}

/* ---- statements ---- */

static sqlite3_stmt *prepare(
	struct store *s, struct error *err, const char *sql, const char *kinds, va_list args)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL);

	for (int i = 1; code == SQLITE_OK && *kinds; kinds++, i++) {
		if (*kinds == 't') {
			code = sqlite3_bind_text(
				statement, i, va_arg(args, const char *), -1, SQLITE_STATIC);
		} else {
			int64_t value = va_arg(args, int64_t);

			code = *kinds == 'n' && value == INT64_MIN
				? sqlite3_bind_null(statement, i)
				: sqlite3_bind_int64(statement, i, value);
		}
	}
	if (code == SQLITE_OK)
		return statement;
	fail(s, code, "preparing a statement", err);
	sqlite3_finalize(statement);
	return NULL;
}

sqlite3_stmt *store_query(
	struct store *s, struct error *err, const char *sql, const char *kinds, ...)
{
	sqlite3_stmt *statement;
	va_list args;

	va_start(args, kinds);
	statement = prepare(s, err, sql, kinds, args);
	va_end(args);
	return statement;
}

int store_step(struct store *s, sqlite3_stmt *statement, struct error *err)
{
	int code = sqlite3_step(statement);

	if (code == SQLITE_ROW || code == SQLITE_DONE)
		return code == SQLITE_ROW;
	return fail(s, code, "reading and writing", err);
}

int store_run(struct store *s, struct error *err, const char *sql, const char *kinds, ...)
{
	sqlite3_stmt *statement;
	va_list args;
	int status;

	va_start(args, kinds);
	statement = prepare(s, err, sql, kinds, args);
	va_end(args);
	status = statement ? store_step(s, statement, err) : -1;
	sqlite3_finalize(statement);
	return status < 0 ? -1 : 0;
}

int store_check(struct store *s, struct error *err)
{
	sqlite3_stmt *statement = store_query(s, err, "PRAGMA integrity_check(1)", "");
	int status = statement ? store_step(s, statement, err) : -1;
	const char *word = status > 0 ? (const char *)sqlite3_column_text(statement, 0) : NULL;

	if (status >= 0 && (!word || strcmp(word, "ok") != 0))
		status = error_set(err, FAILURE_LIBRARY_BROKEN, 0, "checking %.200s: %.120s",
			s->path, word ? word : "no answer");
	sqlite3_finalize(statement);
	return status < 0 ? -1 : 0;
}

int store_each_user(const char *base, int (*visit)(const char *user, void *context), void *context)
{
	struct dirent **entries = NULL;
	int count = scandir(base, &entries, NULL, alphasort), status = 0;
	struct error ignored = ERROR_INIT;

	for (int i = 0; i < count; i++) {
		if (status == 0 &&
			identity_check("the user", entries[i]->d_name, strlen(entries[i]->d_name),
				&ignored) == 0)
			status = visit(entries[i]->d_name, context);
		free(entries[i]);
	}
	free(entries);
	return status;
}
