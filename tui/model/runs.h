/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executions that the console knows of, made from events alone.
 *
 * Events are applied in the order in which they came. A run that was not seen from its start is
 * there with what is known of it. There is a bound on their number, and one on the output that is
 * kept of each and of all; those that ended longest ago go first. A view that remembers a run keeps
 * its id.
 */
#ifndef CORDON_TUI_MODEL_RUNS_H
#define CORDON_TUI_MODEL_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"
#include "tui/draw/lines.h"
#include "tui/model/series.h"

#define RUN_ID_MAX 64

enum run_state { RUN_WAITS, RUN_RUNS, RUN_PAUSED, RUN_ENDED, RUN_GONE };

struct run {
	struct run *next_in_bucket, *newer, *older;
	uint64_t number;     /* counts up; the order in which they became known */
	char id[RUN_ID_MAX]; /* visible */
	char command[400];   /* the command line; visible */
	char ended_by[16];   /* "": by itself, or not known */
	char name[160], program[24], tier[24], policy[72], error[400], failure[48]; /* visible */
	struct {
		char name[96], user[96];
		int64_t version;
	} tool; /* the tool that it is a call of; visible */
	enum run_state state;
	bool has_started, is_confined, success, timed_out, listed;
	int64_t started_ns, ended_ns, timeout_ms, memory_limit;
	int64_t elapsed_ms, cpu_ms, memory, memory_top, processes, workspace, duration_ms;
	int64_t exit_code, signal; /* -1: none */
	/* of one processor: since the last sample, or of the whole run when it has ended */
	double cpu_percent;
	uint64_t opened, denied; /* files; everything that was refused */
	uint64_t events;
	struct series cpu, use;
	struct buffer limits, confinement, files; /* JSON of the events, as it came */
	/* the answer to sandbox.show; empty until it was asked for */
	struct buffer shown;
	bool asked, asked_at_end; /* for it; and after the end */
	unsigned answers;         /* how many came */
	struct lines output;
	char rest[2][4]; /* per stream, of a character that was cut */
	size_t rest_length[2];
	int open_stream; /* the stream of the last line while that lacks its newline; -1: none */
};

struct runs;

struct runs *runs_new(void);
void runs_free(struct runs *r);

/* Applies one event. Returns the run that it was about, or NULL. */
struct run *runs_apply(struct runs *r, struct json_slice event);

/* Applies the answer to sandbox.list: what waits becomes known, and what is not in it has ended. */
void runs_apply_list(struct runs *r, struct json_slice list);

/* The run of an id, or NULL. */
struct run *runs_find(struct runs *r, const char *id);

size_t runs_count(const struct runs *r);
/* From the newest on. */
struct run *runs_newest(const struct runs *r);

/* The command line, or what else it is called. */
const char *run_label(const struct run *run);

/* What its processes have, or had at most when it has ended. */
int64_t run_memory(const struct run *run);

/*
 * The state in a word or two, as of now: "running", "exit 3", "timed out"; and why it is that, or
 * "".
 */
const char *run_state_text(const struct run *run, char text[32]);
const char *run_state_why(const struct run *run);
enum style run_style(const struct run *run);
bool run_is_live(const struct run *run);

/* Wall time until the limit in milliseconds, by the last sample; -1 when there is none. */
int64_t run_left_ms(const struct run *run);

/* What a run wrote, as lines. */

/* Appends the text of one output event to what is kept of a run. stream: 0 stdout, 1 stderr. */
void run_output_add(struct run *run, int stream, struct json_slice data);

#endif
