# SPDX-License-Identifier: Apache-2.0
"""What a test left behind: processes, namespaces, mounts, cgroups, descriptors, files.

The test program makes itself a subreaper, so whatever an execution leaves running, however deep and through whatever death of its parents, ends up below this
process and is found by walking /proc. That is exact even when other people use the machine. Namespaces are those of the processes that are left, and
those that a mount or a descriptor of ours keeps alive. After a test everything is asked for again until it is gone or a second has passed.
"""
import ctypes
import os
import shutil
import signal
import tempfile
import time

_PR_SET_CHILD_SUBREAPER = 36
NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")

# Every test runs in a scratch directory of its own, below this one; TMPDIR points there too.
_scratch_top = None


def become_subreaper():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _stat(pid):
    """(parent, state, start time) of a process, or None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0].decode(), int(fields[19])


def is_gone(pid):
    """Whether a process has ended, be it that its parent has yet to be told."""
    stat = _stat(pid)
    return stat is None or stat[1] in "ZX"


def descendants():
    """{pid: (start time, state)} of all below this process."""
    children, states = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = _stat(int(name))
            if stat:
                children.setdefault(stat[0], []).append(int(name))
                states[int(name)] = (stat[2], stat[1])
    found, queue = {}, [os.getpid()]
    while queue:
        for child in children.get(queue.pop(), []):
            found[child] = states[child]
            queue.append(child)
    return found


def describe(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            text = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        with open("/proc/%d/comm" % pid) as file:
            name = file.read().strip()
    except OSError:
        return "process %d" % pid
    return "process %d (%s) %s" % (pid, name, text[:120])


def _namespaces_of(pid):
    found = set()
    for name in NAMESPACES:
        try:
            found.add(os.readlink("/proc/%d/ns/%s" % (pid, name)))
        except OSError:
            pass
    return found


def _mounts():
    """Those that this run can have made: below its own scratch directory, or of a name or kind of cordon's. Others mount what they like meanwhile."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return {" ".join(line.split()[2:5]) for line in file if "cordon" in line or (_scratch_top and _scratch_top in line)}


def _has_processes(cgroup):
    try:
        with open(os.path.join(cgroup, "cgroup.events"), encoding="ascii") as file:
            return "populated 1" in file.read()
    except OSError:
        return False


def _cgroups():
    """Those that bear cordon's name and have no process: one that has is another test's, or its process is found."""
    found = set()
    for directory, names, _files in os.walk("/sys/fs/cgroup"):
        found.update(os.path.join(directory, name) for name in names if "cordon" in name)
    return {name for name in found if not _has_processes(name)}


def _descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink("/proc/self/fd/" + name)
        except OSError:
            pass
    return found


def _may_be_ours(name):
    """What lib/harness.t leaves on purpose bears the number of the program that is to report it."""
    if name.startswith("cordon-left-"):
        return name.endswith("-%d" % os.getpid())
    return name.startswith("cordon") and not name.startswith("cordon-test-")


def _files():
    """Names in the places where a program leaves temporary things. TMPDIR is always below our own scratch directory, so what others make elsewhere does not count."""
    found = set()
    top = _scratch_top
    places = [os.path.join(top, name) for name in os.listdir(top)] if top and os.path.isdir(top) else []
    for directory in places + ["/dev/shm", "/run/user/%d" % os.getuid()]:
        try:
            found.update(os.path.join(directory, name) for name in os.listdir(directory) if _may_be_ours(name))
        except OSError:
            pass
    return found


def scratch():
    """The scratch directory of the running test (removed after it)."""
    global _scratch_top
    if _scratch_top is None or not os.path.isdir(_scratch_top):
        _scratch_top = tempfile.mkdtemp(prefix="cordon-test-")
        os.chmod(_scratch_top, 0o755)
    directory = tempfile.mkdtemp(prefix="t", dir=_scratch_top)
    os.chmod(directory, 0o755)
    return directory


def remove_scratch():
    if _scratch_top:
        shutil.rmtree(_scratch_top, ignore_errors=True)


def reap():
    """Collects orphans that were handed to us and ended."""
    while True:
        try:
            pid, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


class Snapshot:
    """The state before a test."""

    def __init__(self):
        self.processes = set(descendants().items())
        self.mounts = _mounts()
        self.cgroups = _cgroups()
        self.descriptors = _descriptors()
        self.files = _files()

    def _look(self):
        left = []
        reap()
        known = {(pid, start) for pid, (start, _state) in self.processes}
        for pid, (start, state) in descendants().items():
            if (pid, start) in known:
                continue
            fresh = _namespaces_of(pid) - _namespaces_of(os.getpid())
            left.append(describe(pid) + " in state " + state + (", in " + " ".join(sorted(fresh)) if fresh else ""))
        left += ["mount " + entry for entry in sorted(_mounts() - self.mounts)]
        left += ["cgroup " + entry for entry in sorted(_cgroups() - self.cgroups)]
        left += ["file " + entry for entry in sorted(_files() - self.files)]
        for number, target in _descriptors().items():
            if self.descriptors.get(number) != target and not target.startswith("/proc/"):
                left.append("descriptor %d of the test itself: %s" % (number, target))
        return left

    def what_is_left(self, seconds):
        end = time.monotonic() + seconds
        while True:
            left = self._look()
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.01)


def clear(before):
    """Kills what a failed test left, so that the next one starts clean."""
    known = {pid for pid, _ in before.processes}
    for pid in descendants():
        if pid not in known:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
    end = time.monotonic() + 2
    while time.monotonic() < end and set(descendants()) - known:
        reap()
        time.sleep(0.01)
