#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hidden under every name: files with several names, links, mounts, secrets beside the named trees, and a server that is kept from looking."""
import os
import resource
import subprocess
import sys

from lib import sandbox, tap
from lib.viewing import KEY, cases, events_of, place, test, write

PYTHON = sandbox.PYTHON


def talk(top, *options, **more):
    """A run whose program is a shell that takes commands. say(command) gives back its output."""
    process = sandbox.start("run", "--ro", top, *options, "--stdin", "--", "sh", "-c", "while read -r line; do eval \"$line\" 2>&1; echo END; done", stdin=subprocess.PIPE, **more)

    def say(command):
        process.stdin.write(command.encode() + b"\n")
        process.stdin.flush()
        lines = []
        while True:
            line = process.stdout.readline()
            if line in (b"END\n", b""):
                return b"".join(lines).decode()
            lines.append(line)

    def done():
        process.stdin.close()
        process.stdin = None
        return sandbox.finish(process)
    return say, done


@test("a directory that is renamed to a secret's name during the run hides what it holds under its other names, too")
def _():
    top = place() + "/w"
    write(top + "/dir/key", "DKEY\n")
    write(top + "/pub/plain", "PLAIN\n")
    os.link(top + "/dir/key", top + "/pub/dl")
    os.link(top + "/pub/plain", top + "/pub/twin")
    say, done = talk(top)
    tap.equal(say("cat %s/pub/dl %s/pub/twin" % (top, top)), "DKEY\nPLAIN\n", "both show at first")
    os.rename(top + "/dir", top + "/.aws")
    tap.unlike(say("cat %s/pub/dl" % top), "DKEY", "not any more")
    tap.unlike(say("cat %s/.aws/key" % top), "DKEY", "nor by its new name")
    tap.equal(say("ls %s/pub" % top), "plain\ntwin\n", "nor listed")
    tap.equal(say("cat %s/pub/twin" % top), "PLAIN\n", "another file with two names still shows")
    os.rename(top + "/.aws", top + "/open")
    tap.equal(say("cat %s/pub/dl" % top), "DKEY\n", "and when it gets an ordinary name again it shows")
    done()


@test("a directory far above that is renamed does the same, for an open by a name that the kernel knows")
def _():
    top = place() + "/w"
    write(top + "/a/b/c/d/key", "DKEY\n")
    os.makedirs(top + "/pub")
    os.link(top + "/a/b/c/d/key", top + "/pub/dl")
    say, done = talk(top, "--hide", "private")
    tap.equal(say("cd %s/pub; cat dl" % top), "DKEY\n", "it shows at first")
    os.rename(top + "/a/b", top + "/a/private")
    tap.unlike(say("cat dl"), "DKEY", "not any more")
    done()


@test("a directory with a name outside the tree that is moved to a hidden place inside is found after a while")
def _():
    base = place()
    top = base + "/w"
    write(base + "/out/key", "DKEY\n")
    os.makedirs(top + "/pub")
    os.link(base + "/out/key", top + "/pub/dl")
    say, done = talk(top)
    tap.equal(say("cat %s/pub/dl" % top), "DKEY\n", "a file whose other name is simply outside shows")
    os.rename(base + "/out", top + "/.aws")
    tap.eventually(lambda: "DKEY" not in say("cat %s/pub/dl" % top), "it is hidden", 8)
    done()


@test("trees that are hard-linked from outside on purpose show: a package store, a clone")
def _():
    base = place()
    for i in range(50):
        os.makedirs(base + "/proj/lib", exist_ok=True)
        os.link(write("%s/store/%d" % (base, i), "content %d\n" % i), "%s/proj/lib/%d" % (base, i))
        if i % 2:
            os.link("%s/store/%d" % (base, i), "%s/proj/lib/%d.twin" % (base, i))
    record = sandbox.shell("cat %s/proj/lib/* | wc -l; ls %s/proj/lib | wc -l" % (base, base), "--ro", base + "/proj").record
    tap.equal(record["stdout"].split(), ["75", "75"], record["stderr"])


