/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ended execution means: exit code, signal, error line; or that it was cordon that failed.
 */
#ifndef CORDON_ISOLATE_SANDBOX_VERDICT_H
#define CORDON_ISOLATE_SANDBOX_VERDICT_H

#include "isolate/sandbox/cgroup.h"
#include "isolate/wire/init_report.h"
#include "isolate/wire/record.h"

struct verdict_facts {
	bool is_body;
	bool program_started; /* the program ran */
	bool ended;           /* and PID 1 reported its end */
	/* of the runner's fork server, -1 when it was not reported */
	int outer_status;
	const struct buffer *last_words; /* what the interpreter wrote before it served */
	const char *command;             /* what was to be executed, as the caller named it */
};

/* Takes status and sums of a REPORT_ENDED into the record. */
void verdict_usage(struct record *r, const struct report *ended);

/*
 * Takes over whether the cgroup ended it for memory; and what it counted, where PID 1 was killed
 * before it could report.
 */
void verdict_sums(struct record *r, const struct cgroup_sums *sums, bool pid1_reported);

/* Which limits were reached, and their values. For a record with status, sums and output. */
void verdict_limits(struct record *r, const struct options *options);

/*
 * Completes the record. Returns 0, or -1 with a failure when the program never ran for a reason of
 * ours.
 */
int verdict_reach(const struct verdict_facts *facts, struct record *r, struct error *err);

#endif
