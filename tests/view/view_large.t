#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The FUSE view at size: a directory of 100,000 entries, 500 launches, 15 patterns over a large tree. Slow by nature: `make check-long`."""
# Field cases: U4 launches from inside the view · U13 large directories · M11 patterns over a large tree
import os
import subprocess
import threading

from lib import sandbox, tap
from lib.viewing import inside, nobody_waits, place, project, test


@test("a directory of 100,000 entries with hidden ones among them lists whole, after rewinds and seeks", deadline=120)
def _():
    top = place() + "/big"
    os.mkdir(top)
    for i in range(100000):
        os.close(os.open("%s/%06d%s" % (top, i, ".key" if i % 7 == 0 else ""), os.O_CREAT | os.O_WRONLY, 0o644))
    record = inside(top, r"""
import ctypes, os, time
started = time.time(); names = os.listdir('/p'); seconds = time.time() - started
print(len(names), len(set(names)), sum(n.endswith('.key') for n in names))
libc = ctypes.CDLL(None); libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p; libc.telldir.restype = ctypes.c_long
for f, a in ((libc.opendir, [ctypes.c_char_p]), (libc.readdir, [ctypes.c_void_p]), (libc.telldir, [ctypes.c_void_p]), (libc.seekdir, [ctypes.c_void_p, ctypes.c_long]), (libc.rewinddir, [ctypes.c_void_p])): f.argtypes = a
def name(e): return ctypes.string_at(e + 19)
d = libc.opendir(b'/p'); marks, seen = {}, []
for i in range(5000):
    marks[i] = libc.telldir(d); seen.append(name(libc.readdir(d)))
good = 0
for i in (4999, 17, 2500, 0, 4998, 1234):
    libc.seekdir(d, marks[i]); good += name(libc.readdir(d)) == seen[i]
libc.rewinddir(d); again = [name(libc.readdir(d)) for i in range(5000)]
print(good, again == seen)
print('seconds %.2f' % seconds if seconds > 4 else 'quick')
""", "--hide", "*.key", "--timeout", "60", deadline=90)
    tap.equal(record["stdout"], "85714 85714 0\n6 True\nquick\n", "the listing; %s" % record["stderr"])


@test("500 launches, eight at a time, with the working directory inside the view", deadline=240)
def _():
    top = project()
    left = list(range(500 if not sandbox.SANITIZED else 50))
    failures = []

    def work():
        while left:
            try:
                left.pop()
            except IndexError:
                return
            result = subprocess.run([sandbox.CORDON, "run", "--ro", top + ":/p", "--", "sh", "-c", "cd /p/src && sh -c 'cat ../README' && exec ls deep"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    timeout=tap.patience(60))
            if result.returncode or result.stdout != b"hello\ner\n":
                failures.append((result.returncode, result.stdout, result.stderr))
    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    tap.equal(failures[:3], [], "all succeeded")
    nobody_waits()


@test("many patterns over a large tree cost little", deadline=120)
def _():
    top = place() + "/wide"
    for d in range(100):
        os.makedirs("%s/%d" % (top, d))
        for i in range(200):
            os.close(os.open("%s/%d/f%d" % (top, d, i), os.O_CREAT | os.O_WRONLY, 0o644))
    source = "import os, time\ns = time.time()\nn = sum(len(f) for _, _, f in os.walk('/p'))\nprint(n, time.time() - s)"
    patterns = [x for i in range(15) for x in ("--hide", "**/never-%d-*.secret" % i)]
    plain, ruled = [], []
    for _ in range(3):
        plain.append(float(inside(top, source)["stdout"].split()[1]))
        ruled.append(float(inside(top, source, *patterns)["stdout"].split()[1]))
    tap.ok(min(ruled) < min(plain) * 1.5 + 0.05, "seconds without %r, with %r" % (plain, ruled))


tap.main()
