#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the view refuses with a word, what it tells, and what an export says: rules that would hide nothing, places that cover one another, writes of every kind, changes of every kind."""
import os
import shlex
import subprocess
import sys
import time

from lib import sandbox, tap
from lib.viewing import cases, events_of, place, project, test, write

PYTHON = sandbox.PYTHON


def empty():
    """A directory that every user may export to."""
    out = place()
    os.chmod(out, 0o777)
    return out


@cases("--hide {0} is refused with a word on why", [("{a,x}", "brace"), ("[", "without its"), ("[!]", "without its"), ("[z-a]", "range"), ("a\\", "backslash"), ("a**b", "whole ones"), ("a/../b", "dots"),
                                                    ("~nobody/x", "home"), ("/", "nothing")])
def _(pattern, word):
    top = place()
    result = sandbox.run("run", "--json", "--ro", top, "--hide", pattern, "--", "true")
    tap.equal(result.failure, "bad_option", "the failure")
    tap.like(result.text, word, "the message")


@test("patterns that look odd and are none the less right hide")
def _():
    top = place() + "/t"
    for name in ("a{b}", "x", "y", "z~", "é", "deep/er/f"):
        write(top + "/" + name)
    script = "cd %s; find . -type f | sort | tr '\\n' ' '" % top
    for pattern, left in ((r"a\{b\}", "./deep/er/f ./x ./y ./z~ ./é "), (top + "//x", "./a{b} ./deep/er/f ./y ./z~ ./é "), (top + "/deep/../y", "./a{b} ./deep/er/f ./x ./z~ ./é "),
                          ("z~", "./a{b} ./deep/er/f ./x ./y ./é "), (top + "/./deep/", "./a{b} ./x ./y ./z~ ./é "), ("[!a-~]*", "./a{b} ./deep/er/f ./x ./y ./z~ ")):
        tap.equal(sandbox.shell(script, "--ro", top, "--hide", pattern, env=dict(os.environ, LC_ALL="C")).record["stdout"], left, pattern)
    result = sandbox.run("run", "--json", "--ro", top, "--hide", "../t/x", "--", "ls", top, cwd=top)
    tap.unlike(result.record["stdout"], "x", "a path that leads up from where the caller is")
    result = sandbox.run("run", "--json", "--ro", top, "--hide", "~/x", "--", "ls", top, env=dict(os.environ, HOME=top))
    tap.unlike(result.record["stdout"], "x", "one from the home")


@test("a rule that could never hold is refused: about what is shown as a bind, or with nothing named")
def _():
    top = place()
    for options in (("--hide", "*.key"), ("--hide", "/usr/share/doc/x"), ("--ro", top, "--hide", "/usr/share/doc/x"), ("--ro", top, "--hide", "/usr/share/doc/*.txt"), ("--ro", top, "--hide", "/bin/sh")):
        result = sandbox.run("run", "--json", *options, "--", "true")
        tap.equal(result.failure, "bad_option", repr(options))
        tap.like(result.text, "--view fuse", "and what would do it")
    record = sandbox.run("run", "--json", "--view", "fuse", "--hide", "/usr/bin/env", "--", "sh", "-c", "ls /usr/bin/env /usr/bin/id").record
    tap.equal(record["stdout"], "/usr/bin/id\n", "which it does")
    record = sandbox.run("run", "--json", "--ro", "/usr/bin:/b", "--hide", "/usr/bin/env", "--", "sh", "-c", "ls /b/env /b/id").record
    tap.equal(record["stdout"], "/b/id\n", "and so does naming the tree")
    tap.equal(sandbox.run("run", "--json", "--ro", top, "--hide", "/srv/nothing/here", "--", "true").record["success"], True, "a place elsewhere may have hard links inside")


