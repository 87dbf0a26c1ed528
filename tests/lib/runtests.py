# SPDX-License-Identifier: Apache-2.0
"""Hands TAP programs to prove in the order given, then says what was skipped and why.

`make check` calls it with the lists of tests/Makefile.inc. They run side by side, half as many again as there are processors (CORDON_TEST_JOBS says
otherwise), and those behind --alone one by one after them. A name is looked for in the build directory first (compiled tests), then beside the sources. prove
closes with its own lines and its status is ours. A program that is in the list and not in the tree is an error, not a skip.
"""
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ["CORDON_SOURCE"]
BUILD = os.environ["CORDON_BUILD"]
RESULTS = os.path.join(BUILD, "tests", "results")


def find(name):
    for top in (BUILD, SOURCE):
        path = os.path.join(top, name)
        if os.path.isfile(path):
            return path
    sys.exit("tests: %s is in the list of tests but not in the tree" % name)


def stage_libexec():
    """One directory with cordon-init and the runner in it, as an installation has, for programs that are not beside them."""
    directory = os.path.join(RESULTS, "libexec")
    os.makedirs(directory, exist_ok=True)
    for name, built in (("cordon-init", "isolate/cordon-init"), ("cordon-view", "isolate/cordon-view"), ("cordon-operate", "isolate/cordon-operate"), ("_cordon.so", "isolate/.libs/_cordon.so")):
        link = os.path.join(directory, name)
        if not os.path.islink(link):
            os.symlink(os.path.join(BUILD, built), link)
    return directory


def skips():
    """(file, count, reason) of what was skipped, equal reasons together."""
    found = {}
    for name in sorted(os.listdir(RESULTS)):
        if not name.endswith(".tap"):
            continue
        with open(os.path.join(RESULTS, name), encoding="utf-8", errors="replace") as file:
            for line in file:
                match = re.match(r"(?:ok\b.*|1\.\.0\s*)#\s*skip\S*\s*(.*)", line, re.IGNORECASE)
                if match:
                    key = (name[:-4], match.group(1).strip() or "no reason given")
                    found[key] = found.get(key, 0) + 1
    return found


def main():
    try:
        shutil.rmtree(RESULTS, ignore_errors=True)
        os.makedirs(RESULTS)
    except OSError as problem:
        sys.exit("tests: %s cannot be made anew (%s): another user ran the tests in this tree before. Remove it as that user"
                 " (sudo rm -r %s), or build in a directory of your own" % (RESULTS, problem.strerror, RESULTS))
    environment = dict(os.environ, CORDON_RESULTS=RESULTS, CORDON_TEST_LIBEXECDIR=stage_libexec(),
                       PYTHONDONTWRITEBYTECODE="1", PERL_BADLANG="0")
    environment.setdefault("LC_ALL", "C.UTF-8")
    environment.setdefault("CORDON_RUNNER_DIR", os.path.join(BUILD, "isolate", ".libs"))
    environment.setdefault("CORDON_CASES", os.path.join(SOURCE, "tests", "cases"))
    environment.pop("CORDON_LIBEXECDIR", None)
    recorder = os.path.join(SOURCE, "tests", "lib", "record_tap.py")
    prove = [os.environ.get("PROVE", "prove"), "--nocolor", "--timer", "--exec", "%s -I %s" % (sys.executable, recorder)]
    # prove splits --exec at blanks, so it gets a link without any when the path has some.
    if " " in recorder or " " in sys.executable:
        sys.exit("tests: prove cannot run programs from a directory with blanks in its name: %s" % recorder)
    together, alone = sys.argv[1:], []
    if "--alone" in together:
        where = together.index("--alone")
        together, alone = together[:where], together[where + 1:]
    jobs = os.environ.get("CORDON_TEST_JOBS") or str(max(1, len(os.sched_getaffinity(0)) * 3 // 2))
    status = 0
    for names, count in ((together, jobs), (alone, "1")):
        if names:
            status |= subprocess.call(prove + ["--jobs", count] + [find(name) for name in names], env=environment, stdin=subprocess.DEVNULL)
    found = skips()
    if found:
        print("Skipped (%d):" % sum(found.values()))
        for (name, reason), count in found.items():
            print("  %s: %s%s" % (name, reason, " (%d tests)" % count if count > 1 else ""))
    sys.exit(status)


main()
