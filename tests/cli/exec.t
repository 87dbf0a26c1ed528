#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cordon exec`: a body, its arguments, its value, its record.

The values that come back are compared as bytes where bytes are promised: big integers, escapes and key order pass through as the runner wrote them. What the
validator refuses is tested rule by rule elsewhere; here stands how a refusal looks from outside.
"""
import re

from lib import sandbox, tap
from lib.sandbox import body


def output_bytes(result):
    """The raw JSON text of `output` in the record."""
    result.record
    match = re.search(rb'"output":(.*?),"error":', result.out, re.DOTALL)
    tap.ok(match, "output stands before error in the record\n%s" % result)
    return match.group(1)


@tap.test("the example body of the documents gives its numbers")
def _():
    source = "import re\nreturn re.findall(r'\\d+', args['text'])\n"
    record = body(source, "--args", '{"text":"a1 b22 c333"}', "--allow", "re").expect(0).record
    tap.equal(record["output"], ["1", "22", "333"], "output")
    tap.equal((record["success"], record["error"], record["error_detail"]), (True, None, None), "record")


@tap.test("an endless loop is told in the words of the contract")
def _():
    record = body("while True: pass", "--timeout", "0.5").record
    tap.equal(record["error"], "sandbox execution timed out after 0.50s", "error")
    tap.equal((record["success"], record["timed_out"]), (False, True), "record")


@tap.test("a body that prints and returns nothing gives null")
def _():
    record = body("print('hello')").expect(0).record
    tap.equal((record["stdout"], record["output"]), ("hello\n", None), "record")


@tap.cases("the value {} comes back to the byte", [
    ("2**64", b"18446744073709551616"),
    ("-(2**63)-1", b"-9223372036854775809"),
    ("2**53+1", b"9007199254740993"),
    ("1e300", b"1e+300"),
    ("0.1", b"0.1"),
    ("1.0", b"1.0"),
    ("-0.0", b"-0.0"),
    ("'a\\x00b'", b'"a\\u0000b"'),
    ("'\\x1b'", b'"\\u001b"'),
    ("{'z': 1, 'a': 2, 'm': 3}", b'{"z":1,"a":2,"m":3}'),
    ("(1, (2,))", b"[1,[2]]"),
    ("True", b"true"),
    ("None", b"null"),
    ("''", b'""'),
    ("[]", b"[]"),
    ("{}", b"{}"),
])
def _(expression, wanted):
    raw = output_bytes(body("return " + expression).expect(0))
    tap.equal(re.sub(rb'(?<=[,:])\s+(?=[\[{"\d-])', b"", raw), wanted, "output of %s" % expression)


@tap.test("text beyond ASCII comes back whole")
def _():
    tap.equal(body("return 'ü€😀'").expect(0).record["output"], "ü€😀", "output")


@tap.test("nested 500 deep is given, 5000 deep is an error that says where")
def _():
    source = "x = []\nfor _ in range(%d):\n    x = [x]\nreturn x"
    raw = output_bytes(body(source % 499).expect(0))
    tap.equal(raw.replace(b" ", b""), b"[" * 500 + b"]" * 500, "500 levels")
    record = body(source % 5000).expect(1).record
    tap.like(record["error"], "not JSON-serializable", "5000 levels")


@tap.cases("{} is no JSON, and the error says where", [
    ("a set", "[1, {'x': {1, 2}}]", r"output\[1\]\.x"),
    ("NaN", "{'a': [float('nan')]}", r"output\.a\[0\]"),
    ("infinity", "float('inf')", r"output"),
    ("bytes", "[0, 1, 2, {'x': b'q'}]", r"output\[3\]\.x"),
    ("a key that is no text and no number", "{'k': {(1,): 2}}", r"output\.k"),
    ("an object", "[object]", r"output\[0\]"),
])
def _(_name, expression, where):
    record = body("return " + expression).expect(1).record
    tap.like(record["error"], "not JSON-serializable", "error")
    tap.like(record["error"], where, "where")
    tap.equal(record["output"], None, "output")


@tap.test("a cycle is an error and no endless walk")
def _():
    tap.like(body("x = []\nx.append(x)\nreturn x").expect(1).record["error"], "not JSON-serializable", "error")


@tap.test("arguments keep every digit, escape and order")
def _():
    given = '{"n":12345678901234567890123,"s":"\\u0000\\ud83d\\ude00","z":1,"a":[true,null,1.50]}'
    record = body("return [args['n'] + 1, args['s'], list(args), args['a']]", "--args", given).expect(0).record
    tap.equal(record["output"], [12345678901234567890124, "\0😀", ["n", "s", "z", "a"], [True, None, 1.5]], "output")


@tap.test("--args @FILE reads a file of the caller")
def _():
    import os
    from lib import leaks
    path = os.path.join(leaks.scratch(), "args.json")
    with open(path, "w") as file:
        file.write('{"a": 41}')
    tap.equal(body("return args['a'] + 1", "--args", "@" + path).expect(0).record["output"], 42, "output")


@tap.test("a body can come from a file")
def _():
    import os
    from lib import leaks
    path = os.path.join(leaks.scratch(), "body.py")
    with open(path, "w") as file:
        file.write("return 'from a file'")
    tap.equal(sandbox.run("exec", "--python", sandbox.PYTHON, path).expect(0).record["output"], "from a file", "output")


@tap.test("--return gives the value of an expression over the body's names")
def _():
    tap.equal(body("total = sum(range(5))", "--return", "{'total': total}").expect(0).record["output"], {"total": 10}, "output")


@tap.test("a multi-line string stays as it was")
def _():
    tap.equal(body('x = """a\n  b\n\tc\n"""\nreturn x').expect(0).record["output"], "a\n  b\n\tc\n", "output")


@tap.test("classes, super, properties and exceptions work")
def _():
    source = """