@test("two named paths at one place are refused, and the same one twice is not")
def _():
    top = project()
    for a, b in ((("--ro", top + "/src:/d"), ("--ro", top + "/keys:/d")), (("--ro", top + "/src:/d"), ("--ro", top + "/keys:/d/")), (("--scratch", top + "/src:/d"), ("--ro", top + "/keys:/d"))):
        result = sandbox.run("run", "--json", *a, *b, "--", "true")
        tap.equal(result.failure, "bad_option", repr(a + b))
        tap.like(result.text, "one over the other", "the message")
    tap.equal(sandbox.run("run", "--json", "--ro", top, "--ro", top + "/", "--", "true").record["success"], True, "the same path")
    for options in (("--ro", top + ":/d", "--scratch", top + ":/d"), ("--scratch", top + ":/d", "--ro", top + ":/d")):
        tap.equal(sandbox.run("run", "--json", *options, "--", "touch", "/d/new").status, 0, "and with --scratch it can be written to")


@test("a file without a name is refused like every other write, and told each time")
def _():
    top = project()
    source = "import errno, os\nfor i in range(2):\n    for flags in (os.O_WRONLY, os.O_RDWR | os.O_EXCL):\n        try:\n            os.open('/p/src', os.O_TMPFILE | flags)\n        except OSError as e:\n            print(errno.errorcode[e.errno])"
    result, events = events_of("--ro", top + ":/p", "--", PYTHON, "-c", source)
    tap.equal(result.record["stdout"], "EROFS\n" * 4, result.record["stderr"])
    denied = [e["data"] for e in events if e["type"] == "fs.denied" and e["data"]["path"] == top + "/src"]
    tap.equal(sum(d["count"] for d in denied), 4, "each was told: %r" % denied)
    tap.ok(all(d["rule"] == "read-only" and "create" in d["flags"] for d in denied), "as a write: %r" % denied)


@test("who is watched is told that names were hidden in a scratch of a Git work tree")
def _():
    top = place() + "/s"
    write(top + "/.git/HEAD", "ref\n")
    write(top + "/deep/.env", "A=1\n")
    name = empty() + "/events"
    text = sandbox.run("run", "--events", name, "--scratch", top + "/deep", "--", "ls", "-A", top + "/deep").errors
    tap.like(text, "1 file refused, top: .*/deep/.env", "what was hidden")
    tap.like(text, "look deleted to Git", "and what that means there")
    tap.unlike(sandbox.run("run", "--events", name, "--ro", top + "/deep", "--", "ls", "-A", top + "/deep").errors, "Git", "not where nothing can be written")


@test("a stand-in below --scratch can be written to, replaced and removed")
def _():
    top = place() + "/s"
    write(top + "/a", "REAL\n")
    write(top + "/b", "REAL\n")
    write(top + "/c", "REAL\n")
    out = empty()
    record = sandbox.shell("cd %s; echo more >> a; cat a; echo new > b; cat b; mv c d; cat d; ls" % top, "--scratch", top, "--export", out,
                           *[w for n in "abc" for w in ("--mask", "%s/%s=MASKED\n" % (top, n))]).record
    tap.equal(record["stdout"], "MASKED\nmore\nnew\nMASKED\na\nb\nd\n", record["stderr"])
    tap.equal(open(out + "/scratch-1/files/a").read(), "MASKED\nmore\n", "what is exported")
    tap.equal(open(top + "/a").read(), "REAL\n", "the host's file is as it was")


@test("changes.txt says what a new name is: where a link leads to, a pipe, a socket")
def _():
    top = place() + "/s"
    write(top + "/file", "x")
    out = empty()
    source = "import os, socket\nos.symlink('/etc/passwd', 'evil'); os.symlink(b'a\\nM file\\x1b[2J', 'lines'); os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('sock')\nos.unlink('file'); os.symlink('x', 'file'); open('new', 'w').write('n')"
    result = sandbox.run("run", "--json", "--scratch", top + ":/s", "--export", out, "--", "sh", "-c", 'cd /s && exec "$@"', "sh", PYTHON, "-c", source)
    tap.equal(result.record["stderr"], "", "it ran")
    umask = os.umask(0)
    os.umask(umask)
    tap.equal(os.stat(out + "/scratch-1/changes.txt").st_mode & 0o777, 0o666 & ~umask, "its permissions")
    tap.equal(result.record["exported"]["names"], ["scratch-1/files/new"], "the record names what is copied")
    changes = open(out + "/scratch-1/changes.txt").read().splitlines()
    tap.equal(changes, ["A evil\t-> /etc/passwd", "M file\t-> x", "A lines\t-> a<U+000A>M file<U+001B>[2J", "A new", "A pipe\t(pipe)", "A sock\t(socket)"], "the lines")
    tap.equal(sorted(os.listdir(out + "/scratch-1/files")), ["new"], "and only files are copied")
    tap.equal([result.record["exported"][k] for k in ("files", "skipped", "changes")], [1, 5, 6], "as the record has it")


