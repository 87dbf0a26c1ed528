# SPDX-License-Identifier: Apache-2.0
"""Ordinary bodies as people and models write them, with the JSON that each must return.

A row is (output, source) or (output, source, options), options as in validator_refused.py. What a careless validator or a curated builtins
table trips over is here: every one of them must run on every interpreter that can parse it.
"""

ACCEPTED = [
    ("null", ""),
    ("null", "# nothing but a comment\n"),
    ("2", "x = 1\nreturn x + 1"),
    ("2", "\ufeffreturn 2"),
    ('"a\\nb"', "x = 'a'\r\ny = '''\\\r\n%s\nb''' % x\r\nreturn y\r\n"),
    ("1", "# -*- coding: utf-8 -*-\nreturn 1"),
    ("1", "# zero-width joiners belong to some scripts: \u200d\nreturn 1"),
    ('["1","22","333"]', "import re\nreturn re.findall(r'\\d+', args['text'])", {"allow": "re", "args": '{"text": "a1 b22 c333"}'}),
    ("3", "def add(a, b):\n    return a + b", {"return_expr": "add(1, 2)"}),
    ("3", "x = 1", {"return_expr": " x + 2"}),
    ("[1,2]", "x = 1", {"return_expr": "[\n  x,\n  2,\n]"}),
    ('"a\\n    b"', "if 1:\n    text = '''a\n    b'''\nreturn text"),
    # names that look like builtins
    ('["a","up",null,"txt"]', "def make(type, dir='up', input=None, format='txt'):\n    return [type, dir, input, format]\nreturn make(type='a')"),
    ('["t",9,1,"l"]', "class Event: pass\ne = Event()\ne.type, e.open, e.eval, e.dir = 't', 9, 1, 'l'\nreturn [e.type, e.open, e.eval, e.dir]"),
    ('["a",1]', "data = {'type': 'a', 'open': 1}\ntype = data['type']\nopen = data['open']\nreturn [type, open]"),
    ("[1,2]", "def f(vars): return [v for v in vars]\nreturn f([1, 2])"),
    ('"ok"', "class F:\n    def format(self): return 'ok'\nreturn F().format()"),
    ('"md"', "class F: pass\nf = F()\nf.format = 'md'\nreturn f.format"),
    # scopes
    ("2", "counter = 0\ndef inc():\n    global counter\n    counter += 1\ninc(); inc()\nreturn counter"),
    ("1", "counter: int = 0\ndef inc():\n    global counter\n    counter += 1\ninc()\nreturn counter"),
    ("1", "n = 0\ndef inc():\n    nonlocal n\n    n += 1\ninc()\nreturn n"),
    ("[[2,4],3]", "return [[y := 1, [x * 2 for x in (1, 2)]][1], y + 2]"),
    ("true", "return any((n := len(s)) > 1 for s in ['a', 'bb']) and n == 2"),
    ("5", "if __name__ == '__main__':\n    return 5"),
    ('"1.0"', "__version__ = '1.0'\n__all__ = ['f']\n__author__ = 'me'\nreturn __version__"),
    ("55", "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nreturn fib(10)"),
    ("[1]", "x: List[int] = [1]\nreturn x"),
    ("1", "'''doc'''\nfrom __future__ import annotations\ndef f(x: Foo) -> Bar: return x\nreturn f(1)"),
    ("7", "def f():\n    return later\nlater = 7\nreturn f()"),
    ("3", "match [1, {'a': 2}]:\n    case [x, {'a': y, **rest}]: return x + y", {"python": (3, 10)}),
    ("5", "class P:\n    __match_args__ = ('x',)\n    def __init__(self, x): self.x = x\nmatch P(5):\n    case P(v): return v", {"python": (3, 10)}),
    ("[1]", "def f[T](x: T) -> list[T]: return [x]\nreturn f(1)", {"python": (3, 12)}),
    ("2", "type Pair = tuple[int, int]\nx: Pair = (1, 2)\nreturn x[1]", {"python": (3, 12)}),
    ("2", "try:\n    raise ExceptionGroup('g', [ValueError(1), ValueError(2)])\nexcept* ValueError as g:\n    n = len(g.exceptions)\nreturn n", {"python": (3, 11)}),
    # classes
    ('"P(x=1)"', "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nreturn repr(P(1))", {"allow": "dataclasses"}),
    ('[9,"square"]', "class Shape:\n    def __init__(self, name): self.name = name\nclass Square(Shape):\n    def __init__(self, s):\n"
        "        super().__init__('square')\n        self.s = s\n    @property\n    def area(self): return self.s ** 2\n"
        "q = Square(3)\nreturn [q.area, q.name]", {"permit": "super,__init__"}),
    ("[true,5]", "class A:\n    def __init__(self): self._x = 1\n    def __eq__(self, other): return self._x == other._x\n    @property\n"
        "    def x(self): return self._x\n    @x.setter\n    def x(self, v): self._x = v\na = A()\nsame = a == A()\na.x = 5\nreturn [same, a.x]"),
    ("5", "class Account:\n    def __init__(self, b): self.__balance = b\n    def get(self): return self.__balance\nreturn Account(5).get()"),
    ("[4,6]", "class V:\n    __slots__ = ('x', 'y')\n    def __init__(self, x, y): self.x = x; self.y = y\n    def __add__(self, o): "
        "return V(self.x + o.x, self.y + o.y)\n    __radd__ = __add__\n    __hash__ = None\nv = V(1, 2) + V(3, 4)\nreturn [v.x, v.y]"),
    ('["A","B",1,2]', "from enum import Enum\nclass C(Enum):\n    A = 1\n    B = 2\nreturn [c.name for c in C] + [C.A.value, C['B'].value]", {"allow": "enum"}),
    ("3", "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n    def f(self): return 3\nreturn B().f()",
        {"allow": "abc"}),
    ('[404,"no k"]', "class E(Exception):\n    def __init__(self, code, msg):\n        self.code = code\n        Exception.__init__(self, msg)\ntry:\n"
        "    raise E(404, 'no k')\nexcept E as e:\n    return [e.code, str(e)]", {"permit": "__init__"}),
    ('["int",true,"d"]', "return [type(1).__name__, hasattr('x', 'upper'), getattr('x', 'nope', 'd')]", {"permit": "type,hasattr,getattr"}),
    ("[true,false]", "return [hasattr([], '__len__'), hasattr(1, '__len__')]", {"permit": "hasattr"}),
    # modules
    ('"Point"', "import json\nreturn json.loads('{\"__class__\": \"Point\"}')['__class__']", {"allow": "json", "permit": "__class__"}),
    ("1", "import json\ntry:\n    json.loads('{')\nexcept json.JSONDecodeError as e:\n    return e.pos", {"allow": "json"}),
    ('"[1]"', "import json\nclass E(json.JSONEncoder):\n    def default(self, o): return list(o)\nreturn json.dumps({1}, cls=E)", {"allow": "json"}),
    ("[2,4]", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as ex:\n    return list(ex.map(lambda v: v * 2, [1, 2]))", {"allow": "concurrent"}),
    ('["a/b","b","c"]', "import os\nfrom os.path import basename\nimport os.path as p\nreturn [os.path.join('a', 'b'), basename('a/b'), p.basename('c')]", {"allow": "os", "permit": "os"}),
    ('["1"]', "import xml.etree.ElementTree as ET\nreturn [e.text for e in ET.fromstring('<a><b>1</b></a>')]", {"allow": "xml"}),
    ('"a"', "from xml.etree import ElementTree as ET\nreturn ET.fromstring('<a/>').tag", {"allow": "xml.etree.ElementTree"}),
    ('"a"', "import xml.etree.ElementTree\nreturn xml.etree.ElementTree.fromstring('<a/>').tag", {"allow": "xml.etree.ElementTree"}),
    ('"a%20b"', "import urllib.parse\nreturn urllib.parse.quote('a b')", {"allow": "urllib.parse"}),
    ('"a=1"', "from urllib.parse import urlencode\nreturn urlencode({'a': 1})", {"allow": "urllib"}),
    ("[true,true]", "from collections.abc import Mapping\nimport collections.abc\nreturn [isinstance({}, Mapping), collections.abc.Sized is not None]", {"allow": "collections"}),
    ('["02","2024"]', "import datetime as dt\nd = dt.datetime.strptime('2024-01-02', '%Y-%m-%d')\nreturn [d.strftime('%d'), d.strftime('%Y')]", {"allow": "datetime"}),
    ('"x<b>"', "import re\np = re.compile('a(b)')\nreturn p.sub(r'<\\1>', 'xab')", {"allow": "re"}),
    ("[[1,2],{\"a\":1}]", "from typing import NamedTuple, TypedDict\nclass P(NamedTuple):\n    x: int\n    y: int = 2\nclass T(TypedDict, total=False):\n    a: int\nreturn [P(1), T(a=1)]", {"allow": "typing"}),
    ('{"b":2,"a":1}', "from collections import OrderedDict\nd = OrderedDict(a=1, b=2)\nd.move_to_end('a')\nreturn d", {"allow": "collections"}),
    ("[0,1,2]", "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\nasync def main():\n    return await asyncio.gather(*(f(i) for i in range(3)))\nreturn asyncio.run(main())", {"allow": "asyncio"}),
    ('"x\\n"', "import contextlib, io\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    print('x')\nreturn b.getvalue()", {"allow": "contextlib,io"}),
    ('[5,"add"]', "import functools\ndef deco(fn):\n    @functools.wraps(fn)\n    def inner(*a, **k): return fn(*a, **k)\n    return inner\n@deco\ndef add(a, b): return a + b\nreturn [add(2, 3), add.__name__]", {"allow": "functools"}),
    ("2024", "import datetime\nfrom datetime import datetime, timedelta\nreturn datetime(2024, 1, 1).year", {"allow": "datetime"}),
    ("2024", "import datetime\nfrom datetime import datetime, timedelta\nreturn datetime.fromisoformat('2024-01-01').year", {"allow": "datetime"}),
    ("[true,2024]", "import datetime\nd = datetime.date(2024, 1, 1)\nfrom datetime import datetime\nreturn [isinstance(datetime(2024, 1, 1), datetime), d.year]", {"allow": "datetime"}),
    ("1", "try:\n    import missing_module as m\nexcept ImportError:\n    m = None\nreturn 1 if m is None else 2", {"allow": "json"}),
    ("1", "import os\nos._exit\nreturn 1", {"allow": "os", "permit": "os"}),
    ("1", "import sys\nprint('to stderr', file=sys.stderr)\nreturn 1", {"allow": "sys"}),
    # templates
    ('"1 2"', "T = '{} {}'\nreturn T.format(1, 2)"),
    ('"007 Ada   |1"', "return '{0:03d} {1:<6}|{r[n]}'.format(7, 'Ada', r={'n': 1})"),
    ('"{x}   ann"', "class P:\n    def __init__(self): self.name = 'ann'\nreturn '{{x}}{p.name:>6}'.format(p=P())"),
    ('["01","02"]', "return list(map('{:02d}'.format, [1, 2]))"),
    ('"a None 3.14"', "return '%s %r' % ('a', None) + f' {3.14159:.2f}'"),
    # what models write
    ('"ZeroDivisionError: x"', "try:\n    raise ZeroDivisionError('x')\nexcept Exception as e:\n    return f'{type(e).__name__}: {e}'"),
    ('["x",1]', "class E(Exception):\n    def __init__(self, msg):\n        super().__init__(msg)\n        self.code = 1\ntry:\n    raise E('x')\nexcept E as e:\n    return [str(e), e.code]"),
    ('[1,2]', "class A:\n    def __init__(self, x): self.x = x\nclass B(A):\n    def __init__(me, x, y):\n        A.__init__(me, x)\n        me.y = y\nb = B(1, 2)\nreturn [b.x, b.y]"),
    ('["b"]', "from html.parser import HTMLParser\nclass P(HTMLParser):\n    def __init__(self):\n        super().__init__()\n        self.tags = []\n    def handle_starttag(self, tag, attrs): self.tags.append(tag)\np = P()\np.feed('<b>')\nreturn p.tags", {"allow": "html"}),
    ('"[\\"x\\"]"', "import json\nclass E(json.JSONEncoder):\n    def default(self, o):\n        if isinstance(o, set): return sorted(o)\n        return super().default(o)\nreturn json.dumps({'x'}, cls=E)", {"allow": "json"}),
    ('"[1]"', "try:\n    import ujson as json\nexcept ImportError:\n    import json\nreturn json.dumps([1], separators=(',', ':'))", {"allow": "json"}),
    ('1', "try:\n    from ujson import loads\nexcept (ValueError, ModuleNotFoundError):\n    from json import loads\nreturn loads('1')", {"allow": "json"}),
    ('["1"]', "return re.findall('[0-9]', 'a1')", {"allow": "re"}),
    ('"a%20b"', "'doc'\nfrom __future__ import annotations\ndef f(s): return urllib.parse.quote(s)\nreturn f('a b')", {"allow": "urllib.parse"}),
    ('2', "math = 2\nreturn math", {"allow": "math"}),
    ('300', "return 0" + " + 1" * 300),
    ('"b"', "return 'a'" + ".replace('a', 'b').replace('b', 'a')" * 60 + ".replace('a', 'b')"),
    ('null', "import warnings\nwarnings.simplefilter('ignore')\nwarnings.warn('x')", {"allow": "warnings"}),
    ('["B(x=1, y=2)",true]', "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: int\n@dataclass(order=True, frozen=True)\nclass C:\n    z: int = field(default=3)\n"
        "@dataclass\nclass B(A):\n    y: int = 2\nreturn [repr(B(1)), C(1) < C(2)]", {"allow": "dataclasses"}),
]
