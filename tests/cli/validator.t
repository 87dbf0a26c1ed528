#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The validator and the wrapper, tested in plain interpreters without any namespace.

Each interpreter of CORDON_PYTHONS loads the one built extension from CORDON_RUNNER_DIR and takes every row of the tables beside this file.
A row runs in a forked child with a deadline, so a crash or a hang is one failed test and no more. The sample programs of CORDON_CASES
are tried as well when the directory is there.
"""
import importlib.util
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE = 30  # seconds; a busy machine is slow


def parent():
    """Runs this file under every interpreter and numbers what they say."""
    directory = os.environ.get("CORDON_RUNNER_DIR", os.path.join("isolate", ".libs"))
    pythons = os.environ.get("CORDON_PYTHONS", "python3").split()
    number = 0
    if not os.path.exists(os.path.join(directory, "_cordon.so")):
        print("1..0 # SKIP %s does not hold _cordon.so (CORDON_RUNNER_DIR)" % (directory or "nothing"))
        return 0
    for python in pythons:
        child = subprocess.run([python, "-I", os.path.abspath(__file__), "child", os.path.abspath(directory), os.environ.get("CORDON_CASES", "")],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        finished = False
        for line in child.stdout.splitlines():
            match = re.match(r"(ok|not ok) - (.*)", line)
            if match:
                number += 1
                print("%s %d - %s: %s" % (match.group(1), number, os.path.basename(python) if "/" not in python else python, match.group(2)))
            elif line == "finished":
                finished = True
            else:
                print("# " + line)
        number += 1
        print("%s %d - %s: all rows were tried" % ("ok" if finished and child.returncode == 0 else "not ok", number, python))
    print("1..%d" % number)
    return 0


def perform(runner, source, memory=0, **options):
    """One request in a forked child. Returns (answer, what it printed, wait status)."""
    read, write = os.pipe()
    with tempfile.TemporaryFile() as printed:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(DEADLINE)
                os.close(read)
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
                if memory:
                    with open("/proc/self/statm") as sizes:
                        used = int(sizes.read().split()[0]) * resource.getpagesize()
                    resource.setrlimit(resource.RLIMIT_AS, (used + memory * 2 ** 20,) * 2)
                answer = runner.perform(dict(options, source=source))
                data = b"\0".join([answer["verdict"].encode(), answer["output"], answer["error"], answer["detail"]])
                with open(write, "wb") as pipe:
                    pipe.write(data)
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        with open(read, "rb") as pipe:
            data = pipe.read()
        status = os.waitpid(child, 0)[1]
        printed.seek(0)
        text = printed.read().decode("utf-8", "replace")
    parts = data.split(b"\0")
    if len(parts) != 4:
        return {"verdict": "none", "output": "", "error": "", "detail": None}, text, status
    verdict, output, error, detail = (part.decode("utf-8") for part in parts)
    return {"verdict": verdict, "output": output, "error": error, "detail": json.loads(detail) if detail else None}, text, status


class Report:
    def __init__(self):
        self.failed = 0

    def check(self, good, name, *notes):
        name = name if len(name) < 110 else name[:107] + "..."
        print("%s - %s" % ("ok" if good else "not ok", name.replace("#", "\\#")))
        if not good:
            self.failed += 1
            for note in notes:
                print("  " + repr(note)[:400])


def split(row, width):
    """A row's fields and its options, or None when this interpreter cannot parse it."""
    options = dict(row[width]) if len(row) > width else {}
    if sys.version_info < options.pop("python", (3, 9)):
        return None
    needs = options.pop("needs", None)
    if needs and not importlib.util.find_spec(needs):
        print("ok - %s # SKIP this Python has no module %s" % (title(row[1]), needs))
        return None
    return row[:width] + (options,)


def title(source):
    text = source if isinstance(source, str) else source.decode("latin-1")
    return ascii(text if len(text) < 80 else text[:77] + "...")[1:-1]


def check_refused(report, runner, table):
    seen = set()
    for row in filter(None, (split(row, 2) for row in table)):
        rule, source, options = row
        answer, printed, status = perform(runner, source, **options)
        found = answer["detail"]["violations"] if answer["verdict"] == "refused" else []
        rules = {v["rule"] for v in found}
        seen |= rules
        report.check(rule in rules and status == 0 and not printed.startswith("Traceback"), "%s: %s" % (rule, title(source)), answer["verdict"], answer["error"], sorted(rules))
        if found and not all(v["rewrite"] or v["rule"] == "syntax" for v in found):
            report.check(False, "every refusal says what to write instead: %s" % title(source), found)
    missing = set(runner.rules()) - seen - {"syntax-unknown"}  # that one needs syntax of the future
    report.check(not missing, "every rule has a row that meets it", sorted(missing))