@test("a directory that may not be listed: a file whose names were not all found is hidden, and told by a rule")
def _():
    top = place() + "/un"
    write(top + "/locked/sub/id_rsa", "LOCKSECRET\n")
    write(top + "/pub/alone", "ALONE\n")
    write(top + "/pub/both", "BOTH\n")
    os.link(top + "/locked/sub/id_rsa", top + "/pub/x")
    os.link(top + "/pub/both", top + "/pub/both.twin")
    os.chmod(top + "/locked", 0o711 if os.getuid() == 0 else 0o311)
    try:
        result, events = events_of("--ro", top, "--", "sh", "-c", "cat %s/pub/alone %s/pub/both %s/pub/x" % (top, top, top))
    finally:
        os.chmod(top + "/locked", 0o755)
    tap.equal(result.record["stdout"], "ALONE\nBOTH\n", "files with one name, and with all names found, show")
    tap.equal([e["data"]["rule"] for e in events if e["type"] == "fs.denied"], ["hard-link"], "the rule")


@test("a secret 300 levels deep, with few descriptors, is hidden under its other name")
def _():
    top = place() + "/deep"
    os.makedirs(top + "/pub")
    here = os.open(top, os.O_RDONLY)
    for _i in range(300):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("id_rsa", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=here))
    os.link("id_rsa", top + "/pub/link", src_dir_fd=here)
    os.close(here)
    write(top + "/pub/single", b"one name")
    for limit in (64, 1024):
        result = sandbox.run("run", "--json", "--ro", top + ":/p", "--", "sh", "-c", "cat /p/pub/single; ls /p/pub",
                             preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        tap.equal(result.record["stdout"], "one namesingle\n", "with %d descriptors" % limit)


HOLD = r"""
import errno, os, sys, time
top, secret = sys.argv[1], sys.argv[2]
held, failed = [], set()
for i in range(240):
    try:
        held.append(os.open('%s/f%03d' % (top, i), os.O_RDONLY))
    except OSError as e:
        failed.add(errno.errorcode[e.errno])
        break
for name in (secret, secret):
    try:
        print(open(name).read())
    except OSError as e:
        print(errno.errorcode[e.errno])
for fd in held:
    os.close(fd)
try:
    print(open(secret).read())
except OSError as e:
    print(errno.errorcode[e.errno])
print(sorted(failed), len(held) > 100)
"""


@test("a program that holds many files does not turn the walk off, gets ENFILE, and is told")
def _():
    top = place() + "/hk"
    for i in range(240):
        write("%s/f%03d" % (top, i), b"")
    write(top + "/sh/id_rsa", "EXH")
    os.link(top + "/sh/id_rsa", top + "/sh/pub")
    result = sandbox.run("run", "--json", "--nofile", "300", "--ro", top, "--", PYTHON, "-c", HOLD, top, top + "/sh/pub",
                         preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    tap.equal(result.record["stdout"], "ENOENT\nENOENT\nENOENT\n['ENFILE'] True\n", result.record["stderr"])
    told = {r["rule"]: r for r in result.record["files"]["refused"]}
    tap.ok("open-files" in told, "the record says what held it up: %r" % sorted(told))
    tap.equal(told["open-files"]["allow"], None, "which no option of the run would change")


MANY = """
import os, sys
def opener():
    for _ in range(3000):
        os.close(os.open(sys.argv[1], os.O_RDONLY))
    os._exit(0)
children = []
for _ in range(32):
    children.append(os.fork())
    if children[-1] == 0:
        opener()
print([c for c in children if os.waitpid(c, 0)[1] != 0])
"""


@test("whoever opens and closes at once with many others never meets a server without descriptors")
def _():
    path = place() + "/many"
    write(path, b"x")
    result = sandbox.run("run", "--json", "--ro", path, "--", PYTHON, "-c", MANY, path, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    tap.equal(result.record["stdout"], "[]\n", result.record["stderr"][-2000:])


@test("what a link leads to is not named exactly: a symbolic link, a hard link, a link above")
def _():
    top = place() + "/a"
    write(top + "/.env", "ENVSECRET\n")
    write(top + "/.ssh/config", "CONFIG\n")
    write(top + "/private/key", "TOPSECRET\n")
    write(top + "/pub/plain", "PLAIN\n")
    os.symlink(top + "/.env", top + "/pub/slabs")
    os.link(top + "/.env", top + "/pub/hl")
    os.symlink("../private/key", top + "/pub/sl")
    os.link(top + "/private/key", top + "/pub/hl2")
    os.symlink("../.ssh", top + "/pub/dir")
    os.symlink("plain", top + "/pub/harmless")
    os.symlink(top, os.path.dirname(top) + "/way")
    way = os.path.dirname(top) + "/way"
    for source, options in ((top + "/pub/slabs", ()), (top + "/pub/hl", ()), (top + "/pub/sl", ("--hide", top + "/private")), (top + "/pub/hl2", ("--hide", top + "/private")),
                            (top + "/pub/dir/config", ()), (top + "/pub/dir", ()), (top + "/pub/../pub/slabs", ()), (way + "/pub/slabs", ()),
                            (top + "/.env", ("--hide", top + "/.env")), (way + "/.env", ("--hide", way + "/.env")), (top + "/.env", ("--hide", top + "/pub/hl"))):
        result = sandbox.run("run", "--json", "--ro", source, *options, "--", "cat", source)
        tap.unlike(result.text, "ENVSECRET|TOPSECRET|CONFIG", source)
        tap.equal(result.failure, "bad_option", "%s %r" % (source, options))
    for source, text in ((top + "/.env", "ENVSECRET\n"), (way + "/.env", "ENVSECRET\n"), (top + "/.ssh/config", "CONFIG\n"), (way + "/.ssh/../.ssh/config", "CONFIG\n"), (top + "/pub/harmless", "PLAIN\n"),
                         (top + "/pub//./plain", "PLAIN\n")):
        tap.equal(sandbox.run("run", "--json", "--ro", source + ":/x/file", "--", "cat", "/x/file").record["stdout"], text, source)
    result = sandbox.run("run", "--json", "--ro", ".env:/x/file", "--", "cat", "/x/file", cwd=top)
    tap.equal(result.record["stdout"], "ENVSECRET\n", "a relative path is typed exactly, too")


@test("a hidden directory that is bound elsewhere is not shown when that place is named")
def _():
    sandbox.need_root()
    top = place() + "/a"
    write(top + "/.ssh/config", "CONFIG\n")
    write(top + "/bound/x", "")
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    result = sandbox.run("run", "--json", "--ro", top + "/bound", "--hide", top + "/.ssh", "--", "ls", top + "/bound",
                         command=["unshare", "-m", "sh", "-c", script, "sh", top + "/.ssh", top + "/bound", sandbox.CORDON])
    tap.equal(result.failure, "bad_option", "the failure")


CERTIFICATE = "-----BEGIN CERTIFICATE-----\n"


def home_of(top):
    return dict(os.environ, HOME=top + "/home")


def dotfiles():
    top = place()
    write(top + "/home/dot/gnupg/secring", "GPG\n")
    write(top + "/home/dot/config/gh/hosts", "GH\n")
    write(top + "/home/dot/bashrc", "RC\n")
    os.symlink("dot/gnupg", top + "/home/.gnupg")
    os.symlink("dot/config", top + "/home/.config")
    write(top + "/home/.bash_history", "HIST\n")
    write(top + "/home/id_rsa", "IDK\n")
    write(top + "/home/.ssh/id_x", "SSH\n")
    write(top + "/home/cert.pem", "PEM\n" + KEY)
    write(top + "/other/x.key", "KEY\n")
    write(top + "/other/hid/file", "HID\n")
    write(top + "/proj/plain", "PLAIN\n")
    for name, source in (("gpg", "home/dot/gnupg/secring"), ("gh", "home/dot/config/gh/hosts"), ("hist", "home/.bash_history"), ("id", "home/id_rsa"), ("ssh", "home/.ssh/id_x"), ("pem", "home/cert.pem"),
                         ("key", "other/x.key"), ("hid", "other/hid/file"), ("rc", "home/dot/bashrc")):
        os.link(top + "/" + source, top + "/proj/l_" + name)
    return top


@test("names that only look like a secret's are there, and what holds one is not")
def _():
    top = place() + "/proj"
    ordinary = {"id_generator.py": "x = 1\n", "id_rsa.pub": "ssh-rsa AAAA\n", "id_tables/t": "t\n", ".env.example": "A=\n", "tests/cert.pem": CERTIFICATE,
                ".npmrc": "registry=https://r/\n", "lib/certifi/cacert.pem": CERTIFICATE * 9000, "slides.key": "PK\n", "site.crt": CERTIFICATE,
                "sub/credentials.json": "{}\n"}
    secret = {".env": "A=1\n", "id_ed25519": "k\n", "id_deploy": KEY, "server.pem": CERTIFICATE + KEY, "tls/x.key": KEY, "sub/.npmrc": "//r/:_authToken=t\n", "big.pem": CERTIFICATE * 60000,
              "bundle.crt": CERTIFICATE + KEY, "terraform.tfstate": "{}\n", "app-service-account-1.json": '{"private_key": "%s"}\n' % KEY.strip()}
    for name, text in {**ordinary, **secret}.items():
        write(top + "/" + name, text)
    os.link(top + "/lib/certifi/cacert.pem", top + "/lib/twin")
    os.link(top + "/server.pem", top + "/lib/hidden-twin")
    source = "import os\nfor at, _, names in os.walk('/p'):\n    for n in names: print(os.path.relpath(at + '/' + n, '/p'), len(open(at + '/' + n, 'rb').read()))"
    result, events = events_of("--ro", top + ":/p", "--", PYTHON, "-c", source)
    shown = dict(line.split() for line in result.record["stdout"].splitlines())
    tap.equal(shown, {**{n: str(len(t)) for n, t in ordinary.items()}, "lib/twin": str(len(ordinary["lib/certifi/cacert.pem"]))}, result.record["stderr"])
    told = {os.path.relpath(e["data"]["path"], top): e["data"] for e in events if e["type"] == "fs.denied"}
    tap.equal(set(told), set(secret) | {"lib/hidden-twin"}, "each name that was left out is told")
    tap.ok(all(d["flags"] == ["list"] for d in told.values()), "as left out of a listing: %r" % told)
    tap.equal(result.record["files"]["denied"], len(secret) + 1, "and counted in the record")


@test("a file that gets a key after it was looked up is not opened any more")
def _():
    top = place()
    write(top + "/x.pem", CERTIFICATE)
    process = sandbox.start("run", "--ro", top + ":/p", "--stdin", "--", "sh", "-c", "cat /p/x.pem; echo ready; read line; cat /p/x.pem", stdin=subprocess.PIPE)
    tap.equal([process.stdout.readline() for _ in range(2)], [CERTIFICATE.encode(), b"ready\n"], "it is there")
    write(top + "/x.pem", KEY)
    out, _ = process.communicate(b"\n")
    tap.equal(out, b"", "and not with a key in it")


@test("a link with a secret's name in a project hides itself and not what it leads to, but in a home it does")
def _():
    top = place()
    write(top + "/proj/src/a", "A\n")
    write(top + "/proj/src/id_rsa", "KEY\n")
    os.symlink("src", top + "/proj/.aws")
    record = sandbox.shell("cd %s/proj; ls -A . src; cat src/a .aws/a src/id_rsa" % top, "--ro", top + "/proj", env=dict(os.environ, HOME=top)).record
    tap.equal(record["stdout"], ".:\nsrc\n\nsrc:\na\nA\n", record["stderr"])
    record = sandbox.shell("cat %s/proj/src/a" % top, "--ro", top + "/proj", env=dict(os.environ, HOME=top + "/proj")).record
    tap.equal(record["stdout"], "", "a program looks for its secrets in a home")
    write(top + "/data/creds/c", "C\n")
    os.unlink(top + "/proj/.aws")
    os.symlink("../data/creds", top + "/proj/.aws")
    record = sandbox.shell("cat %s/data/creds/c" % top, "--ro", top + "/proj", "--ro", top + "/data", env=dict(os.environ, HOME="/nonexistent")).record
    tap.equal(record["stdout"], "", "and what lies outside the project stays hidden")


@test("a secret directory that is a link is hidden at its real place, by the rule of its name")
def _():
    top = dotfiles()
    home = top + "/home"
    script = "cat %s/dot/gnupg/secring %s/.gnupg/secring %s/dot/config/gh/hosts %s/dot/bashrc; ls %s/dot" % ((home,) * 5)
    result, events = events_of("--ro", home, "--", "sh", "-c", script, env=home_of(top))
    tap.equal(result.record["stdout"], "RC\nbashrc\nconfig\n", "only what is no secret")
    rules = {e["data"]["path"]: e["data"]["rule"] for e in events if e["type"] == "fs.denied"}
    tap.equal((rules.get(home + "/dot/gnupg"), rules.get(home + "/dot/config/gh")), ("secret:gnupg", "secret:git"), "the rules: %r" % rules)
    record = sandbox.shell("cat %s/dot/gnupg/secring" % home, "--ro", home, "--hide", home + "/.gnupg", "--no-default-hide", env=home_of(top)).record
    tap.equal(record["stdout"], "", "also for the caller's own rule")
    record = sandbox.shell("cat %s/dot/gnupg/secring" % home, "--ro", home, "--ro", home + "/dot/gnupg", env=home_of(top)).record
    tap.equal(record["stdout"], "GPG\n", "and it shows where its real place is named exactly")
    os.symlink("settings.real", top + "/proj/.env")
    write(top + "/proj/settings.real", "REAL\n")
    tap.equal(sandbox.shell("cat %s/proj/settings.real %s/proj/plain" % (top, top), "--ro", top + "/proj", env=home_of(top)).record["stdout"], "PLAIN\n", "a link at the top of a named directory")


@test("secrets beside the named tree whose rule is a pattern, or whose place is a link, are hidden under a hard link inside")
def _():
    top = dotfiles()
    record = sandbox.shell("cd %s/proj; cat l_* plain; ls" % top, "--ro", top + "/proj", "--hide", top + "/other/*.key", "--hide", top + "/other/hid", env=home_of(top)).record
    tap.equal(record["stdout"], "RC\nPLAIN\nl_rc\nplain\n", record["stderr"])


@test("a rule without a place is looked for beside the named trees, for hard links and for mounts")
def _():
    top = dotfiles()
    os.makedirs(top + "/other/tree")
    os.link(top + "/other/hid/file", top + "/other/tree/again")
    record = sandbox.shell("cat %s/other/tree/again; ls %s/other/tree" % (top, top), "--ro", top + "/other/tree", "--hide", "hid", env=home_of(top)).record
    tap.equal(record["stdout"], "", "hidden, and not listed")
    if os.getuid() == 0:
        os.makedirs(top + "/other/tree/bound")
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        result = sandbox.run("run", "--json", "--ro", top + "/other/tree", "--hide", "hid", "--", "find", top + "/other/tree",
                             command=["unshare", "-m", "sh", "-c", script, "sh", top + "/other/hid", top + "/other/tree/bound", sandbox.CORDON])
        tap.unlike(result.record["stdout"], "bound", "a bind of it is hidden, too")


@test("secrets of a home that only root may enter are hidden under their other names as well")
def _():
    sandbox.need_root()
    top = dotfiles()
    os.chmod(top + "/home", 0o700)
    os.chmod(top + "/home/.ssh", 0o700)
    record = sandbox.shell("cd %s/proj; cat l_ssh l_gpg l_hist l_rc plain" % top, "--ro", top + "/proj", env=home_of(top)).record
    tap.equal(record["stdout"], "RC\nPLAIN\n", record["stderr"])


@test("a hidden directory in a named tree that only root may enter does not keep linked files from showing, and hides its own")
def _():
    sandbox.need_root()
    top = place()
    os.makedirs(top + "/tree/lib")
    write(top + "/tree/.ssh/deep/key", "KEY\n")
    os.link(top + "/tree/.ssh/deep/key", top + "/tree/lib/key")
    os.link(write(top + "/store/x", "STORED\n"), top + "/tree/lib/x")
    os.chmod(top + "/tree/.ssh/deep", 0o700)
    os.chmod(top + "/tree/.ssh", 0o700)
    script = "cat %s/tree/lib/x %s/tree/lib/key" % (top, top)
    tap.equal(sandbox.shell(script, "--ro", top + "/tree").record["stdout"], "STORED\n", "what is linked from outside shows")
    os.chmod(top + "/tree/.ssh", 0o755)
    os.chmod(top + "/tree/.ssh/deep", 0o755)
    record = sandbox.shell("cat %s/tree/.ssh/deep/key; ls -A %s/tree/.ssh" % (top, top), "--ro", top + "/tree", "--ro", top + "/tree/.ssh/deep/key").record
    tap.equal(record["stdout"], "KEY\ndeep\n", "one that is named exactly shows, below it: %s" % record["stderr"])
    os.makedirs(top + "/tree/other")
    os.chmod(top + "/tree/other", 0o700)
    tap.equal(sandbox.shell(script, "--ro", top + "/tree").record["stdout"], "", "one that no rule hides could hold anything")


@test("a device behind a secret's name hides nothing else, nor does a link that leads nowhere")
def _():
    top = dotfiles()
    os.unlink(top + "/home/.bash_history")
    os.symlink("/dev/null", top + "/home/.bash_history")
    os.symlink("/no/where", top + "/home/.netrc")
    os.symlink("/", top + "/home/.aws")
    record = sandbox.shell("cat %s/proj/plain; ls %s/proj" % (top, top), "--ro", top + "/proj", env=home_of(top)).record
    tap.like(record["stdout"], "PLAIN", record["stderr"])


@test("a tree named twice, and trees within one another, count a name once")
def _():
    top = place() + "/un"
    write(top + "/locked/id_rsa", "LOCKSECRET\n")
    os.makedirs(top + "/pub")
    os.link(top + "/locked/id_rsa", top + "/pub/x")
    os.chmod(top + "/locked", 0o711 if os.getuid() == 0 else 0o311)
    try:
        record = sandbox.shell("cat /p/pub/x /q/pub/x /r/x", "--ro", top + ":/p", "--ro", top + ":/q", "--ro", top + "/pub:/r").record
    finally:
        os.chmod(top + "/locked", 0o755)
    tap.equal(record["stdout"], "", "its other name was not found")


@test("a stand-in for a name that is a link hides what the link led to")
def _():
    top = place() + "/p"
    write(top + "/real/settings", "REAL\n")
    os.symlink("real/settings", top + "/settings")
    write(top + "/plain", "PLAIN\n")
    record = sandbox.shell("cd %s; cat settings plain real/settings; ls real" % top, "--ro", top, "--mask", top + "/settings=FAKE\n", "--mask", top + "/plain=FAKE2\n").record
    tap.equal(record["stdout"], "FAKE\nFAKE2\n", record["stderr"])


@test("a directory that has the number of a hidden one that is gone shows")
def _():
    top = place() + "/w"
    os.makedirs(top + "/a.tmp")
    say, done = talk(top, "--hide", "*.tmp")
    tap.equal(say("ls %s; ls %s/a.tmp 2>/dev/null" % (top, top)), "", "it is hidden")
    number = os.stat(top + "/a.tmp").st_ino
    os.rmdir(top + "/a.tmp")
    made = []
    for i in range(2000):
        made.append("%s/d%d" % (top, i))
        os.mkdir(made[-1])
        if os.stat(made[-1]).st_ino == number:
            break
    write(made[-1] + "/file", "SHOWN\n")
    tap.eventually(lambda: say("cat %s/file" % made[-1]) == "SHOWN\n", "the new directory shows", 4)
    done()


@cases("a named file beats a pattern of the caller's at the same depth: {}", [("at any depth", "*.key"), ("a name", "k.key"), ("in its directory", "{top}/*.key"), ("below a pattern", "/tmp/*/**/*.key")])
def _(_name, pattern):
    top = place() + "/a"
    path = write(top + "/k.key", "KEY\n")
    result = sandbox.run("run", "--json", "--ro", path, "--hide", pattern.replace("{top}", top), "--", "cat", path)
    tap.equal(result.record["stdout"], "KEY\n", "shown: %s" % result)
    result = sandbox.run("run", "--json", "--ro", path, "--hide", path, "--", "cat", path)
    tap.equal(result.failure, "bad_option", "but not a path: of two equal rules the one that hides wins")


@test("a bind mount of something inside a hidden directory is hidden under that name as well")
def _():
    top = place()
    write(top + "/secret/in/x", "SECRET\n")
    write(top + "/other/y", "OTHER\n")
    write(top + "/other/z", "SEEN\n")
    os.makedirs(top + "/proj")
    os.makedirs(top + "/also")
    write(top + "/file", "")
    os.makedirs(top + "/p3/sub")
    os.makedirs(top + "/p3/dk")
    write(top + "/.docker/config.json", "TOKEN\n")
    script = """
mount --bind "$1/secret/in" "$1/proj" && mount --bind "$1/secret/in/x" "$1/file" && mount --bind "$1/other" "$1/also" && mount --bind "$1/secret/in" "$1/p3/sub" && mount --bind "$1/.docker" "$1/p3/dk" || exit 99
shift
"$@"
"""

    def bound(*arguments):
        result = sandbox.run("run", "--json", *arguments, command=["unshare", *(["-m"] if os.getuid() == 0 else ["-Um", "--map-current-user", "--keep-caps"]), "sh", "-c", script, "sh", top, sandbox.CORDON])
        if result.status == 99 or b"unshare" in result.err:
            tap.skip("no mount namespace can be made here: %s" % result.errors[:100])
        return result
    for named in ("/proj", "/file"):
        tap.equal(bound("--ro", top + named + ":/p", "--hide", top + "/secret", "--", "true").failure, "bad_option", "%s is the secret" % named)
    for pattern in ("/secret/in/x", "/secret/in/*"):
        record = bound("--ro", top + ":/p", "--hide", top + pattern, "--", "sh", "-c", "cat /p/p3/sub/x; cat /p/also/z").record
        tap.equal(record["stdout"], "SEEN\n", "a hidden file below a bind in the tree")
    record = bound("--ro", top + "/p3:/p", "--", "sh", "-c", "cat /p/dk/config.json; ls /p/dk").record
    tap.equal(record["stdout"], "", "a secret of the list")
    record = bound("--ro", top + "/also", "--hide", top + "/other/y", "--", "sh", "-c", "cat $0/*; ls $0", top + "/also").record
    tap.equal(record["stdout"], "SEEN\nz\n", "one hidden file in it: %r" % record["stderr"])


@test("many listings of large directories are bounded, and one alone is not", deadline=60)
def _():
    top = place() + "/big"
    os.makedirs(top)
    for i in range(30000):
        os.close(os.open("%s/%s%06d" % (top, "n" * 200, i), os.O_CREAT))
    source = """
import os, sys
held = []
try:
    for i in range(60):
        fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
        held.append(fd)
        it = os.scandir(fd)
        next(it)
        it.close()
    print("all")
except OSError as problem:
    print(problem.errno, len(held))
for fd in held:
    os.close(fd)
print(len(os.listdir(sys.argv[1])))
"""
    result = sandbox.run("run", "--json", "--ro", top, "--", sandbox.PYTHON, "-c", source, top, deadline=50)
    first, second = result.record["stdout"].split("\n")[:2]
    number, held = first.split()
    tap.equal(int(number), 23, "ENFILE: %s" % result)
    tap.between(int(held), 3, 20, "listings that were held")
    tap.equal(second, "30000", "when they are closed it can be read")
    tap.ok(any(r["rule"] == "open-files" for r in result.record["files"]["refused"]), "told")


@test("a directory's attributes do not count what is hidden in it")
def _():
    top = place() + "/w"
    for name in (".ssh/k", "a/f"):
        write("%s/%s" % (top, name), "")
    other = place() + "/w"
    write(other + "/a/f", "")
    for directory in (top, other):
        record = sandbox.run("run", "--json", "--ro", directory, "--", "stat", "-c", "%h %s %b", directory).record
        tap.equal(record["stdout"], "1 4096 8\n", "links, size, blocks")


tap.main()
