/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way this directory includes Python.
 *
 * Everything is written against the stable ABI of CPython 3.9, so that one shared object serves
 * every interpreter from 3.9 on. It must come before any system header, because pyconfig.h sets
 * feature macros.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_PYTHON_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_PYTHON_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A new reference to o (Py_NewRef came with 3.10). */
static inline PyObject *reference(PyObject *o)
{
	Py_INCREF(o);
	return o;
}

#endif
