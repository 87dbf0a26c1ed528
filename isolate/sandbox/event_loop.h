/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one execution, and the loop that carries it from launch to end. */
#ifndef CORDON_ISOLATE_SANDBOX_EVENT_LOOP_H
#define CORDON_ISOLATE_SANDBOX_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/sandbox/standard_streams.h"
#include "isolate/sandbox/cgroup.h"
#include "isolate/sandbox/plan_build.h"
#include "isolate/monitor/event_log.h"
#include "isolate/monitor/notifications.h"
#include "isolate/sandbox/launch.h"
#include "isolate/monitor/processes.h"
#include "isolate/sandbox/view_client.h"
#include "isolate/wire/execution_request.h"

#define START_US (60 * INT64_C(1000000)) /* how long a sandbox may take to start */

/* The states of an execution, and what moves it from one to another: the table in event_loop.c. */
enum state { STARTING, RUNNING, ENDING, KILLED, STATES };
enum loop_event {
	ON_STARTED,  /* PID 1, or the runner, says that the program runs */
	ON_DEADLINE, /* the timer of the state */
	ON_END,      /* a signal, a failure or a lost view ends it */
	ON_OVER,     /* the socket of a body's execution is closed: nothing of it is left */
	LOOP_EVENTS
};

enum source {
	FROM_CONTROL,
	FROM_INNER,
	FROM_OUT,
	FROM_ERR,
	TO_OUT,
	TO_ERR,
	FROM_SERVER,
	FROM_TIMER,
	FROM_PROCESS,
	FROM_CALLER,
	FROM_INPUT,
	TO_INPUT,
	FROM_VIEW,
	FROM_VIEW_CHECK,
	FROM_NOTIFY,
	FROM_PROCESSES,
	TO_EVENTS,
	SOURCES
};

struct execution {
	const struct options *options;
	const struct program *program;
	const struct streams *streams;
	struct record *record;
	struct error *err;
	const struct isolation *isolation;
	bool failed, gone, program_started, ended;
	enum state state;
	struct launch launch;
	struct sandbox_plan plan;
	struct cgroup cgroup;
	struct view_client view;
	struct event_log *log; /* NULL: no events are wanted */
	struct notify notify;
	struct processes processes;
	uid_t outside_uid; /* of the program on the host */
	gid_t outside_gid;
	bool watches_view;
	/*
	 * addresses outside with an event: at the last sample, and of those not yet in the kernel's
	 * count
	 */
	uint64_t hosts_emitted, hosts_owed;
	/* when the last had its event, as far as a sample shows */
	int64_t hosts_emitted_us;
	bool paused, asked_to_pause;
	int64_t paused_us;             /* since when */
	int view_check;                /* timer: was the view's server stopped? */
	int scratch[PLAN_SCRATCH_MAX]; /* what was written to each --scratch */
	size_t scratch_count;
	struct capture out, errors, server;
	struct stdin_relay input;   /* the caller's input, with --stdin or --tty */
	struct captured last_words; /* what the interpreter said before the runner was up */
	struct terminal terminal;
	int inner, timer, epoll, workspace, reply, interrupts;
	bool refused;                              /* PID 1 says that validation refused the body */
	uint64_t held_signals;                     /* bit n: signal n came before the program ran */
	int64_t launched_us, started_us, ended_us; /* when the supervisor learnt of it */
	uint64_t first_us, last_us;                /* when PID 1 says that it was */
	int outer_status;
};

/* Arms the execution's timer for a moment of that clock; 0 disarms it. */
void loop_set_timer(struct execution *x, int64_t at_us);

/* Watches a descriptor (-1: nothing to watch) for what can be read. 0 or -1 with errno. */
int loop_watch(struct execution *x, int fd, enum source source);

/* And no more. */
void loop_unwatch(struct execution *x, int fd);

/*
 * Reads the view's events from the first known process on: its start event precedes those of its
 * requests.
 */
void loop_watch_view(struct execution *x);

/* Takes the step that the table has for an event in the state at hand. */
void loop_step(struct execution *x, enum loop_event event);

/* Ends the sandbox because cordon itself failed. The first reason stays. */
void loop_fail(struct execution *x, const struct error *why);

/*
 * Asks PID 1 to stop everything below it, or to let it run. The clock stands still from when it
 * says that it did.
 */
void loop_ask_to_pause(struct execution *x, bool pause);

/* Microseconds since the program was started, without pauses. */
int64_t loop_elapsed_us(const struct execution *x);

/* Moves input on, and waits for whichever side it is held up by. */
void loop_relay_input(struct execution *x, bool source_is_ready);

/* Closes those of count descriptors that are not -1. */
void loop_close(int *fds, size_t count);

/*
 * Runs until nothing of the sandbox is left, or it is stuck in the kernel. x->failed and *x->err
 * say whether cordon failed. 0, or -1 with RESOURCES_EXHAUSTED.
 */
int loop_run(struct execution *x);

/*
 * Reads the reports that wait in a socket: of PID 1 of the sandbox, or (inner) of the execution
 * below the fork server. Returns false at the end of the stream. In reports.c.
 */
bool reports_read(struct execution *x, int socket, bool inner);

#endif
