/* SPDX-License-Identifier: Apache-2.0 */
/* What a run wrote, as lines. */
#ifndef CORDON_TUI_MODEL_RUN_OUTPUT_H
#define CORDON_TUI_MODEL_RUN_OUTPUT_H

#include "tui/model/runs.h"

/* Appends the text of one output event to what is kept of a run. stream: 0 stdout, 1 stderr. */
void run_output_add(struct run *run, int stream, struct json_slice data);

#endif
