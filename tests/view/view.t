#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The FUSE view as a program meets it: what it shows, what is absent, what every write gets, what is told, and what happens when its server goes."""
# Field cases: U1 mounted without a helper · U3 the server waits for nobody · U4 launches from inside the view · U5 a view below a view · U7 each open is told · U8 who asked · U9 U13 what it costs (and
# tests/bench) · U11 modes of what is made · U12 links, removed files, names of one's own file · U15 a file system that stops answering · U16 the host's tools
# M8 links · M9 the host as before · M12 a hidden name made later · N3 host sockets; M5 M7 M19 M20 in mounts.t and view_told.t
import base64
import ctypes
import errno
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

from lib import leaks, sandbox, tap
from lib.viewing import KEY, cases, events_of, inside, nobody_waits, place, project, test, write

PYTHON = sandbox.PYTHON


WALK = r"""
import hashlib, json, os, stat, sys
top = os.fsencode(sys.argv[1]); found = {}
def visit(path):
    st = os.lstat(path)
    entry = [stat.S_IFMT(st.st_mode), st.st_mode & 0o7777, st.st_size if not stat.S_ISDIR(st.st_mode) else 0, st.st_mtime_ns, st.st_nlink if not stat.S_ISDIR(st.st_mode) else 0]
    if stat.S_ISLNK(st.st_mode):
        entry.append(os.readlink(path).decode('latin-1'))
    elif stat.S_ISREG(st.st_mode):
        try:
            entry.append(hashlib.sha256(open(path, 'rb').read()).hexdigest())
        except OSError as e:
            entry.append(e.errno)
    elif stat.S_ISDIR(st.st_mode):
        try:
            names = os.listdir(path)
        except OSError as e:
            names = []
        for name in names:
            visit(path + b'/' + name)
    found[path[len(top):].decode('latin-1')] = entry
visit(top)
json.dump(found, open(sys.argv[2], 'w'))
"""


def walk_host(top):
    target = os.path.join(leaks.scratch(), "walk.json")
    subprocess.run([PYTHON, "-c", WALK, top, target], check=True)
    return json.load(open(target))


def walk_view(top, *options):
    out = leaks.scratch()
    os.chmod(out, 0o777)
    sandbox.run("run", "--json", "--ro", top + ":/t", "--export", out, "--fsize", "64", "--memory", "1024", *options, "--", PYTHON, "-c", WALK, "/t", "/workspace/walk.json",
                deadline=60).expect(0)
    return json.load(open(os.path.join(out, "walk.json")))


def compare(host, view, hidden):
    for path, entry in host.items():
        if hidden(path):
            tap.ok(path not in view, "%r is absent" % path)
        else:
            tap.equal(view.get(path), entry, "%r is the same inside" % path)
    tap.ok(not set(view) - set(host), "nothing was made up: %r" % sorted(set(view) - set(host))[:5])


@test("a differential walk over the Python library: equal, and what is hidden is absent", deadline=120)
def _():
    top = next(p for p in ("/usr/lib/python3.11", "/usr/lib/python3.12", "/usr/lib/python3.13", "/usr/lib/python3", os.path.dirname(os.__file__)) if os.path.isdir(p))
    compare(walk_host(top), walk_view(top, "--no-default-hide", "--hide", "test_*.py", "--hide", top + "/json"),
            lambda p: p.startswith("/json/") or p == "/json" or any(n.startswith("test_") and n.endswith(".py") for n in p.split("/")))


@test("a differential walk over a made-up project")
def _():
    top = project()
    secrets = ("/.env", "/.ssh", "/.ssh/id_rsa", "/keys/server.pem", "/src/innocent")
    compare(walk_host(top), walk_view(top), lambda p: p in secrets)


MATRIX = r"""
import ctypes, errno, json, os, sys
os.chdir('/p'); results = {}
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, call):
    try:
        call(); results[name] = 'ok'
    except OSError as e:
        results[name] = errno.errorcode.get(e.errno, str(e.errno))
def raw(function, *args):
    def call():
        if function(*args) == -1:
            raise OSError(ctypes.get_errno(), '')
    return call
long_name, long_path = 'n' * 256, '/'.join(['d'] * 2100)
for target in ('README', 'src/deep/er/still/file.txt', 'src/relative', 'empty'):
    flags = (('wronly', os.O_WRONLY), ('rdwr', os.O_RDWR), ('append', os.O_WRONLY | os.O_APPEND), ('trunc', os.O_WRONLY | os.O_TRUNC), ('creat', os.O_WRONLY | os.O_CREAT))
    for word, flag in flags:
        attempt('open %s %s' % (word, target), lambda: os.close(os.open(target, flag)))
attempt('open rdonly-trunc README', lambda: os.close(os.open('README', os.O_RDONLY | os.O_TRUNC)))
attempt('open rdonly README', lambda: os.close(os.open('README', os.O_RDONLY)))
attempt('open directory README', lambda: os.close(os.open('README', os.O_DIRECTORY)))
attempt('open creat-excl README', lambda: os.close(os.open('README', os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
attempt('open creat new', lambda: os.close(os.open('new', os.O_CREAT | os.O_WRONLY)))
attempt('open creat-excl new', lambda: os.close(os.open('new', os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
attempt('open creat empty/new', lambda: os.close(os.open('empty/new', os.O_CREAT | os.O_RDWR)))
attempt('open creat missing/new', lambda: os.close(os.open('missing/new', os.O_CREAT | os.O_WRONLY)))
attempt('open nofollow src/relative', lambda: os.close(os.open('src/relative', os.O_NOFOLLOW)))
attempt('open missing', lambda: os.close(os.open('missing', os.O_RDONLY)))
attempt('open wronly missing', lambda: os.close(os.open('missing', os.O_WRONLY)))
attempt('open README/x', lambda: os.close(os.open('README/x', os.O_RDONLY)))
attempt('open README/', lambda: os.close(os.open('README/', os.O_RDONLY)))
attempt('open README/..', lambda: os.close(os.open('README/..', os.O_RDONLY)))
attempt('open loop', lambda: os.close(os.open('src/loop', os.O_RDONLY)))
attempt('open dangling', lambda: os.close(os.open('src/dangling', os.O_RDONLY)))
attempt('open hidden', lambda: os.close(os.open('.env', os.O_RDONLY)))
attempt('open wronly hidden', lambda: os.close(os.open('.env', os.O_WRONLY)))
attempt('open hidden by link', lambda: os.close(os.open('src/to-secret', os.O_RDONLY)))
attempt('open hidden twin', lambda: os.close(os.open('src/innocent', os.O_RDONLY)))
attempt('open below hidden', lambda: os.close(os.open('.ssh/id_rsa', os.O_RDONLY)))
attempt('open long name', lambda: os.close(os.open(long_name, os.O_RDONLY)))
attempt('open creat long name', lambda: os.close(os.open(long_name, os.O_CREAT | os.O_WRONLY)))
attempt('open long path', lambda: os.close(os.open(long_path, os.O_RDONLY)))
attempt('open device', lambda: os.close(os.open('src/pipe', os.O_RDONLY | os.O_NONBLOCK)))
for word, path in (('new', 'newdir'), ('existing', 'src'), ('file', 'README'), ('below file', 'README/x'), ('below missing', 'missing/x'), ('long name', long_name), ('deep', 'src/deep/new')):
    attempt('mkdir ' + word, lambda: os.mkdir(path))
for word, path in (('file', 'README'), ('link', 'src/relative'), ('directory', 'src'), ('missing', 'missing'), ('hidden', '.env'), ('below file', 'README/x'), ('long name', long_name), ('twin', 'src/README.twin')):
    attempt('unlink ' + word, lambda: os.unlink(path))
for word, path in (('empty', 'empty'), ('full', 'src'), ('file', 'README'), ('missing', 'missing'), ('hidden', '.ssh'), ('long name', long_name)):
    attempt('rmdir ' + word, lambda: os.rmdir(path))
for word, a, b in (('file', 'README', 'README2'), ('over', 'README', 'run.sh'), ('directory', 'src', 'src2'), ('missing', 'missing', 'x'), ('hidden', '.env', 'x'), ('onto hidden', 'README', '.env'),
                   ('across', 'README', 'src/README'), ('into itself', 'src', 'src/deep/x'), ('to the workspace', 'README', '/workspace/README'), ('long name', 'README', long_name)):
    attempt('rename ' + word, lambda: os.rename(a, b))
for word, a, b in (('file', 'README', 'hard'), ('existing', 'README', 'run.sh'), ('missing', 'missing', 'hard'), ('hidden', '.env', 'hard'), ('long name', 'README', long_name), ('out', 'README', '/workspace/hard')):
    attempt('link ' + word, lambda: os.link(a, b))
for word, a, b in (('new', 'README', 'soft'), ('existing', 'x', 'README'), ('below file', 'x', 'README/y'), ('below missing', 'x', 'missing/y'), ('long name', 'x', long_name), ('hidden', 'x', '.env')):
    attempt('symlink ' + word, lambda: os.symlink(a, b))
attempt('mknod file', lambda: os.mknod('node', 0o100644))
attempt('mkfifo', lambda: os.mkfifo('fifo'))
attempt('mkfifo existing', lambda: os.mkfifo('README'))
for word, path in (('file', 'README'), ('directory', 'src'), ('missing', 'missing'), ('hidden', '.env'), ('below file', 'README/x'), ('link', 'src/relative')):
    attempt('chmod ' + word, lambda: os.chmod(path, 0o600))
    attempt('chown ' + word, lambda: os.chown(path, os.getuid(), os.getgid()))
    attempt('truncate ' + word, lambda: os.truncate(path, 0))
    attempt('utimens ' + word, lambda: os.utime(path, (1, 1)))
    attempt('utimens now ' + word, lambda: os.utime(path))
attempt('lchown link', lambda: os.lchown('src/relative', os.getuid(), os.getgid()))
attempt('setxattr file', lambda: os.setxattr('README', 'user.x', b'y'))
attempt('setxattr hidden', lambda: os.setxattr('.env', 'user.x', b'y'))
attempt('removexattr file', lambda: os.removexattr('README', 'user.x'))
attempt('getxattr file', lambda: os.getxattr('README', 'user.x'))
attempt('listxattr file', lambda: os.listxattr('README'))
def access(path, mode):
    if not os.access(path, mode):
        raise OSError(errno.EACCES, '')
attempt('access read', lambda: access('README', os.R_OK))
attempt('access execute', lambda: access('run.sh', os.X_OK))
attempt('access execute plain', lambda: access('README', os.X_OK))
attempt('access write', raw(libc.access, b'README', 2))
attempt('access hidden', raw(libc.access, b'.env', 0))
attempt('chdir', lambda: (os.chdir('src'), os.chdir('..')))
attempt('chdir file', lambda: os.chdir('README'))
attempt('chdir hidden', lambda: os.chdir('.ssh'))
attempt('readlink', lambda: os.readlink('src/relative'))
attempt('readlink file', lambda: os.readlink('README'))
attempt('readlink hidden', lambda: os.readlink('.env'))
attempt('listdir file', lambda: os.listdir('README'))
attempt('listdir hidden', lambda: os.listdir('.ssh'))
attempt('stat loop', lambda: os.stat('src/loop'))
attempt('lstat loop', lambda: os.lstat('src/loop'))
attempt('stat long name', lambda: os.stat(long_name))
attempt('stat long path', lambda: os.stat(long_path))
fd = os.open('README', os.O_RDONLY)
attempt('fchmod', lambda: os.fchmod(fd, 0o600))
attempt('fchown', lambda: os.fchown(fd, os.getuid(), os.getgid()))
attempt('ftruncate', lambda: os.ftruncate(fd, 0))
attempt('futimens', lambda: os.utime(fd, (1, 1)))
attempt('write', lambda: os.write(fd, b'x'))
json.dump(results, sys.stdout)
"""