def check_accepted(report, runner, table):
    for row in filter(None, (split(row, 2) for row in table)):
        output, source, options = row
        answer, _, status = perform(runner, source, **options)
        report.check(answer["verdict"] == "succeeded" and answer["output"] == output, "runs: %s" % title(source), answer["output"], answer["error"], status)
        checked, printed, _ = perform(runner, source, validate_only=True, **options)
        report.check(checked["verdict"] == "succeeded" and not printed, "validates without running: %s" % title(source), checked["error"], printed)


def check_answers(report, runner, module):
    for output, source in module.OUTPUTS:
        answer, _, _ = perform(runner, source)
        report.check(answer["output"] == output, "output of %s" % title(source), answer["output"][:200], answer["error"])
    for row in filter(None, (split(row, 2) for row in module.ERRORS)):
        start, source, options = row
        answer, _, status = perform(runner, source, **options)
        report.check(answer["verdict"] == "failed" and answer["error"].startswith(start) and "\n" not in answer["error"] and answer["detail"]["stage"] == "execute",
                     "error of %s" % title(source), answer["verdict"], answer["error"], status)
    for source, options in module.RUNTIME:
        answer, _, status = perform(runner, source, skip_validation=True, **options)
        report.check(answer["verdict"] != "succeeded" or answer["output"] == "false", "without the validator: %s" % title(source), answer, status)


def check_places(report, runner):
    """Lines and columns, the whole list of violations, and how long lists and tracebacks are cut."""
    answer, _, _ = perform(runner, "x = 1\ny = '\u00e9', eval, x.__class__\nimport json\n")
    places = [(v["rule"], v["line"], v["column"]) for v in answer["detail"]["violations"]]
    report.check(places == [("name-forbidden", 2, 10), ("attribute-forbidden", 2, 18), ("import-not-allowed", 3, 8 if sys.version_info >= (3, 10) else 1)],
                 "all violations, with line and column in characters", places)
    report.check(answer["error"].startswith("ValidationError: line 2: the name 'eval' is not allowed") and answer["error"].endswith("(and 2 more)"),
                 "the error line tells the first and counts the rest", answer["error"])
    answer, _, _ = perform(runner, "eval\n" * 150)
    report.check(len(answer["detail"]["violations"]) == 100 and answer["detail"]["violations_dropped"] == 50, "the list is cut at 100")
    answer, _, _ = perform(runner, "x = 1\n\ndef f():\n    return x / 0\n\nf()\n")
    detail = answer["detail"]
    report.check((detail["type"], detail["line"], [f["line"] for f in detail["traceback"]], detail["traceback"][1]["text"]) ==
                 ("ZeroDivisionError", 4, [6, 4], "return x / 0"), "a traceback has the body's own lines", detail)
    if sys.version_info >= (3, 11):
        report.check(detail["column"] == 12, "and the column", detail["column"])
    answer, _, _ = perform(runner, "def f(n): return f(n + 1)\nf(0)")
    report.check(len(answer["detail"]["traceback"]) == 25, "a long traceback is cut", len(answer["detail"]["traceback"]))
    answer, _, _ = perform(runner, "import json\njson.loads('{')", allow="json")
    files = [f["file"] for f in answer["detail"]["traceback"]]
    report.check(answer["error"].startswith("JSONDecodeError: ") and files[0] == "<body>" and answer["detail"]["line"] == 2, "library frames keep their files", files)
    answer, _, _ = perform(runner, "x = 1\n", return_expr="x / 0")
    report.check(answer["detail"]["line"] == 2, "the return expression stands after the body's last line", answer["detail"])
    answer, _, _ = perform(runner, "raise ValueError('x' * 100000)")
    report.check(len(answer["error"]) < 4200, "a long message is cut", len(answer["error"]))
    answer, printed, _ = perform(runner, "print('out')\nreturn 1")
    report.check(printed == "out\n", "what was printed is flushed before the answer", printed)


def check_texts(report, runner):
    """Texts that are hostile to a parser."""
    for name, source in (("10,000 parentheses", "(" * 10000), ("10,000 digits", "x = " + "9" * 10000), ("5 MB", "x = 1\n" * 900000),
                         ("100 indents", "".join(" " * i + "if 1:\n" for i in range(200))), ("deep brackets", "x = " + "[" * 180 + "]" * 180),
                         ("chained calls", "x = f" + "()" * 8000), ("backslash at the end", "x = 1\\"),
                         ("only NUL", b"\0"), ("UTF-16", "x = 1".encode("utf-16")), ("unterminated", "'''" + "x" * 60000)):
        answer, _, status = perform(runner, source)
        report.check(answer["verdict"] == "refused" and status == 0, "%s is refused, not a crash" % name, answer, status)
    answer, _, status = perform(runner, "if 0: pass\n" + "elif 0: pass\n" * 4000)
    report.check(answer["verdict"] in ("refused", "succeeded") and status == 0, "an elif chain of 4,000 is judged, not a crash", answer, status)
    answer, _, _ = perform(runner, "x = 5\nif x == 0: y = 0\n" + "".join("elif x == %d: y = %d\n" % (i, i) for i in range(1, 90)) + "return y")
    report.check(answer["output"] == "5", "an elif chain of 90 is ordinary", answer["error"])


