"""Ports for tests: programs that do anything but answer, and ports that run in this process."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from slotcheck.checks.port.messages import Answer, Hello, Request, line_of, read_hello
from slotcheck.checks.port.process import PortFaultError

ROOT = Path(__file__).parent.parent
ADAPTER = ROOT / "ports" / "python" / "adapter.py"

_spec = importlib.util.spec_from_file_location("adapter", ADAPTER)
assert _spec is not None
assert _spec.loader is not None
adapter = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(adapter)

HELLO = '{"name":"hostile","protocol":1,"features":["served","state","cancel"]}'

#: What every hostile program begins with; few imports, so that it starts fast.
_BEGIN = f"""
import sys, os, time
def say(line, end="\\n"):
    sys.stdout.write(line + end); sys.stdout.flush()
def hear():
    return sys.stdin.readline()
def greet():
    hear(); say({HELLO!r})
"""


class Hostile(NamedTuple):
    """A program that breaks the protocol, and what is to be said of it."""

    program: str
    kind: str
    #: What the message, the answer shown, or the end of standard error holds.
    says: str = ""

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-S", "-E", "-c", _BEGIN + self.program]


#: By what each does. Where two lines are to be seen together they are written together.
HOSTILE = {
    "never answers": Hostile("time.sleep(1000)", "hangs", "no answer within"),
    "stops answering after hello": Hostile("greet(); time.sleep(1000)", "hangs"),
    "never reads": Hostile(f"say({HELLO!r}); time.sleep(1000)", "hangs"),
    "reads and says nothing": Hostile("greet()\nwhile hear(): pass", "hangs"),
    "writes to standard error only": Hostile(
        "sys.stderr.write('no such option'); sys.stderr.flush(); time.sleep(1000)", "hangs", "no such option"
    ),
    "ends at once": Hostile("pass", "exits", "exit status 0"),
    "ends with an error": Hostile("raise SystemExit(3)", "exits", "exit status 3"),
    "raises": Hostile("greet(); hear(); 1 / 0", "exits", "ZeroDivisionError"),
    "is killed": Hostile("greet(); hear(); os.kill(os.getpid(), 9)", "exits", "signal 9"),
    "ends in the middle of a line": Hostile("greet(); hear(); say('{\"gran', '')", "exits", "middle of a line"),
    "prints a banner": Hostile("say('Server ready'); greet()", "garbage", "Server ready"),
    "prints bytes": Hostile(
        "sys.stdout.buffer.write(b'\\xff\\x1b[31m\\n'); sys.stdout.flush(); hear()", "garbage", "xff"
    ),
    "prints no JSON": Hostile("greet(); hear(); say(\"{'granted': []}\")\nwhile hear(): pass", "garbage"),
    "prints NaN": Hostile("greet(); hear(); say('NaN')\nwhile hear(): pass", "garbage", "NaN"),
    "prints a deep nest": Hostile("hear(); say('[' * 200000); time.sleep(1000)", "garbage", "nested too deep"),
    "prints an endless number": Hostile("hear(); say('1' * 9000); time.sleep(1000)", "garbage"),
    "prints half a line": Hostile("hear(); say('{\"name\":', ''); time.sleep(1000)", "half a line", '{"name":'),
    "trickles": Hostile("hear()\nwhile True: say(' ', ''); time.sleep(0.05)", "half a line"),
    "prints gigabytes": Hostile("hear()\nwhile True: say('x' * 65536, '')", "too long"),
    "prints gigabytes of lines": Hostile(f"hear()\nwhile True: say('\\n'.join([{HELLO!r}] * 40))", "unasked"),
    "floods standard error": Hostile(
        "hear()\nfor _ in range(4000): sys.stderr.write('x' * 65536)\ntime.sleep(1000)", "hangs"
    ),
    "answers twice": Hostile(f"greet()\nwhile hear(): say('\\n'.join([{HELLO!r}] * 2))", "unasked"),
    "answers another question": Hostile(f"greet()\nwhile hear(): say({HELLO!r})", "wrong type", "granted and relent"),
    "answers with another type": Hostile("hear(); say('[1]'); time.sleep(1000)", "wrong type", "an object"),
    "is of another version": Hostile(f"hear(); say({HELLO.replace('1', '2')!r}); hear()", "wrong type", "protocol"),
    "has no order": Hostile(f"hear(); say({HELLO.replace('served', 'best')!r}); hear()", "wrong type", "served"),
    "closes its output": Hostile("greet(); hear(); os.close(1); time.sleep(1000)", "closes its output"),
    "leaves a child that holds its output open": Hostile(
        "greet(); hear()\nif os.fork(): os._exit(4)\ntime.sleep(1000)", "exits", "exit status 4"
    ),
    "ignores signals": Hostile(
        "import signal\nfor each in (2, 15, 1): signal.signal(each, signal.SIG_IGN)\ngreet(); time.sleep(1000)", "hangs"
    ),
}


class LocalPort:
    """The adapter around a pool class, in this process. Each answer goes through JSON, as it does between processes."""

    def __init__(self, pool_class: Any, features: Sequence[str] = tuple(adapter.FEATURES), **changes: Any) -> None:
        self._adapter = adapter.Adapter(pool_class)
        self._change: Callable[[Request, Answer], Answer] = changes.get("change", lambda request, answer: answer)
        self.hello: Hello = read_hello({"name": pool_class.__name__, "protocol": 1, "features": list(features)})

    def exchange(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            try:
                said = json.loads(line_of(request))
            except ValueError:
                said = None
            try:
                answer = self._adapter.answer(said)
            except Exception as error:
                raise PortFaultError("exits", f"{type(error).__name__}: {error}", sent=line_of(request)) from error
            yield json.loads(json.dumps(self._change(request, answer)))

    def end(self) -> None:
        pass

    def kill(self) -> None:
        pass


def local(pool_class: Any, **options: Any) -> Callable[[bool], LocalPort]:
    """How to start it, as a session wants to know."""
    return lambda one_by_one: LocalPort(pool_class, **options)
