/* SPDX-License-Identifier: Apache-2.0 */
/* What a request asks to run, in a few words: for lists, and for those who see it wait. */
#ifndef CORDON_ISOLATE_DAEMON_JOB_PROGRAM_H
#define CORDON_ISOLATE_DAEMON_JOB_PROGRAM_H

#include "isolate/base/json_slice.h"
#include "isolate/base/json_write.h"

struct job_program {
	char kind[24];     /* command, script, or the method */
	char name[160];    /* of the command, the script or the tool; "" for none */
	char command[400]; /* the command line, words separated by spaces, cut when it is long; "" where that is the name */
};

/* Reads the parameters of a request that passed the gate. */
void job_program_take(struct job_program *p, const char *method, struct json_slice params);

/* Writes it as members of an object, those that are not empty. */
void job_program_write(const struct job_program *p, struct json_writer *w);

#endif