def changed(script, top, out, *options):
    """The lines of changes.txt after a shell script that ran in the scratch layer of top."""
    result = sandbox.run("run", "--json", "--scratch", top + ":/s", "--export", out, *options, "--", "sh", "-c", "cd /s; " + script)
    with open(out + "/scratch-1/changes.txt", encoding="utf-8") as file:
        return file.read().splitlines(), result


def files_of(out):
    top = out + "/scratch-1/files"
    return sorted(os.path.relpath(os.path.join(at, name), top) for at, _names, files in os.walk(top) for name in files)


@test("each kind of change has its line, and what has none is not copied")
def _():
    top, out = place() + "/s", empty()
    for name in ("dir/x", "file", "src/main.py", "src/same.py", "touched/f", "mode", "gone/a"):
        write("%s/%s" % (top, name), name)
    lines, result = changed("rm -r dir; echo x > dir; rm file; mkdir file; touch file/in; chmod 700 src; touch src/main.py touched/f; chmod 600 mode; rm gone/a; echo n > 'x -> y'; echo n > '<U+000A>'; echo n > '\n'; : > 'pipe (pipe)'".replace("'\n'", '"$(printf \'\\n.\')"'), top, out)
    tap.equal(result.record["stderr"], "", "it ran")
    wanted = ["A <U+000A>", "A <U+000A>.\t(not printable)", "A dir", "A file/", "A file/in", "A pipe (pipe)", "A x -> y", "D dir/", "D file", "D gone/a", "M mode\t(permissions 0600)", "M src/\t(permissions 0700)"]
    tap.equal(sorted(lines), sorted(wanted), "the lines")
    tap.equal(files_of(out), sorted(["<U+000A>", "\n.", "dir", "file/in", "mode", "pipe (pipe)", "x -> y"]), "the files")
    tap.equal(sorted(os.listdir(out + "/scratch-1/files")), sorted(["<U+000A>", "\n.", "dir", "file", "mode", "pipe (pipe)", "src", "x -> y"]), "and the directories that hold one or were changed")


@test("what a program may not read itself any more is exported all the same")
def _():
    top, out = place() + "/s", empty()
    write(top + "/old/f", "f")
    lines, result = changed("mkdir locked; echo 1 > locked/f; mkdir locked/deeper; echo 2 > locked/deeper/g; chmod 444 locked/deeper; chmod 0 locked/f locked old; echo z > z; mkdir -p /workspace/w; echo w > /workspace/w/f; chmod 0 /workspace/w /workspace; chmod 0 /s", top, out)
    tap.equal(result.status, 0, "status\n%s" % result)
    tap.equal(sorted(lines), sorted(["M ./\t(permissions 0000)", "A locked/", "A locked/deeper/", "A locked/deeper/g", "A locked/f", "M old/\t(permissions 0000)", "A z"]), "the lines")
    tap.equal(files_of(out), ["locked/deeper/g", "locked/f", "z"], "the files")
    tap.equal(os.stat(out + "/scratch-1/files/locked/f").st_mode & 0o777, 0, "with its permissions")
    tap.equal(open(out + "/w/f").read(), "w\n", "in the workspace, too")


