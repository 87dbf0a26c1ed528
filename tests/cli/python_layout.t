#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interpreters and what lies around them: site directories, preloaded modules, virtual environments, links on the way.

What an interpreter's site directories hold is code of whoever can write there. It runs in the process of the body and never before that is confined.
"""
import glob
import os
import shutil
import subprocess
import tempfile

from lib import sandbox, tap
from lib.sandbox import run

# Leaves in string.digits what it could do where it ran: the filter's mode, whether a user namespace can be had, sockets among the descriptors.
SPY = """
import ctypes, os, string
mode = open('/proc/self/status').read().split('Seccomp:')[1].split()[0]
sockets = [fd for fd in os.listdir('/proc/self/fd') if os.path.lexists('/proc/self/fd/' + fd) and 'socket' in os.readlink('/proc/self/fd/' + fd)]
string.digits = '%s %d %s' % (mode, ctypes.CDLL(None).unshare(0x10000000), sockets)
"""
CONFINED = "2 -1 []"
ASK = b"import string\nreturn string.digits"


def venv(*options, python=sandbox.PYTHON):
    """A new virtual environment that everybody may read; its interpreter and its site directory."""
    place = tempfile.mkdtemp(prefix="cordon-venv-")
    os.chmod(place, 0o755)
    if subprocess.run([python, "-m", "venv", "--without-pip", *options, place], capture_output=True).returncode != 0:
        shutil.rmtree(place)
        tap.skip("python3 -m venv does not work here")
    return place, os.path.join(place, "bin", "python3"), glob.glob(place + "/lib/python3*/site-packages")[0]


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@tap.cases("{} runs confined", [("sitecustomize.py", ()), ("a.pth", ()), ("spy.py", ("--preload", "spy"))])
def _(name, options):
    place, python, site = venv()
    try:
        write(os.path.join(site, name), "import sys; exec(%r)\n" % SPY if name.endswith(".pth") else SPY)
        # Debian's own sitecustomize stands before any other where /etc is shown, as it is in tier subprocess.
        for tier in ("namespace",) if name == "sitecustomize.py" else ("namespace", "subprocess"):
            record = run("exec", "--tier", tier, "--python", python, "--allow", "string", *options, "-", stdin=ASK).expect(0).record
            tap.equal(record["output"], CONFINED, "what it could do (tier %s)" % tier)
    finally:
        shutil.rmtree(place)


@tap.test("a body that may import nothing starts without site directories; user site directories are off; a variable of the caller's has no say")
def _():
    place, python, site = venv()
    try:
        write(os.path.join(site, "sitecustomize.py"), "print('site')")
        record = run("exec", "--python", python, "-", stdin=b"return 1").expect(0).record
        tap.equal((record["output"], record["stdout"]), (1, ""), "nothing to import")
        record = run("exec", "--python", python, "--allow", "string", "-", stdin=b"return 1").expect(0).record
        tap.equal(record["stdout"], "site\n", "something to import")
        write(os.path.join(site, "usercustomize.py"), "print('user')")
        env = sandbox.environment(PYTHONPATH=site, PYTHONSTARTUP=os.path.join(site, "usercustomize.py"), PYTHONUSERBASE=place)
        record = run("exec", "--python", python, "--allow", "string", "--inherit-env", "PYTHONPATH", "--inherit-env", "PYTHONUSERBASE", "-", stdin=b"return 1", env=env).expect(0).record
        tap.equal(record["stdout"], "site\n", "no user site")
    finally:
        shutil.rmtree(place)


@tap.cases("site code that {} is heard as no more than it is", [
    ("writes on every descriptor", "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'\\xff' * 4096)\n    except OSError: pass", 125, "interpreter_missing"),
    ("says refused", "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'R')\n    except OSError: pass", None, None),
    ("ends the process", "import os\nos._exit(0)", 125, "interpreter_missing"),
    ("closes every descriptor", "import os\nos.closerange(3, 20)", 125, "interpreter_missing"),
    ("raises", "raise SystemExit('no')", 125, "interpreter_missing"),
])
def _(_name, text, status, code):
    place, python, site = venv()
    try:
        write(os.path.join(site, "sitecustomize.py"), text)
        result = run("exec", "--json", "--python", python, "--allow", "string", "-", stdin=b"import os\nreturn 1")
        if status is None:  # one byte more in a stream: read alone, or as the beginning of what follows
            tap.ok(result.status in (1, 125), "no refusal: it cannot be told whether a body began\n%s" % result)
            return
        tap.equal(result.expect(status).failure, code, "failure")
    finally:
        shutil.rmtree(place)


@tap.test("a module that cannot be preloaded is a failure of the option, with the reason")
def _():
    result = run("exec", "--python", sandbox.PYTHON, "--preload", "no_such_module", "-", stdin=b"return 1").expect(sandbox.EXIT_USAGE)
    tap.equal(result.failure, "bad_option", "failure")
    tap.like(result.text, "--preload: cannot import no_such_module: ModuleNotFoundError", "reason")


@tap.test("a body in a virtual environment has its prefix and its modules")
def _():
    place, python, site = venv()
    try:
        write(os.path.join(site, "fromvenv.py"), "answer = 42")
        record = run("exec", "--python", python, "--allow", "fromvenv,sys", "-", stdin=b"import fromvenv, sys\nreturn [fromvenv.answer, sys.prefix]").expect(0).record
        tap.equal(record["output"], [42, place], "answer and prefix")
    finally:
        shutil.rmtree(place)


def installation(place):
    """A copy of a whole interpreter outside the system's directories, and the path of its program."""
    real = os.path.join(place, "opt", "cpython-1.2.3")
    os.makedirs(real + "/bin")
    library = subprocess.run([sandbox.PYTHON, "-ISc", "import os; print(os.path.dirname(os.__file__))"], capture_output=True, text=True).stdout.strip()
    program = os.path.basename(sandbox.PYTHON)
    shutil.copy(sandbox.PYTHON, real + "/bin/" + program)
    os.symlink(program, real + "/bin/python3")
    shutil.copytree(library, real + "/lib/" + os.path.basename(library), symlinks=True, ignore=shutil.ignore_patterns("test", "__pycache__", "idlelib", "dist-packages"))
    os.makedirs(real + "/lib/" + os.path.basename(library) + "/site-packages", exist_ok=True)
    return real


