# SPDX-License-Identifier: Apache-2.0
"""What the tests of the view share: skipping where there is no FUSE, a place that the program may read, a made-up project, runs with events."""
import os

from . import leaks, sandbox, tap


def fuse_obstacle():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as problem:
        return "/dev/fuse cannot be opened here: %s" % problem
    if os.getuid() == 0 and os.stat("/dev/fuse").st_mode & 0o666 != 0o666:
        return "/dev/fuse is for root alone here (chmod 666 /dev/fuse)"
    return None


KEY = "-----BEGIN PRIVATE KEY-----\n"

OBSTACLE = fuse_obstacle()


def test(name, **more):
    def register(function):
        def guarded():
            if OBSTACLE:
                tap.skip(OBSTACLE)
            function()
        tap.test(name, **more)(guarded)
    return register


def cases(name, table):
    def register(function):
        def guarded(*row):
            if OBSTACLE:
                tap.skip(OBSTACLE)
            function(*row)
        tap.cases(name, table)(guarded)
    return register


def write(path, text=b"x\n", mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)
    return path


def place():
    """A scratch directory that whoever the program is may read."""
    directory = leaks.scratch()
    os.chmod(directory, 0o755)
    return directory


def project():
    """A made-up project with everything that a view has to do with."""
    top = os.path.join(place(), "project")
    write(top + "/README", "hello\n")
    write(top + "/run.sh", "#!/bin/sh\necho ran\n", 0o755)
    write(top + "/src/main.py", "print('main')\n")
    write(top + "/src/deep/er/still/file.txt", b"deep\n" * 1000)
    write(top + "/.env", "SECRET=1\n")
    write(top + "/.ssh/id_rsa", "PRIVATE\n")
    write(top + "/keys/server.pem", KEY)
    write(top + "/keys/readme", "no key\n")
    os.link(top + "/.ssh/id_rsa", top + "/src/innocent")
    os.link(top + "/README", top + "/src/README.twin")
    os.symlink("../README", top + "/src/relative")
    os.symlink("/nowhere/at/all", top + "/src/dangling")
    os.symlink("loop", top + "/src/loop")
    os.symlink("../.env", top + "/src/to-secret")
    os.symlink(b"caf\xe9", os.fsencode(top) + b"/src/l\xefnk")
    open(os.fsencode(top) + b"/src/caf\xe9", "wb").write(b"latin\n")
    os.mkfifo(top + "/src/pipe")
    os.chmod(write(top + "/src/setuid", "x", 0o755), 0o4755)
    os.mkdir(top + "/empty")
    return top


def inside(top, source, *options, **more):
    """The record of a Python script with top shown at /p."""
    return sandbox.record_of(source, "--ro", top + ":/p", *options, **more)


def events_of(*arguments, **more):
    """(result, events) of a run with --events."""
    file = os.path.join(leaks.scratch(), "events.ndjson")
    result = sandbox.run("run", "--json", "--events", file, *arguments, **more)
    return result, [sandbox.strict_json(line) for line in open(file, encoding="utf-8").read().splitlines()]


def nobody_waits():
    for pid in leaks.descendants():
        try:
            text = open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        tap.ok(text != "D", "process %d is in state D" % pid)