EROFS, ENOENT, ENOTDIR, EEXIST, EISDIR, ELOOP, ENAMETOOLONG = "EROFS", "ENOENT", "ENOTDIR", "EEXIST", "EISDIR", "ELOOP", "ENAMETOOLONG"
EXPECTED = {"open %s %s" % (w, t): EROFS for w in ("wronly", "rdwr", "append", "trunc", "creat") for t in ("README", "src/deep/er/still/file.txt", "src/relative")}
EXPECTED.update({"open %s empty" % w: EISDIR for w in ("wronly", "rdwr", "append", "trunc", "creat")})
EXPECTED.update({
    "open rdonly-trunc README": EROFS, "open rdonly README": "ok", "open directory README": ENOTDIR, "open creat-excl README": EEXIST, "open creat new": EROFS, "open creat-excl new": EROFS,
    "open creat empty/new": EROFS, "open creat missing/new": ENOENT, "open nofollow src/relative": ELOOP, "open missing": ENOENT, "open wronly missing": ENOENT, "open README/x": ENOTDIR,
    "open README/": ENOTDIR, "open README/..": ENOTDIR, "open loop": ELOOP, "open dangling": ENOENT, "open hidden": ENOENT, "open wronly hidden": ENOENT, "open hidden by link": ENOENT,
    "open hidden twin": ENOENT, "open below hidden": ENOENT, "open long name": ENAMETOOLONG, "open creat long name": ENAMETOOLONG, "open long path": ENAMETOOLONG, "open device": "ok",
    "mkdir new": EROFS, "mkdir existing": EEXIST, "mkdir file": EEXIST, "mkdir below file": ENOTDIR, "mkdir below missing": ENOENT, "mkdir long name": ENAMETOOLONG, "mkdir deep": EROFS,
    "unlink file": EROFS, "unlink link": EROFS, "unlink directory": EISDIR, "unlink missing": ENOENT, "unlink hidden": ENOENT, "unlink below file": ENOTDIR, "unlink long name": ENAMETOOLONG,
    "unlink twin": EROFS, "rmdir empty": EROFS, "rmdir full": EROFS, "rmdir file": ENOTDIR, "rmdir missing": ENOENT, "rmdir hidden": ENOENT, "rmdir long name": ENAMETOOLONG,
    "rename file": EROFS, "rename over": EROFS, "rename directory": EROFS, "rename missing": ENOENT, "rename hidden": ENOENT, "rename onto hidden": EROFS, "rename across": EROFS,
    "rename into itself": "EINVAL", "rename to the workspace": "EXDEV", "rename long name": ENAMETOOLONG,
    "link file": EROFS, "link existing": EEXIST, "link missing": ENOENT, "link hidden": ENOENT, "link long name": ENAMETOOLONG, "link out": "EXDEV",
    "symlink new": EROFS, "symlink existing": EEXIST, "symlink below file": ENOTDIR, "symlink below missing": ENOENT, "symlink long name": ENAMETOOLONG, "symlink hidden": EROFS,
    "mknod file": EROFS, "mkfifo": EROFS, "mkfifo existing": EEXIST, "lchown link": EROFS, "setxattr file": EROFS, "setxattr hidden": ENOENT, "removexattr file": EROFS,
    "getxattr file": "ENOTSUP", "listxattr file": "ENOTSUP", "access read": "ok", "access execute": "ok", "access execute plain": "EACCES", "access write": EROFS, "access hidden": ENOENT,
    "chdir": "ok", "chdir file": ENOTDIR, "chdir hidden": ENOENT, "readlink": "ok", "readlink file": "EINVAL", "readlink hidden": ENOENT, "listdir file": ENOTDIR, "listdir hidden": ENOENT,
    "stat loop": ELOOP, "lstat loop": "ok", "stat long name": ENAMETOOLONG, "stat long path": ENAMETOOLONG, "fchmod": EROFS, "fchown": EROFS, "ftruncate": "EINVAL", "futimens": EROFS,
    "write": "EBADF"})
for call in ("chmod", "chown", "truncate", "utimens", "utimens now"):
    EXPECTED.update({call + " file": EROFS, call + " directory": EISDIR if call == "truncate" else EROFS, call + " missing": ENOENT, call + " hidden": ENOENT, call + " below file": ENOTDIR,
                     call + " link": EROFS})
_matrix = {}


