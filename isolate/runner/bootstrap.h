/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an interpreter becomes the fork server: what the supervisor passes to `python3 -IS -c`, and
 * the statuses with which that ends where the runner cannot start.
 *
 * The interpreter loads _cordon from one directory only, which leaves sys.path before anything else
 * is imported. In the tier subprocess that is a copy in the workspace, removed once it is loaded.
 */
#ifndef CORDON_ISOLATE_RUNNER_BOOTSTRAP_H
#define CORDON_ISOLATE_RUNNER_BOOTSTRAP_H

/* The text below has these numbers, and 3 for the socket (RUNNER_FD of init/program.c). */
enum { RUNNER_NOT_LOADED = 78, RUNNER_PYTHON_TOO_OLD = 79 };

/* Arguments: the directory of _cordon.so; the modules to preload; a third one removes the copy. */
static const char RUNNER_BOOTSTRAP[] =
	"import sys\n"
	"if sys.version_info < (3, 9):\n"
	"  sys.stderr.write('Python %d.%d is older than 3.9' % sys.version_info[:2])\n"
	"  sys.exit(79)\n"
	"sys.path.insert(0, sys.argv[1])\n"
	"try: import _cordon\n"
	"except ImportError as e: sys.stderr.write(str(e)); sys.exit(78)\n"
	"del sys.path[0]\n"
	"if sys.argv[3:]: import os; os.unlink(_cordon.__file__)\n"
	"_cordon.serve(3, sys.argv[2])\n";

#endif