class A:
    def __init__(self, x):
        self.x = x
    @property
    def twice(self):
        return 2 * self.x
class B(A):
    def __init__(self):
        super().__init__(21)
try:
    [][1]
except IndexError as e:
    return [B().twice, str(e)]
"""
    record = body(source, "--permit", "super,__init__").expect(0).record
    tap.equal(record["output"], [42, "list index out of range"], "output")


@tap.test("C code that imports by itself works")
def _():
    record = body("import datetime\nreturn datetime.date(2020, 2, 3).strftime('%Y/%m') + str(datetime.datetime.strptime('2021', '%Y').year)",
                  "--allow", "datetime").expect(0).record
    tap.equal(record["output"], "2020/022021", "output")


@tap.test("an exception is one line, with stage, type, line and a traceback of the sandbox's own paths")
def _():
    record = body("def f(x):\n    return 1 // x\nf(0)\n").expect(1).record
    tap.equal(record["error"].split(":")[0], "ZeroDivisionError", "error")
    detail = record["error_detail"]
    tap.equal((detail["stage"], detail["type"], detail["line"]), ("execute", "ZeroDivisionError", 2), "error_detail")
    tap.ok(isinstance(detail["traceback"], list) and detail["traceback"] or isinstance(detail["traceback"], str) and detail["traceback"], "a traceback")
    tap.unlike(repr(detail), re.escape(sandbox.SOURCE), "no host path")


@tap.cases("an exception of the kind {} is a record", [
    ("SystemExit", "raise SystemExit(3)"),
    ("KeyboardInterrupt", "raise KeyboardInterrupt"),
    ("BaseException", "raise BaseException('x')"),
    ("RecursionError", "def f(): return f()\nf()"),
    ("MemoryError", "x = [0] * (1 << 40)"),
    ("ValueError", "raise ValueError('two\\nlines\\x1b[31m')"),
])
def _(name, source):
    record = body(source).expect(1).record
    tap.like(record["error"], "^%s" % name, "error")
    tap.ok("\n" not in record["error"], "one line")
    tap.equal(record["success"], False, "success")


@tap.test("a refused body is 2, with every violation, each with a rule, a place and a rewrite")
def _():
    record = body("import os\nx = eval('1')\ny = ().__class__\n").expect(2).record
    tap.equal((record["success"], record["error_detail"]["stage"]), (False, "validate"), "record")
    violations = record["error_detail"]["violations"]
    tap.equal(sorted({v["line"] for v in violations}), [1, 2, 3], "one a line: %r" % violations)
    for violation in violations:
        tap.ok(violation["rule"] and violation["message"] and isinstance(violation["column"], int), "rule, message, column: %r" % violation)
    tap.like(record["error"], "^Validation", "error")


@tap.test("a refused body did not run")
def _():
    tap.equal(body("print('ran')\nimport os").expect(2).record["stdout"], "", "stdout")


@tap.test("--permit lifts a rule for one name, and the record says so")
def _():
    source = "return type(1).__module__"
    body(source).expect(2)
    record = body(source, "--permit", "type,__module__").expect(0).record
    tap.equal(record["output"], "builtins", "output")
    tap.like(repr(record["confinement"]), "__module__", "confinement names what was permitted")


@tap.test("an import that is not allowed is refused, one that is allowed runs")
def _():
    body("import math\nreturn math.pi").expect(2)
    tap.equal(body("import math\nreturn math.floor(math.pi)", "--allow", "math").expect(0).record["output"], 3, "output")


@tap.test("validate says the same as exec and runs nothing")
def _():
    good = sandbox.run("validate", "--python", sandbox.PYTHON, "--json", "-", stdin=b"print('ran')\nreturn 1")
    good.expect(0)
    tap.unlike(good.text, "ran", "nothing ran")
    bad = sandbox.run("validate", "--python", sandbox.PYTHON, "--json", "-", stdin=b"import json\neval('1')").expect(2)
    tap.like(bad.text, "import-not-allowed", "the rule's name")
    plain = sandbox.run("validate", "--python", sandbox.PYTHON, "-", stdin=b"import os").expect(2)
    tap.like(plain.text + plain.errors, "import", "words for a person")


@tap.test("random numbers differ from call to call")
def _():
    values = {body("import random\nreturn random.random()", "--allow", "random").expect(0).record["output"] for _ in range(4)}
    tap.equal(len(values), 4, "different values")


@tap.test("modules come from the interpreter, not from the caller's directory")
def _():
    import os
    from lib import leaks
    place = leaks.scratch()
    with open(os.path.join(place, "colorsys.py"), "w") as file:
        file.write("print('hijacked')\nrgb_to_hsv = 1\n")
    record = body("import colorsys\nreturn colorsys.rgb_to_hsv(0, 0, 0)[0]", "--allow", "colorsys", cwd=place).expect(0).record
    tap.equal((record["stdout"], record["output"]), ("", 0.0), "record")


@tap.test("a returned value above the output limit is an error that names the option")
def _():
    record = body("return 'x' * 5000", "--output-limit", "1000").expect(1).record
    tap.like(record["error"], "output-limit", "error")
    tap.equal(record["output"], None, "output")


@tap.test("output above the limit is cut, and the record counts what was dropped")
def _():
    record = body("print('x' * 5000)", "--output-limit", "1000").expect(0).record
    tap.equal(record["stdout"], "x" * 1000, "stdout")
    tap.like(repr(record["truncated"]), "400[01]", "dropped bytes: %r" % record["truncated"])


@tap.cases("the interpreter {} is found as a person means it", [("python3 on PATH", None), ("/usr/bin/python3", "/usr/bin/python3")])
def _(_name, path):
    import os
    if path and not os.path.exists(path):
        tap.skip("%s is not here" % path)
    options = ["--python", path] if path else []
    tap.equal(sandbox.run("exec", *options, "-", stdin=b"return 6 * 7").expect(0).record["output"], 42, "output")


@tap.test("a virtual environment is an interpreter too")
def _():
    import os
    import subprocess
    from lib import leaks
    place = leaks.scratch()
    made = subprocess.run([sandbox.PYTHON, "-m", "venv", "--without-pip", os.path.join(place, "venv")], capture_output=True)
    if made.returncode:
        tap.skip("python3 -m venv does not work here")
    site = [d for d, _, _ in os.walk(os.path.join(place, "venv")) if d.endswith("site-packages")][0]
    with open(os.path.join(site, "fromvenv.py"), "w") as file:
        file.write("answer = 42\n")
    result = sandbox.run("exec", "--python", os.path.join(place, "venv", "bin", "python3"), "--allow", "fromvenv", "-", stdin=b"import fromvenv\nreturn fromvenv.answer")
    tap.equal(result.expect(0).record["output"], 42, "output")


@tap.test("a symlink to the interpreter works")
def _():
    import os
    from lib import leaks
    link = os.path.join(leaks.scratch(), "my-python")
    os.symlink(sandbox.PYTHON, link)
    tap.equal(sandbox.run("exec", "--python", link, "-", stdin=b"return 1").expect(0).record["output"], 1, "output")


@tap.test("a shim script on PATH leads to the interpreter that it starts")
def _():
    import os
    from lib import leaks
    place = leaks.scratch()
    shim = os.path.join(place, "python3")
    with open(shim, "w") as file:
        file.write("#!/bin/sh\nexec %s \"$@\"\n" % sandbox.PYTHON)
    os.chmod(shim, 0o755)
    env = sandbox.environment(PATH=place + ":" + os.environ["PATH"])
    tap.equal(sandbox.run("exec", "-", stdin=b"return 2", env=env).expect(0).record["output"], 2, "output")


@tap.cases("a wrong interpreter is interpreter_missing: {}", [("no such file", "/no/such/python"), ("not Python", "/bin/true"), ("a directory", "/usr")])
def _(_name, path):
    result = sandbox.run("exec", "--json", "--python", path, "-", stdin=b"return 1")
    tap.equal(result.failure, "interpreter_missing", "failure code")
    tap.like(result.text + result.errors, re.escape(path), "what was tried is named")


@tap.test("a body that began cannot leave a refusal by validation")
def _():
    source = """import os, struct
