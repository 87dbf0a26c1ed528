/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files into the workspace and out of it.
 *
 * Both directions work on descriptors: what goes in was opened by the caller, what comes out is
 * walked without recursion and without following a link, after everything that could still change
 * it has ended.
 */
#ifndef CORDON_FS_EXPORT_WORKSPACE_H
#define CORDON_FS_EXPORT_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"

/*
 * Copies the open file source into the new file name (one component) of the directory workspace. 0,
 * or -1 with BAD_INPUT or RESOURCES_EXHAUSTED.
 */
int workspace_copy_in(int workspace, const char *name, int source, mode_t mode, struct error *err);

struct workspace_totals {
	uint64_t files, directories, bytes;
	/* links, devices, sockets, fifos, and what was too deep or could not be opened */
	uint64_t skipped;
};

/* What was written, for the record. */
#define WORKSPACE_NAMES_MOST 1000u
/* of all of them as they are shown: a hostile one may be long */
#define WORKSPACE_NAMES_BYTES (256u << 10)

struct workspace_written {
	const char *below;    /* stands before each name */
	struct buffer names;  /* paths of files, visible, each with a newline behind it */
	uint64_t count, more; /* those, and the files beyond them */
};

struct workspace_caps {
	uint64_t files; /* files and directories */
	uint64_t bytes; /* sum of st_size: a sparse file counts in full */
	unsigned depth;
	/* what is there may be replaced, and what the host's tools run written */
	bool overwrite;
	struct workspace_written *written; /* or NULL */
};

/*
 * Opens a name in a directory for reading, never through a link, also where its mode forbids
 * reading: the owner, which the caller is, changes that. *st is as fstat(2) says, with the
 * permissions that it had before. For files that no process can change any more. A descriptor, or
 * -1 with errno.
 */
int workspace_open(int directory, const char *name, struct stat *st);

/* The same of the directory that a descriptor leads to: one to read it with, from its beginning. */
int workspace_open_again(int directory);

/* Whether the host's own tools run, or obey, what lies under this name; a name in any directory. */
bool workspace_is_run_by_tools(const char *name);

/*
 * Copies regular files and directories of workspace into the existing or new directory destination,
 * one level of it being made if missing. An existing file is an error, or with caps->overwrite
 * replaced, but never written through. Permission bits are kept without set-id ones and those of
 * the umask. What workspace_is_run_by_tools() is left out, which is an error at the end. Names at
 * its top that leaves_out() (or NULL) says so of are skipped. Returns 0, or -1 with EXPORT_FAILED;
 * *totals says what was done.
 */
int workspace_export(int workspace, const char *destination, const struct workspace_caps *caps,
	bool (*leaves_out)(const char *name), struct workspace_totals *totals, struct error *err);

/*
 * Removes everything below the directory and closes it, also what its maker locked. Iterative,
 * bounded by what is there. 0, or -1 when something stays.
 */
int workspace_empty(int directory);

/*
 * Removes the directory, too. For one in a directory that only the caller can change. 0, or -1 with
 * errno.
 */
int workspace_remove(const char *path);

#endif
