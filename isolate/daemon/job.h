/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of the daemon: queued, run in a worker process, answered.
 *
 * A worker gets its request in a memory file, speaks of what happens over a socket, and leaves its
 * answer in another memory file, so that a record of any size costs the loop nothing until it is
 * sent. The first-come queue is bounded; so is what runs at a time.
 */
#ifndef CORDON_ISOLATE_DAEMON_JOB_H
#define CORDON_ISOLATE_DAEMON_JOB_H

#include <stdint.h>
#include <sys/types.h>

#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"
#include "isolate/daemon/daemon.h"
#include "isolate/daemon/protocol.h"
#include "isolate/monitor/emitter.h"
#include "isolate/wire/record.h"

enum job_state { JOB_WAITS, JOB_RUNS, JOB_PAUSED };

/* What a request asks to run, in a few words, for lists. */
struct job_program {
	char kind[24];  /* command, script, or the method */
	char name[160]; /* of the command, the script or the tool; "" for none */
	/*
	 * the command line, words separated by spaces, cut when it is long; "" where that is the
	 * name
	 */
	char command[400];
};

/* Reads the parameters of a request that passed the gate. */
void job_program_take(struct job_program *p, const char *method, struct json_slice params);

/* Writes it as members of an object, those that are not empty. */
void job_program_write(const struct job_program *p, struct json_writer *w);

/* Bytes on a worker's control channel beside the numbers of signals: isolate/tiers/tier.h. */
struct job {
	struct job *next, *previous;
	struct server *server;
	struct connection *owner; /* gets the answer; NULL: detached or gone */
	char request_id[PROTOCOL_ID_MAX];
	char id[EMITTER_SUBJECT_MAX];
	enum protocol_method method;
	enum job_state state;
	bool has_begun, has_ended; /* which events of it were seen */
	/* it only looks into or writes to a tool library: it waits for no execution */
	bool is_errand;
	enum end_cause end_cause; /* why it was asked to end */
	struct job_program program;
	bool is_queued;                      /* sandbox.queued was published */
	bool is_detached;                    /* has had no client from the start */
	int request, answer, channel, pidfd; /* -1: none */
	size_t request_length;
	int streams[3]; /* the client's, or -1 */
	pid_t pid;
	int64_t begun_us;
	struct event *on_channel, *on_exit, *on_patience;
	size_t length; /* of what has come of a line */
	char line[EMITTER_LINE_MAX];
};

/*
 * Takes a request for an execution, or for something to be done with tools. uid is the client's, by
 * the kernel's word. streams are three descriptors, -1 where there are none; they are the job's
 * from here on, in any case. Returns the job, which may be running when it does; or NULL, with a
 * refusal.
 */
struct job *job_new(struct server *s, struct connection *owner, unsigned uid,
	const struct protocol_request *request, int streams[3], struct protocol_refusal *refusal);

/* The execution of an id, or NULL. */
struct job *job_find(struct server *s, const char *id);

/*
 * Sends a byte to the supervisor: a signal, or CONTROL_PAUSE, CONTROL_RESUME. Returns false when
 * there is no room for it, or nothing runs yet.
 */
bool job_control(struct job *j, unsigned char byte);

/*
 * Ends an execution, for a reason that its last event says. One that waits is answered at once; the
 * supervisor of one that does not end in five seconds is killed.
 */
void job_end(struct job *j, enum end_cause cause);

/* The connection is gone: its executions end, and no answer is sent. */
void job_disown(struct server *s, const struct connection *owner);

/* What was asked for, as history_describe has it; the record is not there yet. */
void job_show(const struct job *j, struct buffer *out);

/* The listing of all as a JSON array. */
void job_list(const struct server *s, struct buffer *out);

#endif