def matrix():
    if not _matrix:
        top = project()
        record = sandbox.run("run", "--json", "--ro", top + ":/p", "--", PYTHON, "-c", MATRIX).expect(0).record
        _matrix.update(json.loads(record["stdout"]))
        tap.equal(set(_matrix), set(EXPECTED), "every case has an expectation")
    return _matrix


@cases("errno: {0} is {1}", sorted(EXPECTED.items()))
def _(name, wanted):
    got = matrix()[name]
    tap.equal({"EOPNOTSUPP": "ENOTSUP"}.get(got, got), wanted, name)


@test("hidden means absent under every name: link, hard link, dots, /proc/self/root, /proc/self/fd, a second name of the tree")
def _():
    top = project()
    record = inside(top, r"""
import os
names = ['/p/.env', '/p/src/to-secret', '/p/src/innocent', '/p/src/../.env', '/proc/self/root/p/.env', '/proc/self/cwd/../p/.env', '/q/.env', '/q/src/innocent', '/p/.ssh/id_rsa', '/s/innocent']
for fd in (os.open('/p', os.O_RDONLY), os.open('/p/src', os.O_PATH)):
    names.append('/proc/self/fd/%d/.env' % fd); names.append('/proc/self/fd/%d/../.env' % fd)
for name in names:
    try:
        os.stat(name); print('SEEN', name)
    except FileNotFoundError:
        pass
print(sorted(set(os.listdir('/p')) & {'.env', '.ssh'}), 'innocent' in os.listdir('/p/src'), 'innocent' in os.listdir('/s'))
""", "--ro", top + ":/q", "--ro", top + "/src:/s")
    tap.equal(record["stdout"], "[] False False\n", "nothing hidden is seen")


@test("a bind mount of a hidden file is hidden as well")
def _():
    sandbox.need_root()
    top = project()
    other = write(top + "/aaa", "")
    result = sandbox.run("run", "--json", "--ro", top + ":/p", "--", "sh", "-c", "cat /p/aaa; ls -A /p",
                         command=["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", top + "/.env", other, sandbox.CORDON])
    tap.unlike(result.record["stdout"], "SECRET|aaa", "the bound file does not show")


@test("a bind mount of a hidden directory is hidden as well")
def _():
    sandbox.need_root()
    top = project()
    other = os.path.join(top, "src", "elsewhere")
    os.mkdir(other)
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    result = sandbox.run("run", "--json", "--ro", top + ":/p", "--", "ls", "-A", "/p/src", "/p/src/elsewhere",
                         command=["unshare", "-m", "sh", "-c", script, "sh", top + "/.ssh", other, sandbox.CORDON])
    tap.unlike(result.record["stdout"], "elsewhere|id_rsa", "the bound directory does not show")


@test("a file that takes the place of a hidden one later is hidden, and one made later is, too")
def _():
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--stdin", "--", "sh", "-c", "cat /p/late.pem; echo ready; read line; cat /p/late.pem /p/.env; ls -A /p", stdin=subprocess.PIPE)
    tap.equal(process.stdout.readline(), b"ready\n", "it runs")
    write(top + "/late.pem", "LATE\n" + KEY)
    write(top + "/.env2", "x")
    os.rename(top + "/.env2", top + "/.env")
    process.stdin.write(b"\n")
    process.stdin.flush()
    status, out, err = sandbox.finish(process)
    tap.unlike(out.decode(), "LATE|SECRET|late.pem|[.]env", "neither shows")


@test("parents of named paths can be walked and show only what is named")
def _():
    top = project()
    write(top + "/vault/open/file", "shown\n")
    write(top + "/vault/closed/file", "not\n")
    record = inside(top, "import os\nprint(os.listdir('/p/vault'), open('/p/vault/open/file').read(), os.path.exists('/p/vault/closed'))",
                    "--hide", top + "/vault", "--ro", top + "/vault/open")
    tap.equal(record["stdout"], "['open'] shown\n False\n", "a way through a hidden directory")


@test("a secret that is named exactly is shown, and its neighbours are not")
def _():
    top = project()
    write(top + "/.ssh/config", "Host\n")
    record = sandbox.shell("cat %s/.ssh/config; ls -A %s/.ssh" % (top, top), "--ro", top, "--ro", top + "/.ssh/config").record
    tap.equal(record["stdout"], "Host\nconfig\n", "what shows")


@test("--no-default-hide drops the built-in list, and --hide still holds")
def _():
    top = project()
    record = sandbox.shell("cat /p/.env; ls /p/keys", "--ro", top + ":/p", "--no-default-hide", "--hide", "**/readme").record
    tap.equal(record["stdout"], "SECRET=1\nserver.pem\n", "what shows")


@test("a stand-in is read in place of a file, also of one that does not exist, and its twin is hidden")
def _():
    top = project()
    os.link(top + "/.env", top + "/twin")
    record = sandbox.shell("cat /p/.env /p/made-up; ls -l /p/.env; ls -A /p; cat /p/twin", "--ro", top + ":/p", "--mask", top + "/.env=FAKE=1\n", "--mask", top + "/made-up=new\n").record
    tap.like(record["stdout"], r"^FAKE=1\nnew\n.* 7 .*/p/.env\n", "content and size")
    tap.like(record["stdout"], "made-up", "and they are listed")
    tap.unlike(record["stdout"], "SECRET|twin", "the other name of the file is absent")


@test("a stand-in that nobody would see is a failure that says why")
def _():
    top = project()
    for paths, masks, why in (
            ((top + "/README",), (top + "/README=FAKE",), "named to be shown as it is"),
            ((top + "/.env", top), (top + "/.env=FAKE",), "named to be shown as it is"),
            ((top,), (top + "/README=A", top + "/README=B"), "two stand-ins"),
            ((top,), (top + "/keys=x",), "is a directory"),
            ((top,), (top + "/none/file=x",), "no directory for"),
            ((top + "/README",), (top + "/README/file=x",), "no path that is named"),
            ((top,), ("/somewhere/else=x",), "below no path that is named")):
        options = [word for path in paths for word in ("--ro", path)] + [word for mask in masks for word in ("--mask", mask)]
        result = sandbox.run("run", "--json", *options, "--", "true")
        tap.equal((result.failure, result.status), ("bad_option", 64), "%r" % (masks,))
        tap.like(result.errors, why, "why")


@test("a rule ties with being named: the caller is told")
def _():
    top = project()
    result = sandbox.run("run", "--json", "--ro", top, "--hide", top, "--", "true")
    tap.equal(result.failure, "bad_option", "failure")
    tap.equal(sandbox.run("run", "--json", "--ro", top, "--mask", "/somewhere/else=x", "--", "true").failure, "bad_option", "a stand-in that lies in no named tree")
    for options in (("--hide", "x"), ("--mask", top + "/a=b"), ("--scratch", top)):
        tap.equal(sandbox.run("run", "--json", "--ro", top, "--view", "bind", *options, "--", "true").failure, "bad_option", "%s with binds" % options[0])
        tap.equal(sandbox.run("run", "--json", "--tier", "subprocess", *options, "--", "true").failure, "bad_option", "%s in the tier subprocess" % options[0])


@test("inode numbers agree between stat, listing and hard links")
def _():
    top = project()
    record = inside(top, r"""
import os
for d in ('/p', '/p/src'):
    for e in os.scandir(d):
        if e.inode() != os.lstat(e.path).st_ino: print('differs', e.path, e.inode(), os.lstat(e.path).st_ino)
a, b = os.stat('/p/README'), os.stat('/p/src/README.twin')
print(a.st_ino == b.st_ino, a.st_dev == b.st_dev, a.st_nlink, os.path.samefile('/p/README', '/p/src/README.twin'), os.getcwd())
os.chdir('/p/src/deep'); print(os.getcwd(), os.path.realpath('.'))
""")
    tap.equal(record["stdout"], "True True 2 True /workspace\n/p/src/deep /p/src/deep\n", "numbers")


