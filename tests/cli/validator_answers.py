# SPDX-License-Identifier: Apache-2.0
"""What comes back: values as JSON to the byte, and failures as one line.

OUTPUTS  (JSON text, source): the output must be that text exactly.
ERRORS   (start of the error line, source[, options]): the body must fail, not be refused, and the error must start so.
RUNTIME  (source, options): run with validation switched off; each returns true when it got at something, so it must fail or return false.
"""

OUTPUTS = [
    ("18446744073709551616", "return 2 ** 64"),
    ("-9223372036854775809", "return -2 ** 63 - 1"),
    ("1" + "0" * 4299, "return 10 ** 4299"),
    ('{"8":"a","2.5":2,"null":4,"-7":[],"true":3}', "return {8: 'a', 2.5: 2, None: 4, -7: [], True: 3}"),
    ("[0.1,1e+300,5e-324,-0.0,1.0,3]", "return [0.1, 1e300, 5e-324, -0.0, 1.0, 3]"),
    (r'"\u0000\u001f\"\\\/\u007f"'.replace("\\/", "/"), r"""return "\x00\x1f\"\\/\x7f" """),
    (r'"\u00e9\u20ac\ud83d\ude00"', "return '\\u00e9\\u20ac\\U0001f600'"),
    ('{"b":1,"a":2,"":null}', "return {'b': 1, 'a': 2, '': None}"),
    ("[true,false,null,[],{},\"\"]", "return [True, False, None, (), {}, '']"),
    ("[" * 500 + "]" * 500, "x = []\nfor _ in range(499): x = [x]\nreturn x"),
    ('["S",1,1.5,[2],{"k":3},[4]]', "class S(str):\n    def __str__(self): return 'lie'\nclass I(int):\n    def __repr__(self): return 'lie'\nclass F(float):\n"
        "    def __repr__(self): return 'lie'\nclass L(list):\n    def __iter__(self): return iter(['lie'])\nclass D(dict):\n    def items(self): return [('lie', 1)]\n"
        "class T(tuple): pass\nreturn [S('S'), I(1), F(1.5), L([2]), D(k=3), T([4])]"),
    ("[[1,2],[1,2]]", "x = [1, 2]\nreturn [x, x]"),
    ("null", "print('no return')"),
]

