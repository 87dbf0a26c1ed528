/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether each stand-in (--mask) can stand in for something.
 *
 * One that would never be seen is a failure that says why, since whoever gives one relies on it: a path that lies in nothing that is shown, in no directory, is a directory itself, has another
 * stand-in already, or is named to be shown as it is.
 */
#ifndef CORDON_FS_VIEW_MASKED_H
#define CORDON_FS_VIEW_MASKED_H

#include "fs/view/view.h"
#include "isolate/base/error.h"

/* Judges the stand-ins of a view that has its trees and rules. 0, or -1 with BAD_OPTION. */
int masked_check(const struct view *v, struct error *err);

#endif