@test("find over more files than the server may have descriptors", deadline=60)
def _():
    top = place() + "/many"
    for d in range(40):
        os.makedirs("%s/%d" % (top, d))
        for i in range(50):
            write("%s/%d/%d" % (top, d, i), b"")
    result = sandbox.shell("ulimit -n 64; find /p -type f | wc -l; find /p -type f -exec cat {} + | wc -c", "--ro", top + ":/p", deadline=40,
                           preexec=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_NOFILE, (256, 256)))
    tap.equal(result.expect(0).record["stdout"].split(), ["2000", "0"], "files")


@test("files that were mapped and closed stay readable, and mapped memory is the file's")
def _():
    top = project()
    record = inside(top, r"""
import ctypes, os
libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p; libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
maps = []
for i in range(300):
    fd = os.open('/p/src/deep/er/still/file.txt', os.O_RDONLY); maps.append(libc.mmap(None, 4096, 1, 1, fd, 0)); os.close(fd)
print(all(ctypes.string_at(m, 5) == b'deep\n' for m in maps))
""", "--nofile", "64")
    tap.equal(record["stdout"], "True\n", record["stderr"])


@test("a file that the host removes while it is open stays readable, through copies of the descriptor too")
def _():
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--stdin", "--python", PYTHON, "--code", """
import os, sys
fd = os.open('/p/README', os.O_RDONLY); other = os.dup(fd); print('open', flush=True); sys.stdin.readline()
os.close(fd); print(os.read(other, 100), os.fstat(other).st_size, flush=True)
""", stdin=subprocess.PIPE)
    tap.equal(process.stdout.readline(), b"open\n", "it is open")
    os.unlink(top + "/README")
    process.stdin.write(b"\n")
    process.stdin.flush()
    status, out, err = sandbox.finish(process)
    tap.equal(out, b"b'hello\\n' 6\n", "read after the removal; %r" % err)


@test("many lookups and listings at a time")
def _():
    top = project()
    record = inside(top, r"""
import os, threading
bad = []
def work(n):
    for i in range(150):
        try:
            if 'README' not in os.listdir('/p') or '.env' in os.listdir('/p'): bad.append('list')
            os.stat('/p/src/deep/er/still/file.txt'); os.stat('/p/missing-%d-%d' % (n, i))
            bad.append('there')
        except FileNotFoundError:
            pass
        if [e.name for e in os.scandir('/p/keys')] != ['readme']: bad.append('scan')
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(bad), bad[:3])
""")
    tap.equal(record["stdout"], "0 []\n", record["stderr"])


@test("two file systems below one tree are kept apart")
def _():
    sandbox.need_root()
    top = project()
    os.mkdir(top + "/other")
    script = 'mount -t tmpfs none "$1" && mkdir "$1/a" && echo one > "$1/a/f" && ln "$1/a/f" "$1/g" && shift && exec "$@"'
    source = "import os\nn = {}\nfor d, ds, fs in os.walk('/p'):\n    for x in ds: n.setdefault(os.lstat(d + '/' + x).st_ino, []).append(d + '/' + x)\nprint([v for v in n.values() if len(v) > 1], open('/p/other/a/f').read(), os.path.samefile('/p/other/g', '/p/other/a/f'))"
    record = sandbox.run("run", "--json", "--ro", top + ":/p", "--python", PYTHON, "--code", source, command=["unshare", "-m", "sh", "-c", script, "sh", top + "/other", sandbox.CORDON]).record
    tap.equal(record["stdout"], "[] one\n True\n", record["stderr"])


@test("symbolic links pass as they are and resolve inside")
def _():
    top = project()
    os.symlink("/etc/hostname", top + "/abs")
    record = inside(top, "import os\nprint(os.readlink('/p/abs'), open('/p/abs').read(), os.readlink('/p/src/relative'), os.readlink(b'/p/src/l\\xefnk'), open(b'/p/src/l\\xefnk').read())")
    tap.equal(record["stdout"], "/etc/hostname cordon\n ../README b'caf\\xe9' latin\n\n", "links")


@test("names from 0x01 to 0xff work, in listings, opens and events")
def _():
    top = place() + "/names"
    os.mkdir(top)
    wanted = []
    for byte in range(1, 256):
        if byte != 0x2f:
            name = b"n" + bytes([byte]) + b"e"
            open(os.fsencode(top) + b"/" + name, "wb").write(name)
            wanted.append(name)
    result, events = events_of("--ro", top + ":/p", "--", PYTHON, "-c", "import os\nprint(sum(open(b'/p/' + n, 'rb').read() == n for n in os.listdir(b'/p')))")
    tap.equal(result.record["stdout"], "254\n", "files")
    told = set()
    for event in events:
        if event["type"] == "fs.opened" and "directory" not in event["data"]["flags"]:
            data = event["data"]
            path = base64.b64decode(data["path_b64"]) if "path_b64" in data else data["path"].encode()
            told.add(os.path.basename(path))
            lossy = "path_b64" in data
            try:
                path.decode()
                tap.ok(not lossy, "path_b64 only where it is needed: %r" % path)
            except UnicodeDecodeError:
                tap.ok(lossy, "path_b64 where it is needed: %r" % path)
    tap.equal(told, set(wanted), "every name was told byte for byte")


@test("set-id bits and devices are dead, a pipe is the sandbox's own")
def _():
    sandbox.need_root()
    top = project()
    os.mknod(top + "/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    subprocess.run(["cp", "/usr/bin/id", top + "/id"], check=True)
    os.chown(top + "/id", 0, 0)
    os.chmod(top + "/id", 0o6755)
    result = sandbox.shell("cat /p/null && echo opened; /p/id -u; timeout 0.3 sh -c 'echo through > /p/src/pipe'; echo end", "--ro", top + ":/p")
    tap.like(result.record["stdout"], r"^%d\nend\n$" % (os.geteuid() or 1000), "no device, no set-id")


@test("a host socket cannot be reached, while a bind lets a program connect (which is why)")
def _():
    top = place() + "/run"
    os.mkdir(top)
    server = socket.socket(socket.AF_UNIX)
    server.bind(top + "/service.sock")
    os.chmod(top + "/service.sock", 0o777)
    server.listen(8)
    source = "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect('/p/service.sock'); print('connected')\nexcept OSError as e:\n    print(e.errno)"
    tap.equal(inside(top, source)["stdout"], "111\n", "ECONNREFUSED through the view")
    tap.equal(inside(top, source, "--view", "bind")["stdout"], "connected\n", "and a connection through a bind")
    server.close()


@test("no proc, sys or dev of the host comes in with a tree that holds them")
def _():
    for top in ("/proc", "/sys"):
        tap.equal(sandbox.run("run", "--json", "--ro", top + ":/p", "--", "true").failure, "bad_input", top)
    record = sandbox.shell("ls /host/proc /host/sys 2>&1 | head -3; ls /host/usr | head -2; cat /host/proc/self/environ 2>&1", "--ro", "/:/host").record
    tap.unlike(record["stdout"], "version|class|PATH=", "nothing of the kernel's file systems")
    tap.like(record["stdout"], "bin", "but the rest")


@test("the host's directory is as before, also after a kill", deadline=60)
def _():
    top = project()
    before = subprocess.check_output(["find", top, "-printf", "%p %i %s %T@ %C@ %m\n"])
    sandbox.shell("touch /p/x; mkdir /p/y; echo z > /p/.bashrc; ls -laR /p", "--ro", top + ":/p", "--hide", "**/not-there", "--mask", top + "/not-there-either=x")
    process = sandbox.start("run", "--ro", top + ":/p", "--", "sh", "-c", "echo up; while :; do cat /p/README; done")
    process.stdout.readline()
    process.kill()
    process.stdout.close()
    sandbox.finish(process)
    tap.equal(subprocess.check_output(["find", top, "-printf", "%p %i %s %T@ %C@ %m\n"]), before, "names, numbers, sizes, times, modes")


@test("a file replaced or cut short while it is read gives old bytes, new bytes or an error, and nobody else's", deadline=60)
def _():
    top = place() + "/moving"
    os.mkdir(top)
    write(top + "/secret.key", b"K" * 100000)
    write(top + "/file", b"A" * 100000)
    stop = threading.Event()

    def churn():
        n = 0
        while not stop.is_set():
            n += 1
            if n % 3 == 0:
                write(top + "/next", bytes([65 + n % 8]) * random.randrange(1, 200000))
                os.rename(top + "/next", top + "/file")
            elif n % 3 == 1:
                os.truncate(top + "/file", random.randrange(0, 100000))
            else:
                os.rename(top + "/secret.key", top + "/other.key")
                os.rename(top + "/other.key", top + "/secret.key")
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        record = inside(top, r"""
import mmap, os, time
stop, reads, errors = time.time() + 4, 0, 0
while time.time() < stop:
    try:
        data = open('/p/file', 'rb').read(); reads += 1
        if set(data) - set(b'ABCDEFGH\0'): print('foreign', set(data))
        if os.path.exists('/p/secret.key') or os.path.exists('/p/other.key'): print('seen')
    except OSError as e:
        errors += 1