ERRORS = [
    ("TypeError: not JSON-serializable: output is a set; return sorted", "return {1}"),
    ("TypeError: not JSON-serializable: output[3].x is a set;", "return [0, 1, 2, {'x': {1}}]"),
    ("TypeError: not JSON-serializable: output.a['b c'] is a bytes;", "return {'a': {'b c': b''}}"),
    ("TypeError: not JSON-serializable: output is an Odd;", "class Odd:\n    def __repr__(self): raise ValueError('from repr')\nreturn Odd()"),
    ("TypeError: not JSON-serializable: output.x has a key that is a tuple;", "return {'x': {(1, 2): 2}}"),
    ("ValueError: not JSON-serializable: output has two keys with the same text;", "return {1: 2, '1': 3}"),
    ("ValueError: not JSON-serializable: output.x's key is NaN;", "return {'x': {float('nan'): 2}}"),
    ("ValueError: not JSON-serializable: output.x[0] is an integer of more than 4300 digits;", "return {'x': [10 ** 5000]}"),
    ("ValueError: not JSON-serializable: output is an integer of more than 4300 digits;", "return -10 ** 4300"),
    ("TypeError: not JSON-serializable: output is a generator;", "return (i for i in [])"),
    ("TypeError: not JSON-serializable: output is a function;", "def f(): pass\nreturn f"),
    ("TypeError: not JSON-serializable: output is a P; return dataclasses.asdict", "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nreturn P(1)", {"allow": "dataclasses"}),
    ("TypeError: not JSON-serializable: output is a C; return its .value", "from enum import Enum\nclass C(Enum):\n    A = 1\nreturn C.A", {"allow": "enum"}),
    ("ValueError: not JSON-serializable: output.mean is NaN;", "return {'mean': float('nan')}"),
    ("ValueError: not JSON-serializable: output[0] is infinite;", "return [float('-inf')]"),
    ("ValueError: not JSON-serializable: output[0] holds a lone surrogate;", "return ['\\ud800']"),
    ("ValueError: not JSON-serializable: output.me contains itself;", "x = {}\nx['me'] = x\nreturn x"),
    ("ValueError: not JSON-serializable: output[0][0]", "r = []\nfor _ in range(5000): r = [r]\nreturn r"),
    ("ValueError: not JSON-serializable: output has two keys with the same text;",
        "class K(str):\n    def __eq__(self, o): return self is o\n    def __hash__(self): return 7\nreturn {K('a'): 1, K('a'): 2}"),
    ("OutputTooLarge: the value returned is longer than 1048576 bytes", "return 'x' * 100_000_000"),
    ("OutputTooLarge: the value returned is longer than 100 bytes", "return list(range(100))", {"output_limit": 100}),
    ("ValueError: not JSON-serializable: output is an integer", "return 1 << 100_000_000"),
    ("ZeroDivisionError: division by zero", "1 / 0"),
    ("ImportError: allowed import not available: missing_module", "return 1", {"allow": "json,missing_module"}),
    ("ImportError: allowed import not available: json.missing", "return 1", {"allow": "json.missing"}),
    ("ImportError: allowed import not available: math.missing", "return 1", {"allow": "math.missing,math"}),
    ("TypeError: a field of a dataclass was given another name", "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int = 0\n"
        "dataclasses.fields(A)[0].name = 'x,print'\n@dataclasses.dataclass\nclass B(A): pass", {"allow": "dataclasses"}),
    ("TypeError: a field of a dataclass was given another name", "from dataclasses import dataclass, field\nf = field(default=0)\n@dataclass(order=True)\nclass A:\n    x: int = f\n"
        "f.name = 'x,print'\n@dataclass(init=False)\nclass B(A): pass", {"allow": "dataclasses"}),
    ("KeyError: 'k'", "{}['k']"),
    ("ValueError", "raise ValueError"),
    ("ValueError: a\\nb\\r\\u2028c", "raise ValueError('a\\nb\\r\\u2028c')"),
    ("SystemExit: 3", "raise SystemExit(3)"),
    ("KeyboardInterrupt", "raise KeyboardInterrupt"),
    ("GeneratorExit", "raise GeneratorExit"),
    ("BaseException: x", "raise BaseException('x')"),
    ("Odd: (str() of the exception failed)", "class Odd(Exception):\n    def __str__(self): return 1\nraise Odd"),
    ("RecursionError: maximum recursion depth exceeded", "def f(): return f()\nf()"),
    ("MemoryError", "return len([0] * 10 ** 9)", {"memory": 256}),
    ("MemoryError", "x = []\nwhile True: x.append('y' * 1000 + str(len(x)))", {"memory": 128}),
    ("NameError: name 'x' is not defined", "if 0: x = 1\ndef f():\n    global x\n    return x\nf()"),
    ("TypeError: the arguments are not one JSON object", "return 1", {"args": "[1]"}),
    ("ValueError: the arguments are not JSON", "return 1", {"args": "nope"}),
    ("RecursionError", "return 1", {"args": '{"a":' + "[" * 200_000 + "]" * 200_000 + "}"}),
    ("AttributeError: the attribute '__class__' is not allowed", "u = '__'\nreturn getattr(1, u + 'class' + u)", {"permit": "getattr"}),
    ("AttributeError: the attribute 'format' is not allowed", "f = 'form' + 'at'\nreturn getattr('{}', f)(1)", {"permit": "getattr"}),
    ("TypeError: str.format with a template made at run time", "class F:\n    def format(self): pass\nt = '{' + '}'\nreturn t.format(1)"),
]

RUNTIME = [
    ("import json\nreturn json.codecs is not None", {"allow": "json"}),
    ("from json import codecs\nreturn True", {"allow": "json"}),
    ("from json import decoder\nreturn decoder.scanner is not None", {"allow": "json"}),
    ("import random\nreturn random._os is not None", {"allow": "random"}),
    ("import os\nreturn True", {}),
    ("import os.path\nreturn True", {"allow": "json"}),
    ("import json.tool\nreturn True", {"allow": "json"}),
    ("from json import *\nreturn True", {"allow": "json"}),
    ("import io\nreturn io.open is not None", {"allow": "io"}),
    ("import ctypes\nreturn True", {"allow": "ctypes"}),
    ("import types\nreturn types.FunctionType is not None", {"allow": "types"}),
    ("class S(str):\n    def split(self, *a): return ['json']\n__import__(S('os'))\nreturn True", {"allow": "json"}),
    ("__import__('os', None, None, ['x'])\nreturn True", {"allow": "json"}),
    ("return __import__('os', None, None, []) is not None", {"allow": "json"}),
    ("return eval('1') == 1", {}),
    ("return open('/etc/hostname') is not None", {}),
    ("return type(1) is int", {}),
    ("return getattr(1, 'real') == 1", {}),
    ("return 'open' in __builtins__", {}),
    ("return __builtins__['__import__']('sys') is not None", {}),
    ("return __loader__ is not None", {}),
    ("import json\njson.dumps = lambda *a: 1\nimport json.decoder\nfrom json.decoder import JSONDecoder\nreturn JSONDecoder is None", {"allow": "json"}),
    ("exit()\nreturn True", {}),
    ("return memoryview(b'a') is not None", {}),
]