def check_modules(report, runner):
    answers = [perform(runner, "import random\nreturn random.random()", allow="random")[0]["output"] for _ in range(2)]
    report.check(answers[0] != answers[1], "a child of the fork has a random generator of its own", answers)
    runner.preload("json, re")
    report.check("json" in sys.modules, "modules are preloaded")
    try:
        runner.preload("no_such_module_here")
        report.check(False, "a missing preload is an error")
    except ImportError as err:
        report.check("no_such_module_here" in str(err), "a missing preload is an error that names it", str(err))
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("ok - numpy # SKIP it is not installed for this interpreter")
        return
    for output, source in ((b"5.0", "import numpy as np\nreturn float(np.linalg.norm([3.0, 4.0]))"), (b"[1,2]", "from numpy import array\nreturn array([1, 2]).tolist()")):
        answer, _, _ = perform(runner, source, allow="numpy")
        report.check(answer["output"] == output.decode(), "numpy: %s" % title(source), answer["error"])
    answer, _, _ = perform(runner, "import numpy as np\nreturn np.core.numeric.sys.modules", allow="numpy")
    report.check(answer["verdict"] != "succeeded", "numpy does not hand over other modules", answer["error"])


def header(text):
    """The `# key: value` lines of a sample program."""
    fields, lines = {}, text.splitlines()
    for i, line in enumerate(lines):
        match = re.match(r"#\s+(benign|allow|permit|class|should stop|expect):(.*)", line)
        if match and match.group(1) == "expect":
            rest = []
            while i + 1 < len(lines) and lines[i + 1].startswith("#   "):
                i += 1
                rest.append(lines[i][4:])
            fields["expect"] = "\n".join(rest)
        elif match:
            fields[match.group(1)] = match.group(2).strip()
    for key in ("allow", "permit"):
        fields[key] = "" if fields.get(key, "").startswith("(none") else fields.get(key, "").replace(" ", "")
    return fields


def check_samples(report, runner, directory):
    if not directory or not os.path.isdir(directory):
        print("ok - the sample programs # SKIP CORDON_CASES names no directory")
        return
    for name in sorted(os.listdir(os.path.join(directory, "benign"))):
        with open(os.path.join(directory, "benign", name), "rb") as file:
            source = file.read()
        fields = header(source.decode())
        if b"\nmatch " in source or b"    match " in source:
            if sys.version_info < (3, 10):
                continue
        answer, printed, _ = perform(runner, source, allow=fields["allow"], permit=fields["permit"])
        report.check(answer["verdict"] == "succeeded" and printed.rstrip("\n") == fields["expect"], "benign/%s" % name, answer["error"], printed)
    for name in sorted(os.listdir(os.path.join(directory, "pyjail"))):
        with open(os.path.join(directory, "pyjail", name), "rb") as file:
            source = file.read()
        fields = header(source.decode("utf-8", "replace"))
        layer = re.match(r"[a-z]*", fields["should stop"]).group(0)
        if layer in ("validator", "import", "restricted", "runtime"):
            answer, _, _ = perform(runner, source, allow=fields["allow"])
            report.check(answer["verdict"] == "refused", "pyjail/%s is refused" % name, answer)
        elif layer in ("accept", "none"):
            if b"\nmatch " in source and sys.version_info < (3, 10):
                continue
            answer, _, _ = perform(runner, source, allow=fields["allow"], validate_only=True)
            report.check(answer["verdict"] == "succeeded", "pyjail/%s is accepted" % name, answer["error"])


def child(directory, cases):
    sys.path[:0] = [directory, HERE]
    import _cordon
    import validator_accepted
    import validator_answers
    import validator_refused
    report = Report()
    check_refused(report, _cordon, validator_refused.REFUSED)
    check_accepted(report, _cordon, validator_accepted.ACCEPTED)
    check_answers(report, _cordon, validator_answers)
    check_places(report, _cordon)
    check_texts(report, _cordon)
    check_modules(report, _cordon)
    check_samples(report, _cordon, cases)
    print("finished")
    return 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(child(sys.argv[2], sys.argv[3]) if sys.argv[1:2] == ["child"] else parent())