print('done', reads > 0)
""", "--hide", "*.key", "--timeout", "20")
    finally:
        stop.set()
        thread.join()
    tap.equal(record["stdout"], "done True\n", "%s %s" % (record["error"], record["stderr"]))


@test("a change on the host shows at the next open")
def _():
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--stdin", "--", "sh", "-c", "cat /p/README; read x; cat /p/README; read x; cat /p/README", stdin=subprocess.PIPE)
    tap.equal(process.stdout.readline(), b"hello\n", "before")
    with open(top + "/README", "a") as file:
        file.write("appended\n")
    process.stdin.write(b"\n")
    process.stdin.flush()
    tap.equal(process.stdout.readline(), b"hello\n", "the old beginning")
    status, out, err = sandbox.finish(process)
    tap.ok(out in (b"appended\n" + b"hello\nappended\n", b"hello\nappended\n"), "old or new bytes, at last the new: %r" % out)


@test("what cannot be read by the user cannot be read inside, and run by root neither")
def _():
    top = project()
    os.chmod(top + "/src/main.py", 0o600)
    os.chmod(top + "/src/deep", 0o700)
    if os.getuid() != 0:
        os.chmod(top + "/src/main.py", 0)
        os.chmod(top + "/src/deep", 0)
    record = sandbox.shell("cat /p/src/main.py; ls /p/src/deep; cat /p/src/deep/er/still/file.txt; cat /p/README", "--ro", top + ":/p").record
    os.chmod(top + "/src/deep", 0o755)
    tap.equal(record["stdout"], "hello\n", "only what everybody may read")
    tap.equal(record["stderr"].count("ermission denied"), 3, record["stderr"])


@test("every open is told, with process and name; denials with their rule; repeats with a count")
def _():
    top = project()
    script = "cat /p/README; for i in 1 2 3 4 5 6 7 8; do : < /p/run.sh; done; cat /p/.env; /p/run.sh; echo x > /p/README; exit 0"
    result, events = events_of("--ro", top + ":/p", "--", "sh", "-c", script)
    record = result.record
    for event in events:
        tap.equal(sorted(event), ["data", "id", "sequence", "source", "specversion", "subject", "time", "type"], "the fields of a CloudEvent")
        tap.equal((event["specversion"], event["subject"]), ("1.0", record["execution_id"]), "version and subject")
    tap.equal([events[0]["type"], events[-1]["type"]], ["sandbox.started", "sandbox.executed"], "the first and the last")
    tap.equal(len({e["id"] for e in events}), len(events), "ids are different")
    files = [e["data"] for e in events if e["type"] in ("fs.opened", "fs.denied")]

    def total(path, decision):
        return sum(f["count"] for f in files if f["path"] == top + path and f["decision"] == decision)
    tap.equal(total("/README", "allow"), 1, "README was opened once")
    tap.between(total("/run.sh", "allow"), 9, 11, "run.sh was opened nine times or so (and read by its shell)")
    tap.ok(len([f for f in files if f["path"] == top + "/run.sh"]) < 9, "in fewer events")
    tap.ok(any("execute" in f["flags"] for f in files if f["path"] == top + "/run.sh"), "one of them to execute it")
    denied = {f["path"]: f for f in files if f["decision"] == "deny"}
    tap.equal((denied[top + "/.env"]["rule"], denied[top + "/.env"]["comm"]), ("secret:env", "cat"), "the hidden file, with rule and process")
    tap.equal(denied[top + "/README"]["rule"], "read-only", "the refused write")
    tap.ok("write" in denied[top + "/README"]["flags"], "with its flags: %r" % denied[top + "/README"]["flags"])
    tap.ok(all(f["pid"] > 0 for f in files), "every one has a process")
    tap.equal(record["files"]["opened"], sum(f["count"] for f in files if f["decision"] == "allow"), "the record has the same sum of opens")
    tap.equal(record["files"]["denied"], sum(f["count"] for f in files if f["decision"] == "deny"), "and of refusals")
    told = {r["path"]: r for r in record["files"]["refused"]}
    tap.equal(told[top + "/.env"]["allow"], "--ro %s/.env" % top, "what would have allowed it")
    tap.equal(told[top + "/README"]["allow"], "--scratch %s:/p" % top, "and the write, at its place")


@test("200 short-lived processes are all told with their numbers", deadline=60)
def _():
    top = project()
    result, events = events_of("--ro", top + ":/p", "--pids", "128", "--", "sh", "-c", "i=0; while [ $i -lt 200 ]; do cat /p/README >/dev/null; i=$((i+1)); done", deadline=40)
    opens = [e["data"] for e in events if e["type"] == "fs.opened" and e["data"]["path"] == top + "/README"]
    tap.equal(sum(o["count"] for o in opens), 200, "opens")
    tap.ok(all(o["pid"] > 0 for o in opens), "each has a process")
    tap.ok(sum(o["comm"] == "cat" for o in opens) > 150, "nearly all a name")


@test("who does not read the events stops nobody")
def _():
    top = project()
    pipe = os.path.join(leaks.scratch(), "pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    result = sandbox.run("run", "--json", "--events", pipe, "--ro", top + ":/p", "--timeout", "20", "--", PYTHON, "-c",
                         "import os\nfor i in range(20000):\n    try: os.stat('/p/%d.pem' % i)\n    except OSError: pass\n    try: os.mkdir('/p/%d' % i)\n    except OSError: pass", deadline=40)
    os.close(reader)
    tap.equal(result.expect(0).record["success"], True, "it ran to its end")
    tap.ok(result.record["files"]["denied"] + result.record["files"]["dropped"] >= 20000, "and everything was counted: %r" % {k: result.record["files"][k] for k in ("denied", "dropped")})


def view_server(process):
    """The process of the view's server below a started cordon."""
    def look():
        for pid in leaks.descendants():
            try:
                parent = int(open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[1])
                if parent == process.pid and open("/proc/%d/comm" % pid).read().strip() == "cordon-view":
                    return pid
            except OSError:
                pass
        return None
    return tap.eventually(look, "the view's server shows", 3)


READING = "echo up; while :; do cat /p/big > /dev/null; ls -R /p > /dev/null; done"


@cases("the view's server gets {0} in mid-read: view_lost within a second, nobody left in state D", [("SIGKILL",), ("SIGSTOP",), ("SIGSEGV",), ("SIGTERM",)])
def _(name):
    top = project()
    write(top + "/big", os.urandom(1 << 20) * 64)
    process = sandbox.start("run", "--json", "--ro", top + ":/p", "--output-limit", "10000", "--", "sh", "-c", READING.replace("echo up", "cat /p/README"))
    server = view_server(process)
    time.sleep(0.3)
    started = time.monotonic()
    os.kill(server, getattr(signal, name))
    status, out, err = sandbox.finish(process)
    seconds = time.monotonic() - started
    tap.equal(status, 125, "status; %r %r" % (out[:300], err[:300]))
    tap.equal(json.loads(out)["failure"]["code"], "view_lost", "the failure")
    tap.ok(seconds < tap.patience(1.0) + (2 if sandbox.SANITIZED else 0), "after %.2f s" % seconds)
    nobody_waits()


