/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program changed below a directory that it could write to.
 *
 * The directory that received the writes is an overlay's upper layer: what is in it is new or changed, a device 0:0 stands for a name that was removed, and an attribute
 * marks a directory that replaced another. It is compared with the host's directory, which was only ever read.
 */
#ifndef CORDON_FS_SCRATCH_H
#define CORDON_FS_SCRATCH_H

#include <stdint.h>

#include "fs/workspace.h"
#include "isolate/error.h"

/*
 * Writes to destination (made if missing) the file changes.txt, a line for each change ("A" new, "M" changed, "D" removed, "R" a directory put in place of another; then
 * the path below the directory, with what is not printable made visible, then " -> TARGET" for a link and " (pipe)", " (socket)" or " (device)" for what is none and no
 * file), and the directory files with the new and changed regular files. upper is the layer's descriptor, host the O_PATH descriptor of the host's directory. Returns 0,
 * or -1 with EXPORT_FAILED; *changes and *totals say in both cases what was written.
 */
int scratch_export(int upper, int host, const char *destination, const struct workspace_caps *caps, uint64_t *changes,
		   struct workspace_totals *totals, struct error *err);

#endif