@test("a program cannot put anything beside what is listed, and what lies there from before is not added to")
def _():
    top, out = place() + "/s", empty()
    write(top + "/f", "f")
    lines, result = changed("mkdir -p /workspace/scratch-1/files /workspace/scratch-2; echo evil > /workspace/scratch-1/files/evil; echo evil > /workspace/scratch-2/changes.txt; echo w > /workspace/scratch-x; echo n > n", top, out)
    tap.equal(result.status, 0, "status\n%s" % result)
    tap.equal((lines, files_of(out)), (["A n"], ["n"]), "the lines and the files")
    tap.equal(sorted(os.listdir(out)), ["scratch-1", "scratch-x"], "the export")
    again = sandbox.run("run", "--json", "--scratch", top + ":/s", "--export", out, "--", "sh", "-c", "echo other > /s/other")
    tap.equal((again.failure, again.status), ("bad_option", 64), "a second time")
    tap.like(again.errors, "scratch-1 is there already; --overwrite", "why")
    lines, result = changed("echo other > other", top, out, "--overwrite")
    tap.equal((result.status, lines, files_of(out)), (0, ["A other"], ["other"]), "--overwrite replaces it whole")
    os.unlink(out + "/scratch-1/changes.txt")
    other = sandbox.run("run", "--json", "--scratch", top + ":/s", "--export", out, "--overwrite", "--", "true")
    tap.equal(other.failure, "bad_option", "but not what is no export of a layer")
    tap.ok(os.path.exists(out + "/scratch-1/files/other"), "which stays")


@test("a directory that was removed and made again says what is left of it")
def _():
    top = place() + "/s"
    write(top + "/dir/a", "a")
    write(top + "/dir/b", "b")
    os.symlink("a", top + "/dir/link")
    os.symlink("dir", top + "/same")
    for script, lines, files in (
            ("cp -a dir /tmp/d; rm -r dir; cp -a /tmp/d dir", ["A dir/a", "A dir/b", "A dir/link\t-> a", "R dir/"], ["dir/a", "dir/b"]),
            ("cp -a dir /tmp/d; rm -r dir; mkdir dir; cp /tmp/d/a dir/a", ["A dir/a", "R dir/"], ["dir/a"]),
            ("rm -r dir; mkdir dir", ["R dir/"], []),
            ("rm same; ln -s dir same; rm dir/link; ln -s b dir/link", ["M dir/link\t-> b"], [])):
        out = empty()
        got, result = changed(script, top, out)
        tap.equal(result.record["stderr"], "", script)
        tap.equal((sorted(got), files_of(out)), (lines, files), script)


@test("one layer, or the workspace, that cannot be exported does not keep the others from it")
def _():
    top, other, out = place() + "/s", place() + "/o", place()
    os.chmod(out, 0o777)
    write(top + "/f", "f")
    write(other + "/g", "g")
    lines, result = changed("for i in 1 2 3 4 5; do truncate -s 64M x$i /workspace/x$i; done; echo w > /o/new", top, out, "--scratch", other + ":/o", "--workspace-size", "64")
    tap.equal(result.status, 125, "status\n%s" % result)
    tap.equal(lines, ["A x%d" % i for i in range(1, 6)], "the lines of the first")
    with open(out + "/scratch-2/changes.txt", encoding="utf-8") as file:
        tap.equal(file.read(), "A new\n", "those of the second")
    tap.equal(open(out + "/scratch-2/files/new").read(), "w\n", "and its file")


@test("more changes than anybody reads are cut, and nothing is copied")
def _():
    top, out = place() + "/s", empty()
    write(top + "/f", "f")
    source = "import os\nos.chdir('/s')\nfor i in range(90):\n    n = '%03d' % i + 'x' * 240\n    os.mkdir(n); os.chdir(n)\ntry:\n    for i in range(3000): os.close(os.open('f%d' % i, os.O_CREAT | os.O_WRONLY))\nexcept OSError: pass"
    result = sandbox.run("run", "--json", "--scratch", top + ":/s", "--export", out, "--", PYTHON, "-c", source)
    tap.equal(result.status, 125, "status\n%s" % result)
    tap.like(result.record["exported"]["error"], "too many to list", "why")
    tap.between(os.stat(out + "/scratch-1/changes.txt").st_size, 1 << 20, 20 << 20, "size of the listing")
    with open(out + "/scratch-1/changes.txt", encoding="utf-8") as file:
        tap.equal(file.read().splitlines()[-1], "?\t(not all is listed, and nothing is copied)", "its last line")
    tap.ok(not os.path.exists(out + "/scratch-1/files"), "no files")