@test("a body loses its view in the same way")
def _():
    top = project()
    process = sandbox.start("exec", "--python", PYTHON, "--timeout", "20", "--permit", "open", "--ro", top + ":/p", "-", stdin=subprocess.PIPE)
    process.stdin.write(b"while True:\n    with open('/p/README') as f:\n        f.read()\n")
    process.stdin.close()
    process.stdin = None
    server = view_server(process)
    time.sleep(0.3)
    os.kill(server, signal.SIGKILL)
    status, out, err = sandbox.finish(process)
    tap.equal((status, json.loads(out)["failure"]["code"]), (125, "view_lost"), "%r" % err[:200])


@test("the supervisor is killed, and the server is gone too")
def _():
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--", "sh", "-c", "echo up; while :; do cat /p/README > /dev/null; done")
    process.stdout.readline()
    server = view_server(process)
    process.kill()
    process.stdout.close()
    sandbox.finish(process)
    tap.eventually(lambda: leaks.is_gone(server), "the server has ended", 1)


def child_named(pid, name):
    """The child of a process with that name, once it is there."""
    def look():
        for child in sandbox.children(pid):
            try:
                if open("/proc/%d/comm" % child).read().strip() == name:
                    return child
            except OSError:
                pass
        return None
    return tap.eventually(look, "%s runs" % name, 10)


@cases("the supervisor is killed while {} still, and nothing is left", [("PID 1 stands", ("init",)), ("the server stands", ("server",)), ("both stand", ("init", "server"))])
def _(_name, stopped):
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--", "sh", "-c", "echo up; while :; do cat /p/README > /dev/null; done")
    process.stdout.readline()
    pids = {"init": sandbox.init_of(process), "server": view_server(process)}
    os.kill(process.pid, signal.SIGSTOP)  # so that it does not notice a server that stands still
    for which in stopped:
        os.kill(pids[which], signal.SIGSTOP)
    process.kill()
    process.stdout.close()
    sandbox.finish(process)
    tap.eventually(lambda: all(leaks.is_gone(pid) for pid in pids.values()), "both have ended", 2)


@cases("a server that is stopped while it starts: {}", [("the run ends as view_lost", None, (125,)), ("a signal of the caller's ends it too, whichever comes first", signal.SIGTERM, (125, 143))])
def _(_name, number, statuses):
    top = project()
    for _ in range(20):
        process = sandbox.start("run", "--json", "--ro", top, "--", "sleep", "30")
        server = child_named(process.pid, "cordon-view")
        if number:
            process.send_signal(number)
        try:
            os.kill(server, signal.SIGSTOP)
        except ProcessLookupError:
            pass
        started = time.monotonic()
        got, out, err = sandbox.finish(process)
        tap.ok(time.monotonic() - started < 5, "at once")
        tap.ok(got in statuses, "status %d; %r %r" % (got, out[:300], err[:300]))
        if number is None:
            tap.equal(json.loads(out)["failure"]["code"], "view_lost", "the failure")
        tap.ok(leaks.is_gone(server), "the server")


# U15: a network file system that does not answer holds up the server of that run; its limit ends it, and nobody else waits.
@test("a file system that stops answering below the view costs its run no more than its limit, and others nothing")
def _():
    sandbox.need_root()
    sandbox.need("fuse-overlayfs")
    top = leaks.scratch()
    os.chmod(top, 0o755)
    for name in ("l", "u", "w", "m"):
        os.mkdir(os.path.join(top, name))
    for name in ("a", "b"):
        with open(os.path.join(top, "l", name), "w") as file:
            file.write(name + "\n")
    script = """fuse-overlayfs -f -o "lowerdir=$1/l,upperdir=$1/u,workdir=$1/w,allow_other" "$1/m" >/dev/null 2>&1 &
echo $! > "$1/pid"
until test -e "$1/m/a"; do :; done
shift
exec "$@"
"""
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", script, "sh", top, sandbox.CORDON, "run", "--timeout", "2", "--ro", top + "/m:/m", "--", "sh", "-c", "cat /m/a; while cat /m/b > /dev/null; do :; done"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    slow = 0
    try:
        slow = int(tap.eventually(lambda: open(top + "/pid").read().strip() if os.path.exists(top + "/pid") else None, "the file system is there", 10))
        tap.equal(process.stdout.readline(), b"a\n", "it is read")
        os.kill(slow, signal.SIGSTOP)
        other = sandbox.run("run", "--ro", project() + ":/p", "--", "cat", "/p/README")
        tap.equal(other.status, 0, "another run")
        # Where the file system had begun to answer, the kernel lets nobody end the server before it has: cordon waits for some seconds, and then goes without it.
        out, err = process.communicate(timeout=tap.patience(15))
        tap.ok(process.returncode == 124, "status %d: %r %r" % (process.returncode, out, err))
    finally:
        if slow:
            for number in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.kill(slow, number)
                except ProcessLookupError:
                    pass
        process.kill()
        process.wait()


@test("a run that reaches its limit while PID 1 stands still has timed out")
def _():
    top = project()
    process = sandbox.start("run", "--timeout", "1", "--ro", top + ":/p", "--", "sh", "-c", "cat /p/README; echo up >&2; sleep 30")
    tap.equal(process.stderr.readline(), b"up\n", "it runs")
    os.kill(sandbox.init_of(process), signal.SIGSTOP)
    status, out, err = sandbox.finish(process)
    tap.equal(status, 124, "%r %r" % (out[:300], err[:300]))
    tap.like(err.decode(), "timed out after 1.00s", "said")


