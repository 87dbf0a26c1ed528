/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of an execution, by name.
 *
 * options.def is the one table: the command line, profiles (--profile), the library
 * (cordon_options_set), `--help`, the man page and the shell completion are all made from it. A
 * value is parsed and range-checked in one place, wherever it comes from.
 */
#ifndef CORDON_ISOLATE_OPTIONS_OPTIONS_H
#define CORDON_ISOLATE_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"

struct string_list {
	char **items; /* owned, and so is each string */
	size_t count;
};

struct bind {
	char *source; /* host path as given, absolute or relative to the caller's directory */
	char *target; /* absolute path inside, normalised: no "." or ".." or double slash */
	bool scratch; /* --scratch: what is written there goes to memory */
};

enum network_mode { NETWORK_NONE, NETWORK_ALLOW };
enum view_mode { VIEW_MIXED, VIEW_FUSE, VIEW_BIND };

/* Which commands an option belongs to (bits). */
enum command_set {
	FOR_RUN = 1,
	FOR_EXEC = 2,
	FOR_VALIDATE = 4,
	FOR_DOCTOR = 8,
	FOR_SERVE = 16,
	FOR_EVENTS = 32,
	FOR_CONSOLE = 64,
	/* `cordon tool ...`, a bit each */
	FOR_TOOL_SPAWN = 0x1000,
	FOR_TOOL_CALL = 0x2000,
	FOR_TOOL_LIST = 0x4000,
	FOR_TOOL_SHOW = 0x8000,
	FOR_TOOL_PENDING = 0x10000,
	FOR_TOOL_PROMOTE = 0x20000,
	FOR_TOOL_REJECT = 0x40000,
	FOR_TOOL_REVOKE = 0x80000,
	FOR_TOOL_FORGET = 0x100000,
	FOR_TOOL_HISTORY = 0x200000,
	FOR_TOOL_EXPORT = 0x400000,
	FOR_TOOL_IMPORT = 0x800000,
	FOR_TOOL_DECIDE = FOR_TOOL_PROMOTE | FOR_TOOL_REJECT | FOR_TOOL_REVOKE | FOR_TOOL_FORGET,
	FOR_TOOL = 0xfff000
};

struct options {
	char *tier;         /* "namespace" */
	int64_t timeout_us; /* 0 = none */
	int64_t memory_bytes;
	bool limit_address_space; /* RLIMIT_AS for a command too */
	int64_t pids, nofile;
	int64_t fsize_bytes, workspace_bytes, output_limit_bytes;
	enum network_mode network;
	struct bind *ro;
	size_t ro_count; /* --ro and --scratch, in the order given */
	enum view_mode view;
	struct string_list host_sockets; /* absolute paths of sockets */
	struct string_list hide;         /* patterns */
	struct string_list mask;         /* "FILE=CONTENT" */
	bool no_default_hide;
	char *events_file;              /* or NULL */
	struct string_list env;         /* "K=V" */
	struct string_list inherit_env; /* "K" */
	struct string_list copy_in;     /* host files */
	char *export_dir;               /* or NULL */
	bool overwrite;
	char *cwd;                 /* inside; or NULL: the caller's where it is shown */
	struct string_list allow;  /* imports that a body may use */
	struct string_list permit; /* names whose rule is lifted */
	struct string_list preload;
	/* path or name looked up on the caller's PATH; default "python3" */
	char *python;
	bool stdin_open; /* --stdin */
	bool tty;        /* --tty */
	/* --wait-all: the run ends with its last process, not with its first */
	bool wait_all;
	bool json;
	bool list_rules; /* validate */
	/* exec, validate: the text may be fenced or indented as a whole */
	bool dedent;
	bool watch;         /* on the console */
	bool plain, quiet;  /* the console without a screen; without a bell */
	char *theme, *size; /* of the console; or NULL */
	bool daemon;        /* through the daemon */
	char *socket_path;  /* of its control socket, or NULL: the default */
	char *audit_file;   /* or NULL: the default */
	int64_t audit_bytes, audit_keep, jobs, queue, connections; /* serve */
	bool follow;                                               /* events */
	int64_t since;                                             /* 0 = not given */
	char *type_glob, *subject;                                 /* or NULL */
	char *user, *session, *agent, *policy, *reason;            /* tool; or NULL */
	int64_t threshold;                                         /* 0 = not given */
	bool keep;
	/* what the program is; for commands these come as arguments */
	char *script_file, *code_text; /* run */
	/* exec: text, already read when it was @FILE, and through JSON_GATE_ARGUMENTS */
	char *args_json;
	char *return_expr; /* exec */
};

/*
 * Sets the defaults of one command (one bit); owns nothing before. Without memory the texts among
 * them stay NULL.
 */
void options_init(struct options *o, enum command_set command);
void options_free(struct options *o);

/*
 * Sets one option by its long name without dashes ("timeout"), from text. value is NULL for a flag.
 * Lists are appended to (allow, permit and preload split at commas). Returns 0, or -1 with
 * BAD_OPTION and a sentence that names option, value and range; or, for a file that the value names
 * (@FILE, a profile) and that cannot be read, with PATH_MISSING. On failure the option keeps its
 * value.
 */
int options_set(struct options *o, enum command_set command, const char *name, const char *value,
	struct error *err);

/*
 * Reads argv (argv[0] is the subcommand's name) with getopt_long(3), GNU style but stopping at the
 * first word that is no option ("+"). Returns the index of that word, or -1 with an error as
 * options_set gives it. *help is set when --help or -h was met, and nothing after it is read. For
 * the one thread of a command line: getopt keeps its place in globals.
 */
int options_parse(struct options *o, enum command_set command, int argc, char **argv, bool *help,
	struct error *err);

/*
 * Applies a profile's JSON text (see profile.schema.json). name is for messages. An option that
 * this command does not have is checked and left out, so that one profile can serve several
 * commands. Returns 0, or -1 with BAD_OPTION; the keys before the one at fault have then been
 * applied.
 */
int options_profile(struct options *o, enum command_set command, const char *name, const char *text,
	size_t length, struct error *err);

#endif