@test("a stand-in that was only rewritten as it was is no change")
def _():
    top, out = place() + "/s", empty()
    write(top + "/.env", "REAL\n")
    lines, _result = changed("sed -i s/x/y/ .env", top, out, "--mask", top + "/.env=FAKE\n")
    tap.equal((lines, files_of(out)), ([], []), "no line, no file")
    out = empty()
    lines, _result = changed("echo more >> .env", top, out, "--mask", top + "/.env=FAKE\n")
    tap.equal((lines, files_of(out)), (["M .env"], [".env"]), "a real one is")


@test("a stand-in for a file with = in its path")
def _():
    top = place() + "/s"
    write(top + "/year=2024/db", "SECRET\n")
    write(top + "/a=b", "SECRET\n")
    record = sandbox.shell("cd %s; cat year=2024/db a=b new" % top, "--ro", top, "--mask", top + "/year=2024/db=A=B\n", "--mask", top + "/a=b=C\n", "--mask", top + "/new=D=E\n").record
    tap.equal(record["stdout"], "A=B\nC\nD=E\n", record["stderr"])


@test("a write's option can be added to the command line; where two places are meant none is said")
def _():
    top = place() + "/s"
    write(top + "/src/f", "f")
    for options, target, allow in ((("--ro", top), top + "/src/f", "--scratch %s/src" % top), (("--ro", top + ":/p"), "/p/new", "--scratch %s:/p" % top), (("--ro", top + ":/a", "--ro", top + ":/b"), "/b/new", None),
                                   (("--ro", top + ":/p"), "/p", "--scratch %s:/p" % top)):
        command = ("--", "chmod", "700", target)  if target == "/p" else ("--", "touch", target)
        record = sandbox.run("run", "--json", *options, *command).record
        tap.equal(record["files"]["refused"][0]["allow"], allow, "allow")
        if allow:
            tap.equal(sandbox.run("run", "--json", *options, *allow.split(), *command).status, 0, "with %s" % allow)


@test("an export that is cut says how much was written before")
def _():
    top = place() + "/s"
    write(top + "/x", "")
    out = empty()
    result = sandbox.shell("cd /s; for i in 1 2 3 4 5; do mkdir -p $i; cp /s/x $i/f; i=$((i+1)); done; for i in 1 2 3; do truncate -s 3M $i/f; done", "--scratch", top + ":/s", "--workspace-size", "2", "--export", out)
    exported = result.record["exported"]
    tap.like(exported["error"], "holds over", "why")
    tap.equal(exported["files"], sum(len(files) for at, _names, files in os.walk(out + "/scratch-1/files")), "the files that are there")
    tap.ok(exported["files"] > 0 and exported["changes"] >= 10, "are counted: %r" % exported)
    tap.equal(result.status, 125, "and it is a failure")


@test("a file that is made on the host shows a second after it was asked for in vain")
def _():
    top = place() + "/n"
    write(top + "/x", "")
    process = sandbox.start("run", "--ro", top, "--", "sh", "-c", "cd %s; cat late 2>/dev/null; echo asked; until cat late 2>/dev/null; do sleep 0.02; done" % top)
    tap.equal(process.stdout.readline(), b"asked\n", "it is not there")
    started = time.monotonic()
    write(top + "/late", "LATE\n")
    tap.equal(process.stdout.readline(), b"LATE\n", "it is there")
    tap.between(time.monotonic() - started, 0, 2.5, "seconds")
    sandbox.finish(process)