@test("the host's df, find and mount table never meet the view, also while its server stands still")
def _():
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--", "sh", "-c", "echo up; sleep 20")
    process.stdout.readline()
    os.kill(process.pid, signal.SIGSTOP)  # so that nobody notices the stopped server
    server = view_server(process)
    os.kill(server, signal.SIGSTOP)
    tap.ok("cordon" not in "".join(l for l in open("/proc/self/mountinfo") if "fuse" in l), "no such mount here")
    subprocess.run(["df", "-a"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=tap.patience(5))
    subprocess.run(["find", top], stdout=subprocess.DEVNULL, check=True, timeout=tap.patience(5))
    os.kill(server, signal.SIGCONT)
    os.kill(process.pid, signal.SIGCONT)
    process.kill()
    process.stdout.close()
    sandbox.finish(process)


@test("the mount's descriptor is held by the server alone, and the sandbox holds none")
def _():
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--", "sh", "-c", "echo up; sleep 20")
    process.stdout.readline()
    server = view_server(process)
    holders = set()
    for pid in leaks.descendants():
        try:
            for fd in os.listdir("/proc/%d/fd" % pid):
                if os.readlink("/proc/%d/fd/%s" % (pid, fd)) == "/dev/fuse":
                    holders.add(pid)
        except OSError:
            pass
    threads = os.listdir("/proc/%d/task" % server)
    seccomp = set()
    for thread in threads:
        text = open("/proc/%d/task/%s/status" % (server, thread)).read()
        seccomp.add(tuple(l.split()[1] for l in text.splitlines() if l.startswith(("Seccomp:", "NoNewPrivs:"))))
    same_mounts = os.getuid() == 0 and os.readlink("/proc/%d/ns/mnt" % server) == os.readlink("/proc/self/ns/mnt")
    process.kill()
    process.stdout.close()
    sandbox.finish(process)
    tap.ok(holders <= {server}, "holders %r, server %d" % (holders, server))
    tap.equal(seccomp, {("1", "2")}, "it has no_new_privs and a filter")
    tap.equal(len(threads), 1, "and it has one thread")
    tap.ok(not same_mounts, "and mounts of its own")


@test("run by root, the server is not root", leak_check=False)
def _():
    sandbox.need_root()
    top = project()
    process = sandbox.start("run", "--ro", top + ":/p", "--", "sh", "-c", "echo up; sleep 20")
    process.stdout.readline()
    server = view_server(process)
    texts = [open("/proc/%d/task/%s/status" % (server, thread)).read() for thread in os.listdir("/proc/%d/task" % server)]
    process.kill()
    process.stdout.close()
    sandbox.finish(process)
    for text in texts:
        tap.unlike(text, r"(?m)^[UG]id:\t.*\b0\b", "no id of it is 0")
        tap.like(text, r"(?m)^CapEff:\t0+$", "it has no capability")


@test("in mode fuse the runtime goes through the view too, and it says so")
def _():
    record = sandbox.record_of("import asyncio, json, sqlite3\nprint(open('/etc/hostname').read())", "--view", "fuse")
    tap.equal(record["stdout"], "cordon\n\n", record["stderr"])
    tap.equal(record["confinement"]["view"], "fuse", "the view")
    tap.ok("/usr" not in record["confinement"]["unlogged"], "nothing of the runtime is unlogged: %r" % record["confinement"]["unlogged"])
    tap.ok(record["files"]["opened"] > 20, "every open was counted")


@test("what the record says of the view: mixed, bind, or nothing named")
def _():
    top = project()
    mixed, bind, none = (sandbox.shell("true", *o).record for o in (("--ro", top), ("--ro", top, "--view", "bind"), ()))
    tap.equal([r["confinement"]["view"] for r in (mixed, bind, none)], ["mixed", "bind", "bind"], "the word")
    tap.ok("/usr" in mixed["confinement"]["unlogged"] and top not in mixed["confinement"]["unlogged"], "mixed: the runtime is unlogged")
    tap.ok(top in bind["confinement"]["unlogged"], "bind: all is")
    tap.ok("files" in mixed and "files" not in bind and "files" not in none, "counts where there is a view")
    tap.ok(any("below a path that was named" in n for n in bind["confinement"]["does_not_stop"]), "bind says what it loses")


@test("named paths below one another, a file, a place inside another tree, a place under /tmp")
def _():
    top = project()
    script = "cat %s/src/main.py /one/README /one/new/place/main.py /tmp/x/y/README; ls /one" % top
    record = sandbox.shell(script, "--ro", top + "/src", "--ro", top, "--ro", top + "/README:/tmp/x/y/README", "--ro", top + ":/one", "--ro", top + "/src:/one/new/place").record
    tap.equal(record["stdout"].replace("\n", " "), "print('main') hello print('main') hello README empty keys new run.sh src ", record["stderr"])
    tap.ok(not os.path.exists(top + "/new"), "nothing was made on the host")


@test("programs run from the view, and a script runs with its modules")
def _():
    top = project()
    write(top + "/src/helper.py", "value = 42\n")
    tap.equal(sandbox.shell("/p/run.sh; cd /p/src && %s -c 'import helper; print(helper.value)'" % PYTHON, "--ro", top + ":/p").record["stdout"], "ran\n42\n", "output")


@test("a body sees the view in its own namespace, in /tmp too")
def _():
    top = project()
    result = sandbox.body("import os\nreturn [open('/p/README').read(), os.path.exists('/p/.env'), sorted(os.listdir('/tmp/p'))]", "--allow", "os", "--permit", "open,os", "--ro", top + ":/p",
                          "--ro", top + ":/tmp/p")
    tap.equal(result.record["output"][:2], ["hello\n", False], "what it returned\n%s" % result)
    tap.ok(".ssh" not in result.record["output"][2] and "src" in result.record["output"][2], "and the one below /tmp")


@test("--scratch: the program edits, compiles and moves; the host stays; --export says what changed")
def _():
    top = project()
    out = place()
    os.chmod(out, 0o777)
    before = subprocess.check_output(["find", top, "-printf", "%p %i %s %T@ %C@ %m\n"])
    script = """cd /p && echo more >> README && rm run.sh && mkdir -p new/dir && echo f > new/dir/f && mv src/main.py src/moved.py && chmod +x README &&
: >> keys/readme && ln -s README soft && echo SECRET=2 > .env && cat .env README && rm -r src/deep && ls -A /p"""
    record = sandbox.shell(script, "--scratch", top + ":/p", "--export", out).expect(0).record
    tap.like(record["stdout"], "^SECRET=2\nhello\nmore\n", "what it wrote is read back")
    tap.equal(subprocess.check_output(["find", top, "-printf", "%p %i %s %T@ %C@ %m\n"]), before, "the host is as before")
    changes = open(out + "/scratch-1/changes.txt").read().splitlines()
    for line in ("M README\t(permissions 0755)", "D run.sh", "A new/", "A new/dir/f", "D src/main.py", "A src/moved.py", "A soft\t-> README", "M .env", "D src/deep/"):
        tap.ok(line in changes, "%r is listed: %r" % (line, changes))
    tap.ok("M keys/readme" not in changes, "what was opened and not changed is not")
    tap.equal(open(out + "/scratch-1/files/README").read(), "hello\nmore\n", "a changed file")
    tap.equal(open(out + "/scratch-1/files/new/dir/f").read(), "f\n", "and a new one")
    tap.ok(os.access(out + "/scratch-1/files/README", os.X_OK), "with its mode")
    tap.equal(record["exported"]["changes"], len(changes), "the record has their number")


@test("what a program makes below --scratch has the permissions that it asked for, and runs")
def _():
    top = project()
    script = """cd /p && umask 027 && : > plain && mkdir made && printf '#!/bin/sh\\necho ran $0\\n' > s.sh && chmod +x s.sh && ./s.sh && cp run.sh copied.sh && ./copied.sh
stat -c '%a %n' plain made s.sh copied.sh; (exec 5> open; rm open; echo kept >&5; cat /proc/self/fd/5 < /dev/null; ln s.sh twin; stat -c %h twin)"""
    record = sandbox.shell(script, "--scratch", top + ":/p").expect(0).record
    tap.equal(record["stdout"], "ran ./s.sh\nran\n640 plain\n750 made\n750 s.sh\n750 copied.sh\nkept\n2\n", "output\n%s" % record["stderr"])


@test("a program from the view finds its own file and those of its libraries by the names that they have")
def _():
    top = place()
    shutil.copy("/bin/sleep", top + "/first")
    os.link(top + "/first", top + "/second")
    os.chmod(top, 0o755)
    for name in ("second", "first"):
        record = sandbox.shell("/p/%s 5 & while [ \"$(readlink /proc/$!/exe)\" = \"$(readlink /proc/$$/exe)\" ]; do :; done; readlink /proc/$!/exe; grep -c ' /p/%s$' /proc/$!/maps; kill $!" % (name, name), "--ro", top + ":/p").record
        shown = record["stdout"].split()
        tap.equal((shown[0], int(shown[1]) > 0), ("/p/" + name, True), "exe and maps\n%s" % record["stderr"])


@test("--scratch holds to its size, and hidden things stay hidden below it")
def _():
    top = project()
    record = sandbox.shell("cd /p; head -c 5000000 /dev/zero > big; cat .env src/innocent .ssh/id_rsa; ls -A . src", "--scratch", top + ":/p", "--workspace-size", "2").record
    tap.like(record["stderr"], "No space left", "full")
    tap.unlike(record["stdout"], "PRIVATE|SECRET|innocent|[.]ssh", "hidden below the overlay, too")


@test("--scratch is one file system: one device number, and a tar that keeps to it drops nothing")
def _():
    sandbox.need("tar")
    top = project()
    script = """cd /p && mkdir made && echo x > made/b && touch src/main.py && stat -c %d . made made/b README src src/main.py | sort -u | wc -l
tar --one-file-system -g /tmp/list -cf /tmp/a.tar made src && tar tf /tmp/a.tar | grep -c -e made/b -e src/main.py"""
    record = sandbox.shell(script, "--scratch", top + ":/p").expect(0).record
    tap.equal(record["stdout"], "1\n2\n", record["stderr"])
    tap.equal(len(record["confinement"]["scratch_differs"]), 3, "the record says what is different there")
    tap.ok("scratch_differs" not in sandbox.shell("true", "--ro", top).record["confinement"], "and only there")


@test("holes of a file stay holes, through the view and when its first change copies it up")
def _():
    top = place()
    with open(top + "/sparse", "wb") as file:
        file.seek(30 << 20)
        file.write(b"end")
    script = "cp --sparse=always /v/sparse /tmp/c; touch /s/sparse; stat -c %b /tmp/c /s/sparse; tail -c 3 /s/sparse"
    record = sandbox.shell(script, "--scratch", top + ":/s", "--ro", top + ":/v", "--workspace-size", "8").expect(0).record
    blocks = record["stdout"].split()
    tap.ok(all(int(b) < 4096 for b in blocks[:2]), "few blocks: %r %s" % (blocks, record["stderr"]))
    tap.equal(blocks[2], "end", "and what is in it")
    seek = "import os; f = os.open('/v/sparse', 0); print(os.lseek(f, 0, os.SEEK_DATA) > 1 << 20, os.lseek(f, 0, os.SEEK_HOLE))"
    tap.equal(sandbox.run("run", "--json", "--ro", top + ":/v", "--", PYTHON, "-c", seek).record["stdout"], "True 0\n", "lseek(2) finds them")


@test("--scratch: numbers of directories stay when the kernel drops its caches")
def _():
    sandbox.need_root()
    sandbox.need_attributes()
    top = project()
    source = "import os, shutil\nfor i in range(40):\n    os.makedirs('/p/n/%d/x' % i)\nseen = {at: os.stat(at).st_ino for at, _, _ in os.walk('/p')}\n" \
        "print('go', flush=True)\ninput()\nprint([at for at in seen if os.stat(at).st_ino != seen[at]])\nshutil.rmtree('/p/n')\nshutil.rmtree('/p/src')\nprint(os.listdir('/p/empty'))"
    process = subprocess.Popen([sandbox.CORDON, "run", "--stdin", "--scratch", top + ":/p", "--", PYTHON, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    tap.equal(process.stdout.readline(), "go\n", "it started")
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("2")
    out, _ = process.communicate("\n")
    tap.equal((out, process.returncode), ("[]\n[]\n", 0), "the same numbers, and the trees were removed")


@test("df through the view has the numbers of the host's file system")
def _():
    top = project()
    source = "import os\ns = os.statvfs('/p/src')\nprint(s.f_blocks * s.f_frsize, s.f_files, s.f_namemax)"
    record = sandbox.run("run", "--json", "--ro", top + ":/p", "--", PYTHON, "-c", source).expect(0).record
    host = os.statvfs(top + "/src")
    tap.equal(record["stdout"].split(), [str(host.f_blocks * host.f_frsize), str(host.f_files), str(host.f_namemax)], "size, files, length of names")


def without_openat2():
    """What RestrictSUIDSGID= of a systemd unit does to a process: openat2(2), number 437 everywhere, is ENOSYS."""
    code = struct.pack("<" + "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 437, 0x06, 0, 0, 0x00050000 | errno.ENOSYS, 0x06, 0, 0, 0x7fff0000)
    text = ctypes.create_string_buffer(code)
    program = struct.pack("@HP", 4, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


@test("a unit's filter without openat2(2) changes nothing")
def _():
    top = project()
    script = "cat /p/README /deep/er/place/main.py; cat /p/.env; ls /p/src | wc -l; touch /s/new && ls /s/new; cat /workspace/README"
    options = ("--ro", top + ":/p", "--ro", top + "/src:/deep/er/place", "--scratch", top + ":/s", "--copy-in", top + "/README")
    plain, filtered = (sandbox.run("run", "--json", *options, "--", "sh", "-c", script, preexec=p).record for p in (None, without_openat2))
    tap.equal((filtered["stdout"], filtered["stderr"]), (plain["stdout"], plain["stderr"]), "the same is there, and hidden")
    tap.like(plain["stdout"], "hello\nprint", "which is something")


@test("--host-socket shows one socket of the host's, and the record names it")
def _():
    top = place()
    path, other = top + "/run/agent.sock", top + "/run/other.sock"
    os.mkdir(top + "/run")
    listeners = []
    for name in (path, other):
        listeners.append(socket.socket(socket.AF_UNIX))
        listeners[-1].bind(name)
        os.chmod(name, 0o777)
        listeners[-1].listen()

    def answer():
        peer, _ = listeners[0].accept()
        peer.sendall(b"from the host")
        peer.close()
    threading.Thread(target=answer, daemon=True).start()
    source = "import socket, sys\nfor name in sys.argv[1:]:\n    s = socket.socket(socket.AF_UNIX)\n    try:\n        s.connect(name)\n        print(s.recv(99))\n" \
        "    except OSError as e:\n        print(type(e).__name__)"
    for options in ((), ("--ro", top)):
        record = sandbox.run("run", "--json", *options, "--", PYTHON, "-c", source, path).record
        tap.like(record["stdout"], "FileNotFoundError|ConnectionRefusedError", "not without it")
    record = sandbox.run("run", "--json", "--ro", top, "--host-socket", path, "--", PYTHON, "-c", source, path, other).expect(0).record
    tap.equal(record["stdout"], "b'from the host'\nConnectionRefusedError\n", record["stderr"])
    tap.equal(record["confinement"]["host_sockets"], [path], "on the record")
    tap.ok(any("--host-socket" in n for n in record["confinement"]["does_not_stop"]), "with what it means")
    for listener in listeners:
        listener.close()
    for name, code in ((top, "bad_input"), (top + "/none", "path_missing"), ("run/x", "bad_option")):
        tap.equal(sandbox.run("run", "--json", "--host-socket", name, "--", "true").failure, code, name)
    tap.equal(sandbox.run("run", "--json", "--tier", "subprocess", "--host-socket", path, "--", "true").failure, "bad_option", "the tier subprocess")


@test("--scratch in a body, and of a file, which it is not for")
def _():
    top = project()
    result = sandbox.body("with open('/p/README', 'a') as f:\n    f.write('x')\nwith open('/p/README') as f:\n    return f.read()", "--permit", "open", "--scratch", top + ":/p")
    tap.equal(result.record["output"], "hello\nx", "a body writes there\n%s" % result)
    tap.equal(open(top + "/README").read(), "hello\n", "and not on the host")
    tap.equal(sandbox.run("run", "--json", "--scratch", top + "/README:/f", "--", "true").failure, "bad_option", "a file")


@test("without /dev/fuse a named path is fuse_unavailable and never a quiet bind")
def _():
    sandbox.need_root()
    sandbox.need("unshare")
    top = project()
    script = 'mount -t tmpfs none /dev/shm && touch /dev/shm/x && chmod 0 /dev/shm/x && mount --bind /dev/shm/x /dev/fuse && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", sandbox.CORDON]
    result = sandbox.run("run", "--json", "--ro", top + ":/p", "--", "true", command=command)
    tap.equal(result.failure, "fuse_unavailable", "the failure")
    tap.equal(sandbox.run("run", "--json", "--", "true", command=command).expect(0).record["confinement"]["view"], "bind", "with nothing named it is not needed")
    tap.equal(sandbox.run("run", "--json", "--ro", top + ":/p", "--view", "bind", "--", "cat", "/p/README", command=command).record["stdout"], "hello\n", "and --view bind does without")
    doctor = sandbox.run("doctor", "--json", command=command).json
    state = {c["name"]: c for c in doctor["checks"]}["view"]
    tap.equal((state["state"], state["code"]), ("missing", "fuse_unavailable"), "doctor says so")
    tap.like(state["text"], "--view bind.*loses", "and what bind mode loses")


@test("a view below a view: cordon in a directory that another's view shows is told apart by its own mounts")
def _():
    top = project()
    record = sandbox.shell("find / -xdev -name README | head; ls -ld /p /p/.. / > /dev/null; stat -c %d /p / | sort -u | wc -l", "--ro", top + ":/p").record
    tap.equal(record["stdout"], "2\n", "its own device")


@test("a walk for hard links that is cut short hides what it did not see")
def _():
    top = place() + "/deep"
    path = top + "/" + "/".join("d" * 60)
    os.makedirs(path)
    os.mkdir(top + "/pub")
    write(path + "/id_rsa", b"DEEP")
    os.link(path + "/id_rsa", top + "/pub/link")
    write(top + "/pub/single", b"one name")
    for limit in (40, 64):
        result = sandbox.run("run", "--json", "--ro", top + ":/p", "--", "sh", "-c", "cat /p/pub/single /p/pub/link", preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        if result.status == 125:
            continue  # too few to start at all
        tap.equal(result.record["stdout"], "one name", "with %d descriptors" % limit)


tap.main()