def layout_alias(place):
    real = installation(place)
    os.symlink("cpython-1.2.3", place + "/opt/cpython-1.2")
    return place + "/opt/cpython-1.2/bin/python3", ()


def layout_copies(place):
    return installation(place) + "/bin/python3", ("--copies",)


def layout_plain(place):
    return installation(place) + "/bin/python3", ()


def layout_system_copies(_place):
    return sandbox.PYTHON, ("--copies",)


def layout_uv(place):
    """uv: a directory of the version beside one of the minor version, links between them, and a link to the program elsewhere."""
    real = installation(place)
    os.makedirs(place + "/bin")
    os.symlink("cpython-1.2.3", place + "/opt/cpython-1.2-linux-x86_64-gnu")
    os.symlink("../opt/cpython-1.2-linux-x86_64-gnu/bin/python3", place + "/bin/python3")
    assert os.path.realpath(place + "/bin/python3").startswith(real)
    return place + "/bin/python3", ()


def layout_homebrew(place):
    """Homebrew: links from bin and opt into Cellar, and site-packages back out of it."""
    real = installation(place)
    brew = place + "/homebrew"
    os.makedirs(brew + "/Cellar/python@1.2")
    os.makedirs(brew + "/opt")
    os.makedirs(brew + "/bin")
    os.rename(real, brew + "/Cellar/python@1.2/1.2.3")
    os.symlink("../Cellar/python@1.2/1.2.3", brew + "/opt/python@1.2")
    os.symlink("../Cellar/python@1.2/1.2.3/bin/python3", brew + "/bin/python3")
    return brew + "/opt/python@1.2/bin/python3", ()


@tap.cases("a virtual environment of {} is found with its modules and its prefix", [
    ("an installation elsewhere", layout_plain), ("an alias directory", layout_alias), ("copies", layout_copies), ("copies of the system's", layout_system_copies),
    ("uv's layout", layout_uv), ("Homebrew's layout", layout_homebrew)], deadline=120)
def _(_name, layout):
    # Outside /tmp, which each execution has for itself, as such installations are.
    place = tempfile.mkdtemp(prefix="cordon-layout-", dir="/var/tmp")
    os.chmod(place, 0o755)
    try:
        base, options = layout(place)
        if subprocess.run([base, "-m", "venv", "--without-pip", *options, place + "/venv"], capture_output=True).returncode != 0:
            tap.skip("%s -m venv does not work" % base)
        site = glob.glob(place + "/venv/lib/python3*/site-packages")[0]
        write(site + "/fromvenv.py", "answer = 42")
        source = b"import fromvenv, sys\nreturn [fromvenv.answer, sys.prefix, sys.base_prefix]"
        outside = subprocess.run([place + "/venv/bin/python3", "-Ic", "import sys; print(sys.prefix, sys.base_prefix)"], capture_output=True, text=True).stdout.split()
        for tier in ("namespace", "subprocess"):
            record = run("exec", "--tier", tier, "--python", place + "/venv/bin/python3", "--allow", "fromvenv,sys", "-", stdin=source).expect(0).record
            tap.equal(record["output"], [42, *outside], "as outside (tier %s)" % tier)
        record = run("run", "--json", "--python", place + "/venv/bin/python3", "--code", "import fromvenv, sys; print(sys.prefix)").expect(0).record
        tap.equal(record["stdout"].split(), outside[:1], "a script")
    finally:
        shutil.rmtree(place)


tap.main()
