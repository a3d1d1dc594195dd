"""The adapter of the Python pool: `slotlending.Pool`, or a class with its methods, behind the port protocol.

    python adapter.py [PACKAGE.MODULE:CLASS]

It is also the example of docs/ports.md: what an adapter in any language has to do, in the fewest lines.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

FEATURES = ["try_ask", "cancel", "resize", "relend", "jobs", "state", "batch", "served", "oldest", "fifo"]
CALLS = ("ask", "try_ask", "finish", "cancel", "resize")


class BadRequest(Exception):
    """A request that is not of the protocol's form."""

    code = "bad_request"


class Adapter:
    """Answers requests, one after the other, on one pool."""

    def __init__(self, pool_class: Any) -> None:
        self.pool_class = pool_class
        self.pool: Any = None

    def answer(self, request: Any) -> Any:
        """The answer to one request, a refusal included."""
        try:
            return self._answer(request)
        except Exception as error:
            code = getattr(error, "code", None)
            if not isinstance(code, str):
                raise
            return {"error": {"code": code, "message": str(error)}}

    def _answer(self, request: Any) -> Any:
        if not isinstance(request, dict):
            raise BadRequest("a request is an object")
        op = request.get("op")
        if op == "hello":
            return {"name": f"python {self.pool_class.__name__}", "protocol": 1, "features": FEATURES}
        if op == "batch":
            return [self.answer(one) for one in _member(request, "ops", list)]
        if op == "reset":
            options = {name: request[name] for name in ("order", "tie", "relend") if request.get(name) is not None}
            try:
                self.pool = self.pool_class(request.get("cap"), **options)
            except (ValueError, TypeError) as error:
                raise error if hasattr(error, "code") else BadRequest(str(error)) from error
            return {"granted": [], "relent": []}
        if op not in (*CALLS, "state"):
            raise BadRequest(f"no op {op!r}")
        if self.pool is None:
            raise BadRequest("there is no pool before the first reset")
        return self._state() if op == "state" else self._call(op, request)

    def _call(self, op: str, request: dict[str, Any]) -> Any:
        args = [request.get("cap")] if op == "resize" else [_member(request, "run", str)]
        if op in ("ask", "try_ask"):
            job = _member(request, "job", list, optional=True)
            if job is not None and not all(isinstance(name, str) for name in job):
                raise BadRequest("a job is an array of strings")
            args += [_member(request, "parent", str, optional=True), None if job is None else tuple(job)]
        granted, relent = getattr(self.pool, op)(*args)
        return {"granted": [{"run": run, "token": token} for run, token in granted], "relent": list(relent)}

    def _state(self) -> Any:
        seen = self.pool.snapshot()
        fields = ("phase", "token", "lent", "level", "parent", "job")
        return {
            "cap": seen.cap,
            "taken": seen.taken,
            "runs": {run.run: {name: getattr(run, name) for name in fields} for run in seen.runs},
            "waiting": seen.waiting,
            "children": dict(seen.children),
            "lines": [{"node": node, "line": line} for node, line in seen.lines],
        }


def _member(request: dict[str, Any], name: str, form: type, *, optional: bool = False) -> Any:
    value = request.get(name)
    if isinstance(value, form) or (value is None and optional):
        return value
    raise BadRequest(f"{name} is not of the form it has in the protocol")


def main() -> None:
    """Answer line by line until the input ends."""
    module, _, name = (sys.argv[1] if len(sys.argv) > 1 else "slotlending:Pool").partition(":")
    adapter = Adapter(getattr(importlib.import_module(module), name))
    for line in sys.stdin.buffer:
        try:
            request = json.loads(line)
        except ValueError:
            request = None
        print(json.dumps(adapter.answer(request), separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
