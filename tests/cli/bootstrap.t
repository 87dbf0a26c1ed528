#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./bootstrap: what it says where it cannot install, and that it installs nothing that is there.

It is run with a PATH that holds chosen tools only, and with an os-release of another distribution. Nothing is installed by these tests: apt-get is a stand-in that
writes down what it was asked for.
"""
import os
import shutil
import subprocess

from lib import leaks, sandbox, tap

TOOLS = ["sh", "dash", "bash", "dirname", "sed", "id", "cat", "mktemp", "rm", "find", "nproc", "echo", "printf", "test", "env", "true", "python3", "perl", "make", "cc", "gcc", "as", "ld"]


def bare_path(*without):
    """A directory with links to the basic tools only."""
    place = leaks.scratch()
    for tool in TOOLS:
        found = shutil.which(tool, path="/usr/bin:/bin")
        if found and tool not in without:
            os.symlink(found, os.path.join(place, tool))
    return place


def bootstrap(path, release, *arguments):
    copy = leaks.scratch()
    shutil.copy(os.path.join(sandbox.SOURCE, "bootstrap"), copy)
    with open(copy + "/os-release", "w") as file:
        file.write(release)
    return subprocess.run(["/bin/sh", copy + "/bootstrap", *arguments], env={"PATH": path, "HOME": "/nonexistent", "CORDON_OS_RELEASE": copy + "/os-release"}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)


@tap.cases("on {} it prints the names of the packages and stops", [
    ("Fedora", "ID=fedora\n", "dnf install", "libseccomp-devel", "libnl3-devel"), ("Arch", "ID=arch\n", "pacman -S", "libseccomp", "libnl"),
    ("Alpine", "ID=alpine\n", "needs glibc", "musl"), ("openSUSE", 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n', "zypper install", "libseccomp-devel", "libnl3-devel"),
    ("a system that it does not know", "ID=plan9\n", "pacman -S", "apt-get install", "libnl-3-dev")])
def _(_name, release, *words):
    done = bootstrap(bare_path(), release)
    tap.equal(done.returncode, 1, "status: %r" % done.stderr)
    for word in words:
        tap.ok(word in done.stderr, "%r is named in %r" % (word, done.stderr))


@tap.test("on Debian it asks apt-get for what is missing and nothing else")
def _():
    path = bare_path()
    log = os.path.join(path, "log")
    with open(path + "/apt-get", "w") as file:
        file.write('#!/bin/sh\necho "$@" >> %s\n' % log)
    os.chmod(path + "/apt-get", 0o755)
    if os.getuid() != 0:
        with open(path + "/sudo", "w") as file:
            file.write('#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n')
        os.chmod(path + "/sudo", 0o755)
    done = bootstrap(path, "ID=debian\n")
    tap.equal(done.returncode, 1, "it says what is still missing: %r" % done.stderr)
    asked = open(log).read().splitlines()
    tap.like(asked[0], "update", "apt-get update first")
    packages = asked[1].split()
    for word in ("autoconf", "automake", "libtool", "pkg-config", "libseccomp-dev", "libnl-3-dev", "libsqlite3-dev", "scdoc"):
        tap.ok(word in packages, "%s is asked for in %r" % (word, packages))
    for word in ("make", "gcc", "python3"):
        tap.ok(word not in packages, "%s is there already, and not asked for" % word)
    tap.like(done.stderr, "still missing", "stderr")


@tap.test("an ordinary user without sudo is told the command")
def _():
    path = bare_path()
    os.symlink("/bin/true", path + "/apt-get")
    if os.getuid() == 0:
        os.remove(path + "/id")
        with open(path + "/id", "w") as file:
            file.write("#!/bin/sh\necho 1000\n")
        os.chmod(path + "/id", 0o755)
    done = bootstrap(path, "ID=ubuntu\nID_LIKE=debian\n")
    tap.equal(done.returncode, 1, "status")
    tap.like(done.stderr, "as root: apt-get install .*libseccomp-dev", "the command")


@tap.cases("where {} is too old it says which version is needed, and which releases have it", [
    ("libfuse", "fuse3", "3.10.5", "3.14"), ("SQLite", "sqlite3", "3.34.1", "3.37")])
def _(name, module, has, needed):
    path = bare_path()
    for tool in ("autoreconf", "automake", "libtoolize", "prove", "scdoc"):
        os.symlink("/bin/true", os.path.join(path, tool))
    with open(path + "/pkg-config", "w") as file:
        file.write("""#!/bin/sh
case "$1 $2" in
"--modversion %s") echo %s ;;
"--modversion "*) echo 99 ;;
"--atleast-version=%s %s") exit 1 ;;
esac
""" % (module, has, needed, module))
    os.chmod(path + "/pkg-config", 0o755)
    done = bootstrap(path, "ID=debian\n")
    tap.equal(done.returncode, 1, "status: %r" % done.stderr)
    for word in ("%s %s is too old, %s or later" % (name, has, needed), "Debian 12", "Ubuntu 24.04", "RHEL 10"):
        tap.ok(word in done.stderr, "%r is named in %r" % (word, done.stderr))


@tap.test("--help says what it does")
def _():
    done = bootstrap("/usr/bin:/bin", "ID=debian\n", "--help")
    tap.equal(done.returncode, 0, "status")
    tap.like(done.stdout, "usage: ./bootstrap", "usage")


tap.main()
