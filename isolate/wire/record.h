/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of one execution, and how it is written.
 *
 * Everything that may have come from inside is held as bytes with a length; it becomes text only in
 * record_write().
 */
#ifndef CORDON_ISOLATE_WIRE_RECORD_H
#define CORDON_ISOLATE_WIRE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/export/workspace.h"
#include "isolate/base/json_write.h"
#include "isolate/options/options.h"

/* What enforces a limit: the word in the record. Static strings; NULL is written as "none". */
struct enforcers {
	const char *wall_time, *cpu_time, *memory, *processes, *file_size, *open_files,
		*output_size, *workspace_size;
};

struct confinement {
	uint32_t layers; /* enum layer bits that were applied */
	/* "mixed", "fuse", "bind", or "host" where files are not hidden */
	const char *view;
	const char *seccomp; /* profile name, "none" */
	const char *memory;  /* what holds the memory: "cgroup", "watchdog" */
	/* "none": a namespace of its own; "filtered": internet sockets refused; "host" */
	const char *network;
	struct enforcers limits;
	const struct string_list *permit;       /* borrowed from the options */
	const struct string_list *host_sockets; /* likewise */
	const char *notes[16];                  /* what this tier does not stop; static strings */
	unsigned note_count;
	/* there is a --scratch, which differs from a directory in what SCRATCH_DIFFERS says */
	bool scratch;
	/* the caller's own hard limit, when it was lower than what was asked for; else 0 */
	unsigned clamped_open_files;
};

/* What was refused most, and under which rule. */
#define VIEW_REFUSALS 10
struct view_refusal {
	char *path; /* on the host; owned */
	char rule[40];
	int rule_number;
	bool is_write; /* one of them would have changed it */
	uint64_t count;
	/* the option that would have let it through, in a shell's words, or NULL; owned */
	char *allow;
};

/* What the view saw. */
struct view_summary {
	bool present; /* there was a view server */
	uint64_t opened, denied, dropped;
	struct view_refusal refused[VIEW_REFUSALS];
	/* names were hidden below a --scratch of a Git work tree, where they look deleted */
	bool hid_in_repository;
	/* names of trees that were shown as binds, each NUL-terminated; owned */
	char *unlogged;
	size_t unlogged_length;
};

/*
 * What was refused how often: system calls by the filter, or, where events are wanted, addresses
 * outside.
 */
#define REFUSED_CALLS 8
#define REFUSED_NAME 80
struct refused_calls {
	bool watched;
	uint64_t total;
	struct refused_call_sum {
		char name[REFUSED_NAME];
		uint64_t count;
	} top[REFUSED_CALLS];
};

enum limit_name {
#define LIMIT_NAME(id, word, option, how) LIMIT_NAME_##id,
#include "isolate/options/limit_names.def"
#undef LIMIT_NAME
	LIMIT_NAMES
};

struct limit_text {
	const char *word, *option;
};

extern const struct limit_text limit_texts[LIMIT_NAMES];

/* What ended a program; words in the same order. */
enum end_cause {
	END_BY_ITSELF,
	END_BY_TIMEOUT,
	END_BY_MEMORY,
	END_BY_SIGNAL,
	END_BY_OPERATOR,
	END_BY_CLIENT,
	END_BY_CLIENT_GONE,
	END_BY_DAEMON_STOP,
	END_CAUSES
};
extern const char *const end_cause_words[END_CAUSES];

struct captured {
	struct buffer bytes;
	uint64_t dropped;
};

struct record {
	char execution_id[40];
	const char *tier; /* static */
	bool success;
	struct buffer output; /* JSON text that went through the gate, or empty */
	struct buffer error;  /* one line, or empty */
	struct buffer detail; /* JSON object text that went through the gate, or empty */
	/* of a success that is most likely not what was meant; static, or NULL */
	const char *note;
	bool refused; /* validation refused the program */
	struct captured out, err;
	int exit_code;  /* -1: none */
	int signal;     /* 0: none */
	int exec_errno; /* the command could not be executed: why; 0 otherwise */
	bool timed_out, oom;
	struct {
		bool is_hit;
		int64_t value;
	} limits[LIMIT_NAMES];
	/* of those that are asked for; the limits are timed_out and oom */
	enum end_cause end_cause;
	int64_t duration_us;
	int64_t timeout_us;
	uint64_t user_us, system_us, peak_memory_bytes, written_bytes;
	uint32_t peak_processes;
	uint64_t exported_files, export_skipped;
	struct workspace_written export_written;
	bool exported;             /* an export was asked for and begun */
	struct error export_error; /* why it is not complete; FAILURE_NONE when it is */
	struct view_summary view;
	struct refused_calls calls, hosts;
	struct {
		bool asked;    /* for a file or pipe of the caller's */
		uint64_t lost; /* did not reach their reader */
		int error;     /* errno of the write that failed, or 0 */
	} events;
	/* with --export: names that are new, changed or gone below --scratch */
	uint64_t scratch_changes;
	bool has_scratch;
	struct confinement confinement;
};

/*
 * Gives a record its execution id and empty fields. Returns 0, or -1 with RESOURCES_EXHAUSTED when
 * the host gives no randomness.
 */
int record_init(struct record *r, struct error *err);
void record_free(struct record *r);

/* Writes the record: one JSON object, one line, without the newline. See record.schema.json. */
void record_write(const struct record *r, struct buffer *out);

/* Writes the summary of a view as one JSON object. */
void record_write_view(const struct view_summary *v, struct json_writer *w);

/* Writes the confinement as one JSON object, as it is known so far. */
void record_write_confinement(const struct record *r, struct json_writer *w);

/* What would let a call through that the filter of this run refused, or NULL. Static string. */
const char *record_allows_call(const struct record *r, const char *call);

/* Writes what was used as one JSON object. */
void record_write_usage(const struct record *r, struct json_writer *w);

/* Writes how often each call was refused as one JSON object. */
void record_write_calls(const struct refused_calls *c, struct json_writer *w);

/*
 * The exit status of the command line for this record (design: the program's own, 128+n, 124, 126,
 * 127; for exec 0, 1, 2).
 */
int record_exit_status(const struct record *r, bool is_body);

#endif