for line in open('/proc/self/maps'):
    if 'memfd:reply' in line:
        start = int(line.split('-')[0], 16)
with open('/proc/self/mem', 'r+b', buffering=0) as memory:
    memory.seek(start + 64)
    memory.write(b'ValidationError: forged')
    memory.seek(start + 16)
    memory.write(struct.pack('<6Q', 0, 0, 0, 23, 0, 0))
    memory.seek(start)
    memory.write(struct.pack('<I', 3))
os._exit(0)
"""
    record = body(source, "--allow", "os,struct", "--permit", "open,os").expect(1).record
    tap.like(record["error"], "^ResultChannel: ", "error")
    tap.like(body("import os").expect(2).record["error"], "^ValidationError: ", "a true one")


@tap.cases("a text that is {} is refused with what to strip, and runs with --dedent", [
    ("fenced", "```python\nx = 1\nif x:\n    return 'a\\n'\n```\n", "backquotes", "a\n"),
    ("indented", "    x = 1\n\n    if x:\n        return 2", "indented as a whole", 2),
    ("fenced and indented", "\n  ```\n  return 3\n  ```", "backquotes", 3),
    ("indented by tabs", "\treturn [\n\t\t4]\n", "indented as a whole", [4]),
    ("fenced without an end", "```py\nreturn 5", "backquotes", 5),
])
def _(_name, source, hint, output):
    tap.like(body(source).expect(2).record["error"], hint + ".*--dedent", "error")
    tap.equal(body(source, "--dedent").expect(0).record["output"], output, "output")
    tap.equal(body(source.replace("return", "1 / 0; return"), "--dedent").expect(1).record["error_detail"]["line"],
              source[:source.index("return")].count("\n") + 1, "line")


@tap.test("--dedent leaves an ordinary body alone")
def _():
    source = "x = \'\'\'\n  a\n ```\n\'\'\'\nreturn x\n"
    tap.equal(body(source, "--dedent").expect(0).record["output"], "\n  a\n ```\n", "output")


@tap.test("the rules are listed, for a prompt and in full")
def _():
    text = sandbox.run("validate", "--list-rules").expect(0).text
    tap.ok(len(text) < 6000, "short: %d bytes" % len(text))
    for part in ("args", "eval", "zoneinfo", "enum.global_enum", "warnings.warn", "super().__init__"):
        tap.like(text, re.escape(part), "part")
    rules = sandbox.run("validate", "--list-rules", "--json").expect(0).json
    tap.equal(sorted(rules), ["attributes", "functions", "harmless", "modules", "names", "only", "rules"], "sections")
    tap.ok({"name": "eval", "why": "it runs text as code"}.items() <= rules["names"][0].items(), "a row: %r" % rules["names"][0])
    named = body("eval('1')").expect(2).record["error_detail"]["violations"][0]["rule"]
    tap.ok(named in [row["name"] for row in rules["rules"]], "rules have the names of the refusals")
    sandbox.run("validate", "--list-rules", "-").expect(sandbox.EXIT_USAGE)


@tap.test("a body that only defines main() succeeds with a note, and no other does")
def _():
    record = body("'doc'\nimport json\ndef main():\n    return 1\n", "--allow", "json").expect(0).record
    tap.equal((record["output"], record["note"]), (None, "nothing was returned or called: the body only defines functions or classes"), "note")
    for source, options in (("def main(): pass\nmain()", ()), ("return 1", ()), ("", ()), ("def main(): return 2", ("--return", "main()"))):
        tap.ok("note" not in body(source, *options).expect(0).record, "no note: %r" % source)


tap.main()