@test("what the host removes, adds, replaces and changes shows at the next open and the next listing")
def _():
    top = place() + "/n"
    for name in ("gone", "changed", "replaced"):
        write(top + "/" + name, "old\n")
    process = sandbox.start("run", "--ro", top, "--stdin", "--", "sh", "-c", "cd %s; for i in 1 2; do ls; cat *; echo END; read line; done" % top, stdin=subprocess.PIPE)

    def turn():
        return b"".join(iter(process.stdout.readline, b"END\n")).decode()
    tap.equal(turn(), "changed\ngone\nreplaced\nold\nold\nold\n", "before")
    os.unlink(top + "/gone")
    write(top + "/changed", "other\n")
    os.rename(write(os.path.dirname(top) + "/new", "new\n"), top + "/replaced")
    write(top + "/added", "added\n")
    process.stdin.write(b"\n")
    process.stdin.flush()
    tap.equal(turn(), "added\nchanged\nreplaced\nadded\nother\nnew\n", "after")
    process.stdin.close()
    process.stdin = None
    sandbox.finish(process)


@cases("what would have allowed a name can be pasted: {}", [("a blank and a colon", "we ird:x"), ("quotes", "it's \"so\""), ("a dollar and a semicolon", "$x;y"), ("other letters", "\u00e9t\u00e9"), ("plain", "plain")])
def _(_name, name):
    top = place()
    secret = write("%s/%s/.env" % (top, name), "SECRET\n")
    told = sandbox.run("run", "--json", "--ro", top, "--", "cat", secret).record["files"]["refused"][0]
    words = shlex.split(told["allow"])
    tap.equal(words[0], "--ro", "the option")
    tap.equal(sandbox.run("run", "--json", "--ro", top, *words, "--", "cat", secret).record["stdout"], "SECRET\n", "with %r" % told["allow"])


@test("opens and refusals come faster than they can be read, and all are told", deadline=120)
def _():
    top = place() + "/many"
    for i in range(20000):
        os.close(os.open("%s/%d" % (top, i), os.O_CREAT, 0o644)) if i else write(top + "/0", "")
    source = "import os, sys\nfor i in range(20000):\n    os.close(os.open('%s/%d' % (sys.argv[1], i), os.O_RDONLY))\n    try: os.mkdir('%s/new%d' % (sys.argv[1], i))\n    except OSError: pass"
    result, events = events_of("--ro", top, "--timeout", "60", "--", PYTHON, "-c", source, top, deadline=90)
    opened = sum(e["data"]["count"] for e in events if e["type"] == "fs.opened")
    denied = sum(e["data"]["count"] for e in events if e["type"] == "fs.denied")
    tap.equal((opened, denied, result.record["files"]["dropped"]), (20000, 20000, 0), "opened, denied, dropped")
    tap.equal((result.record["files"]["opened"], result.record["files"]["denied"]), (opened, denied), "the record has the same")
    tap.equal(events[-1]["type"], "sandbox.executed", "the last event")


@test("what lies deeper than an export looks is said")
def _():
    top, out = place() + "/t", place() + "/out"
    write(top + "/f", "")
    os.makedirs(out)
    script = "cd %s; for i in $(seq 140); do mkdir q; cd -P q; done; echo x > payload" % top
    result = sandbox.run("run", "--export", out, "--scratch", top, "--", "sh", "-c", script)
    tap.equal(result.status, 125, "status\n%s" % result)
    tap.like(result.errors, "deeper than", "said")
    with open(out + "/scratch-1/changes.txt", encoding="utf-8") as file:
        tap.like(file.read().splitlines()[-1], r"^A (q/)+\t\(deeper than is looked at\)$", "the last line")


@test("a rule that speaks of the place inside is refused, and one of the host's is taken")
def _():
    top = place() + "/a"
    write(top + "/secret", "S\n")
    result = sandbox.run("run", "--json", "--ro", top + ":/g", "--hide", "/g/sec*", "--", "true")
    tap.equal(result.failure, "bad_option", "the failure")
    tap.like(result.text, "below " + top, "what to write")
    record = sandbox.run("run", "--json", "--ro", top + ":/g", "--hide", top + "/sec*", "--", "ls", "/g").record
    tap.equal(record["stdout"], "", "hidden")


tap.main()
