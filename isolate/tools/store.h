/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of one user's tools: SQLite, in WAL mode, at BASE/USER/tools.sqlite.
 *
 * Every change is one transaction that was begun for writing, and is answered after the commit,
 * which is on the disk by then (synchronous=FULL). So a process that is killed at any moment loses
 * nothing that it acknowledged, and several processes may have a library open at once. A file that
 * is damaged, is no library or comes from a newer cordon is refused, and is not written to.
 */
#ifndef CORDON_ISOLATE_TOOLS_STORE_H
#define CORDON_ISOLATE_TOOLS_STORE_H

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/tools/identity.h"

struct store {
	/* NULL: the library does not exist, which is the same as an empty one */
	sqlite3 *db;
	bool in_transaction;
	char user[IDENTITY_ROOM];
	char path[PATH_MAX];
};

/*
 * $XDG_DATA_HOME/cordon/users, or below $HOME/.local/share. Returns 0, or -1 with PATH_MISSING when
 * neither is set.
 */
int store_base(char *out, size_t size, struct error *err);

/*
 * What tells the libraries of one process from those of another: DEVICE:INODE of the directory, or
 * its path while it does not exist. Returns false where store_base fails.
 */
bool store_identity(char out[PATH_MAX]);

/*
 * Opens the library of a user (an id that was checked). create: make it where it is missing; else
 * s->db stays NULL then. Returns 0, or -1 with LIBRARY_BROKEN, LIBRARY_BUSY, PATH_MISSING or
 * RESOURCES_EXHAUSTED. steps: how many migrations, for tests; 0 is all.
 */
int store_open(struct store *s, const char *base, const char *user, bool create, unsigned steps,
	struct error *err);
void store_close(struct store *s);

/* One transaction that writes. store_close rolls back what was not committed. */
int store_begin(struct store *s, struct error *err);
int store_commit(struct store *s, struct error *err);

/*
 * A statement with its values: for each letter of kinds a value, t a text (const char *, NULL is
 * NULL; borrowed until the statement ends), i an int64_t, n an int64_t where INT64_MIN is NULL.
 * NULL with an error when it could not be made.
 */
sqlite3_stmt *store_query(
	struct store *s, struct error *err, const char *sql, const char *kinds, ...);

/* The next row: 1, or 0 after the last, or -1 with an error. */
int store_step(struct store *s, sqlite3_stmt *statement, struct error *err);

/* Runs a statement that has no rows. Returns 0 or -1. */
int store_run(struct store *s, struct error *err, const char *sql, const char *kinds, ...);

/* PRAGMA integrity_check. Returns 0, or -1 with LIBRARY_BROKEN. */
int store_check(struct store *s, struct error *err);

/*
 * Calls visit for each user that has a library below base, in order. Stops at the first that
 * returns non-zero, and returns that.
 */
int store_each_user(const char *base, int (*visit)(const char *user, void *context), void *context);

/* CLOCK_REALTIME in microseconds. */
int64_t store_now_us(void);

#endif
