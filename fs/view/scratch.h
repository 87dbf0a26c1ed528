/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program changed below a directory that it could write to.
 *
 * The directory that received the writes is an overlay's upper layer: what is in it is new or
 * changed, a device 0:0 stands for a name that was removed, and an attribute marks a directory that
 * replaced another. It is compared with the host's directory, which was only ever read.
 */
#ifndef CORDON_FS_VIEW_SCRATCH_H
#define CORDON_FS_VIEW_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/view/view_policy.h"
#include "fs/export/workspace.h"
#include "isolate/base/error.h"

/* and a number: what the directory of a layer is called below that of the export */
#define SCRATCH_LAYER "scratch-"

/*
 * Of what the layer lies above: its path on the host, without links, and the rules by which it was
 * shown, for stand-ins (NULL: none).
 */
struct scratch_below {
	const char *path;
	const struct policy *policy;
};

/*
 * Whether a layer can be kept in memory: on an overlay without a marker (an attribute) for a
 * directory that replaced another, `rm -r` and `mv` of a directory fail with EIO after its contents
 * have gone. Tries it on file, an open one on a tmpfs; -1: on one of its own. 0, or -1 with
 * MOUNT_DENIED.
 */
int scratch_check(int file, struct error *err);

/* Whether a name is one that a layer may have. */
bool scratch_is_layer(const char *name);

/*
 * Makes the directory destination, which must be new, and writes to it the file changes.txt, a line
 * for each change: "A" new, "M" changed, "D" removed, "R" a directory put in place of another, of
 * which nothing is left but what is listed in it; then the path below the directory, with what is
 * not printable made visible and a slash after a directory ("./" is the directory itself); then,
 * each behind a tab, "(not printable)" where that was done, and "-> TARGET" for a link, "(pipe)",
 * "(socket)" or "(device)" for what is none and no file, and "(permissions 0755)" where those are
 * others. The directory files holds the new and changed regular files, and nothing else: what is
 * not changed is removed from the layer. Of more changes than caps->files, or than 16 MiB of paths,
 * the first are listed, and nothing is copied. upper is the layer's descriptor, host the O_PATH
 * descriptor of the host's directory. Returns 0, or -1 with EXPORT_FAILED; *changes and *totals say
 * in both cases what was written.
 */
int scratch_export(int upper, int host, const struct scratch_below *below, const char *destination,
	const struct workspace_caps *caps, uint64_t *changes, struct workspace_totals *totals,
	struct error *err);

#endif
