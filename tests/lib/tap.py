# SPDX-License-Identifier: Apache-2.0
"""A small TAP producer: one function is one test, and a leak check stands around each.

    from lib import tap
    @tap.test("an empty body is refused")
    def _():
        tap.equal(1, 2, "what is compared")
    tap.main()

A test fails by raising Failure (which the checks below do), by any other exception, by running past its deadline, or by leaving something behind. The plan
is printed first from the number of registered tests, so a program that dies half way cannot pass.
"""
import functools
import os
import re
import signal
import subprocess
import sys
import time
import traceback

from . import leaks

_tests = []

# Whoever runs the tests in the background (nohup, a shell's &) ignores signals, and so would every program that is tested.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


class Failure(Exception):
    """A check that did not hold."""


class Skip(Exception):
    """This test cannot say anything here; the text says why."""


class Deadline(BaseException):
    """The test ran too long. Not an Exception, so that no test swallows it."""


def test(name, deadline=30, leak_check=True):
    """Registers a function as a test. deadline in seconds."""
    def register(function):
        _tests.append((name, function, deadline, leak_check))
        return function
    return register


def cases(name, table, deadline=30):
    """Registers one test for each row of a table; {} and {1} of name take the row's columns."""
    def register(function):
        for row in table:
            _tests.append((name.format(*row), lambda row=row: function(*row), deadline, True))
        return function
    return register


def fail(what):
    raise Failure(what)


def skip(reason):
    raise Skip(reason)


def ok(condition, what):
    if not condition:
        raise Failure(what)


def equal(got, wanted, what):
    if got != wanted or type(got) is bool and type(wanted) is not bool:
        raise Failure("%s\n  got:    %r\n  wanted: %r" % (what, got, wanted))


def like(text, pattern, what):
    if not re.search(pattern, text or ""):
        raise Failure("%s\n  got:     %r\n  pattern: %s" % (what, text, pattern))


def unlike(text, pattern, what):
    match = re.search(pattern, text or "")
    if match:
        raise Failure("%s\n  found: %r in %r" % (what, match.group(0), text))


def between(value, low, high, what):
    if value is None or not low <= value <= high:
        raise Failure("%s\n  got: %r, wanted between %r and %r" % (what, value, low, high))


@functools.lru_cache(maxsize=None)
def slowness():
    """How many times longer than 4 ms this machine takes to start a program, at least 1.

    A processor that is not emulated needs 1 ms and is at 1, also when it is busy: the best of five
    counts. In emulation it is 10 to 40.
    """
    times = []
    for _ in range(5):
        started = time.monotonic()
        subprocess.run(["/bin/true"], stdin=subprocess.DEVNULL, check=True)
        times.append(time.monotonic() - started)
    return min(max(min(times) / 0.004, 1.0), 40.0)


def patience(seconds):
    """The time to wait here for what an ordinary machine does within so many seconds."""
    return None if seconds is None else seconds * slowness()


def eventually(condition, what, seconds=1.0):
    """Waits for a condition by asking again and again, at most so long; returns its value."""
    seconds = patience(seconds)
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure("%s (waited %.1f s)" % (what, seconds))
        time.sleep(0.005)


def diag(text):
    for line in str(text).splitlines():
        print("# " + line.encode("ascii", "backslashreplace").decode("ascii"))


def _on_alarm(_signal, _frame):
    raise Deadline()


def _call(function, deadline, leak_check):
    """Runs one test; returns (state, text)."""
    before = leaks.Snapshot() if leak_check else None
    state, text = "ok", ""
    signal.setitimer(signal.ITIMER_REAL, patience(deadline))
    try:
        function()
    except Skip as reason:
        state, text = "skip", str(reason)
    except Failure as failure:
        state, text = "not ok", str(failure)
    except Deadline:
        waited = "%g s" % deadline
        if slowness() > 1:
            waited += " times %.1f, for a slow machine" % slowness()
        state, text = "not ok", "not done after %s\n%s" % (waited, traceback.format_exc(limit=-3))
    except Exception:  # a broken test is a failed one
        state, text = "not ok", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if before is not None:
        left = before.what_is_left(patience(1.0))
        if left:
            leaks.clear(before)
            if state != "not ok":
                state = "not ok"
                text = ""
            text = (text + "\nleft behind after one second:\n" + "\n".join("  " + item for item in left)).strip()
    return state, text


def main():
    """Runs what was registered. Arguments are regular expressions that choose tests by name."""
    chosen = [t for t in _tests if not sys.argv[1:] or any(re.search(p, t[0]) for p in sys.argv[1:])]
    print("1..%d" % len(chosen))
    leaks.become_subreaper()
    signal.signal(signal.SIGALRM, _on_alarm)
    failed = 0
    for number, (name, function, deadline, leak_check) in enumerate(chosen, 1):
        state, text = _call(function, deadline, leak_check)
        title = re.sub(r"[#\x00-\x1f\x7f-\x9f]", "_", name)
        if state == "skip":
            print("ok %d - %s # SKIP %s" % (number, title, " ".join(text.split())))
        else:
            print("%s %d - %s" % (state, number, title))
            if state != "ok":
                failed += 1
                diag(text)
        sys.stdout.flush()
    leaks.remove_scratch()
    sys.stdout.flush()
    os._exit(1 if failed else 0)
