"""Requests and answers of the port protocol, version 1, as plain JSON values, and what differs between two answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from slotcheck.checks.port.process import shown
from slotcheck.checks.trace import plain_view
from slotcheck.pymodel.rules import Outcome, Refusal, Rule, State

__all__ = [
    "BAD_CAPS",
    "FEATURES",
    "ORDER_FEATURES",
    "PROTOCOL",
    "Answer",
    "AnswerError",
    "Call",
    "Hello",
    "Order",
    "Request",
    "answer_by_rule",
    "answer_of",
    "difference",
    "line_of",
    "malformed_request",
    "needs_of",
    "order_of",
    "read_hello",
    "refusal_of",
    "request_of",
    "reset_request",
    "state_answer",
]

PROTOCOL: Final = 1

Request: TypeAlias = dict[str, Any]
Answer: TypeAlias = Any
#: A verb and its arguments, as the methods of a rule take them.
Call: TypeAlias = tuple[Any, ...]


class Order(NamedTuple):
    """Which waiter gets a freed pool slot (R6), as a pool is made with it."""

    order: str
    tie: str


#: The features that are orders, the default one first.
ORDER_FEATURES: Final[Mapping[str, Order]] = {
    "served": Order("fewest_held", "served"),
    "oldest": Order("fewest_held", "oldest"),
    "fifo": Order("fifo", "served"),
}

#: All that a port can have beyond `hello`, `reset`, `ask` and `finish`.
FEATURES: Final = ("try_ask", "cancel", "resize", "relend", "jobs", "state", "batch", *ORDER_FEATURES)

#: The caps that JSON can tell and the rules refuse (R1).
BAD_CAPS: Final[tuple[Any, ...]] = (0, -1, 1.5, True, "2", None)

_STATE_FIELDS = ("cap", "taken", "runs", "waiting", "children", "lines")
_RUN_FIELDS = ("phase", "token", "lent", "level", "parent", "job")
_TYPES: Final[Mapping[str, type[Any]]] = {
    "cap": int, "taken": int, "runs": dict, "waiting": list, "children": dict, "lines": list,
    "phase": str, "token": str, "lent": bool, "level": int, "job": list,
}  # fmt: skip


class AnswerError(ValueError):
    """An answer is not of the form that its request demands: another question's, or of a wrong type."""


class Hello(NamedTuple):
    """What a port says of itself, fit to be printed."""

    name: str
    features: frozenset[str]
    #: Words among its features that the protocol does not know.
    unknown: tuple[str, ...]

    @property
    def orders(self) -> dict[str, Order]:
        """The orders that it has."""
        return {name: order for name, order in ORDER_FEATURES.items() if name in self.features}


# -- requests ----------------------------------------------------------------------------------------------------


def reset_request(cap: Any, order: Order, relend: bool) -> Request:
    """A new pool; what is the default is left out."""
    request: Request = {"op": "reset", "cap": cap}
    if order.order != "fewest_held":
        request["order"] = order.order
    elif order.tie != "served":
        request["tie"] = order.tie
    if relend:
        request["relend"] = True
    return request


def request_of(call: Call) -> Request:
    """A call as a request."""
    verb, what, *more = call
    if verb == "resize":
        return {"op": verb, "cap": what}
    request: Request = {"op": verb, "run": what}
    if more:
        parent, job = more
        if parent is not None:
            request["parent"] = parent
        if job is not None:
            request["job"] = list(job)
    return request


def order_of(reset: Request) -> Order:
    """The order that a `reset` asks for."""
    order, tie = reset.get("order") or "fewest_held", reset.get("tie") or "served"
    return Order(order, "served" if order == "fifo" else tie)


def malformed_request(line: str) -> Request:
    """A line that is no request, to be sent as it is."""
    return {"op": "malformed", "line": line}


def line_of(request: Request) -> str:
    """A request as a line, without its end."""
    return str(request["line"]) if request["op"] == "malformed" else json.dumps(request, separators=(",", ":"))


def needs_of(request: Request) -> set[str]:
    """The features that a port must have to be sent this request."""
    needs = {feature for feature in ("relend", "jobs") if request.get({"jobs": "job"}.get(feature, feature))}
    if request["op"] in FEATURES:
        needs.add(request["op"])
    if request.get("job") is not None:
        needs.add("jobs")
    if request["op"] == "reset":
        needs.add(next(name for name, known in ORDER_FEATURES.items() if known == order_of(request)))
    return needs


# -- the answers that the rules demand ---------------------------------------------------------------------------


def answer_of(granted: Iterable[tuple[str, str]] = (), relent: Iterable[str] = ()) -> Answer:
    """The answer to a call that the rules allow."""
    return {"granted": [{"run": run, "token": token} for run, token in granted], "relent": list(relent)}


def refusal_of(code: str) -> Answer:
    """The answer to a call that the rules refuse."""
    return {"error": {"code": code}}


def answer_by_rule(rule: Rule, state: State, call: Call) -> tuple[Answer, State]:
    """What the rule answers, and the state afterwards."""
    verb, *args = call
    try:
        outcome: Outcome = getattr(rule, verb)(state, *args)
    except Refusal as refusal:
        return refusal_of(refusal.code), state
    return answer_of(outcome.granted, outcome.relent), outcome.state


def state_answer(state: State) -> Answer:
    """The answer to `state`."""
    return plain_view(state, {})


# -- the answers that come ---------------------------------------------------------------------------------------


def read_hello(value: Answer) -> Hello:
    """What a port says of itself.

    Raises:
        AnswerError: it is not of the form, of another version, or has no order.
    """
    if not isinstance(value, dict):
        raise AnswerError(f"hello is answered with an object, not with {_kind(value)}")
    name, protocol, features = (value.get(key) for key in ("name", "protocol", "features"))
    if not isinstance(name, str):
        raise AnswerError(f"name in the answer to hello is a string, not {_kind(name)}")
    if type(protocol) is not int or protocol != PROTOCOL:
        raise AnswerError(f"protocol in the answer to hello is {PROTOCOL}, not {_brief(protocol)}")
    if not isinstance(features, list) or not all(isinstance(word, str) for word in features):
        raise AnswerError(f"features in the answer to hello is an array of strings, not {_brief(features)}")
    if not set(features) & set(ORDER_FEATURES):
        raise AnswerError(f"features in the answer to hello names none of {', '.join(ORDER_FEATURES)}")
    unknown = tuple(shown(word, 40) for word in sorted({*features} - {*FEATURES}))
    return Hello(shown(name, 80), frozenset(features) & frozenset(FEATURES), unknown)


def difference(request: Request, expected: Answer, answer: Answer, hidden: set[str]) -> str | None:
    """How an answer differs from the one demanded; None if it does not.

    Args:
        hidden: fields of `state` that the port does not show are added to it.

    Raises:
        AnswerError: the answer is not of the form that the request demands.
    """
    op = request["op"]
    if op == "state" and "error" not in expected:
        return _state_difference(expected, answer, hidden)
    if answer == expected:
        return None
    if op == "hello":
        read_hello(answer)
        return None
    granted, relent, code = _read(op, answer)
    should = expected.get("error", {}).get("code")
    if code is not None or should is not None:
        if code == should:
            return None
        if should is None:
            return f"refused with {_brief(code)}, though the rules allow it"
        return f"the rules refuse it with {should}; " + (
            f"it was refused with {_brief(code)}" if code else f"it was answered {_told(granted, relent)}"
        )
    grants = [(grant["run"], grant["token"]) for grant in expected["granted"]]
    if (grants, expected["relent"]) == (granted, relent):
        return None
    return f"should be answered {_told(grants, expected['relent'])}, but was answered {_told(granted, relent)}"


def _read(op: str, answer: Answer) -> tuple[list[tuple[str, str]], list[str], str | None]:
    """The answer to a call: grants, relent runs, or the code of a refusal."""
    if not isinstance(answer, dict):
        raise AnswerError(f"{op} is answered with an object, not with {_kind(answer)}")
    if "error" in answer:
        error = answer["error"]
        if not isinstance(error, dict) or not isinstance(error.get("code"), str):
            raise AnswerError(f"error in the answer to {op} is an object with a string code, not {_brief(error)}")
        return [], [], error["code"]
    for name in ("granted", "relent"):
        if name not in answer:
            raise AnswerError(f"the answer to {op} has granted and relent, or error; it has {_brief(list(answer))}")
        if not isinstance(answer[name], list):
            raise AnswerError(f"{name} in the answer to {op} is an array, not {_kind(answer[name])}")
    granted = []
    for grant in answer["granted"]:
        if not isinstance(grant, dict) or not all(isinstance(grant.get(name), str) for name in ("run", "token")):
            raise AnswerError(f"a grant is an object with the strings run and token, not {_brief(grant)}")
        granted.append((grant["run"], grant["token"]))
    for run in answer["relent"]:
        if not isinstance(run, str):
            raise AnswerError(f"relent in the answer to {op} holds strings, not {_brief(run)}")
    return granted, answer["relent"], None


def _state_difference(expected: Answer, answer: Answer, hidden: set[str]) -> str | None:
    if answer == expected and _has_no_number_for_a_bool(answer):
        return None
    told = _read_state(answer, hidden)
    for name in _STATE_FIELDS:
        should, is_ = expected[name], told[name]
        if is_ is None or should == is_:
            continue
        if name == "runs":
            different = _runs_difference(should, is_)
            if different is not None:
                return different
            continue
        if name == "children":
            is_ = {run: children for run, children in is_.items() if children}
        if name == "lines":
            should, is_ = _by_node(should), _by_node(is_)
        if should != is_:
            return f"{name} should be {_brief(expected[name])}, but is {_brief(told[name])}"
    return None


def _has_no_number_for_a_bool(answer: dict[str, Any]) -> bool:
    """Whether types are right in an answer that is equal to the one demanded: Python takes 1, 1.0 and True for one."""
    if type(answer["cap"]) is not int or type(answer["taken"]) is not int:
        return False
    return all(type(run["level"]) is int and type(run["lent"]) is bool for run in answer["runs"].values())


def _read_state(answer: Answer, hidden: set[str]) -> dict[str, Any]:
    """The answer, once its form has been judged; the fields that it does not show are added to ``hidden``."""
    if not isinstance(answer, dict):
        raise AnswerError(f"state is answered with an object, not with {_kind(answer)}")
    for name in _STATE_FIELDS:
        if name not in answer:
            raise AnswerError(f"the answer to state lacks {name} (null, if not shown)")
        _judge(name, answer[name], hidden)
    for run, fields in (answer["runs"] or {}).items():
        if not isinstance(fields, dict):
            raise AnswerError(f"run {_brief(run)} in the answer to state is an object, not {_kind(fields)}")
        for name in _RUN_FIELDS:
            if name == "parent":
                if name not in fields:
                    hidden.add("parent")
                elif fields[name] is not None and not isinstance(fields[name], str):
                    raise AnswerError(f"parent of run {_brief(run)} is a string or null, not {_kind(fields[name])}")
            elif name not in fields:
                raise AnswerError(f"run {_brief(run)} in the answer to state lacks {name} (null, if not shown)")
            else:
                _judge(name, fields[name], hidden)
    return answer


def _judge(name: str, value: Any, hidden: set[str]) -> None:
    if value is None:
        hidden.add(name)
        return
    form = _TYPES[name]
    items: Any = value
    if type(value) is not form:
        raise AnswerError(f"{name} in the answer to state is {_KINDS[form]}, not {_kind(value)}")
    if name == "lines" and not all(
        isinstance(item, dict) and all(isinstance(item.get(key), list) for key in ("node", "line")) for item in items
    ):
        raise AnswerError(f"lines in the answer to state holds objects with the arrays node and line: {_brief(items)}")
    if name == "children" and not all(isinstance(item, list) for item in items.values()):
        raise AnswerError(f"children in the answer to state holds an array for each run: {_brief(items)}")


def _by_node(lines: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return sorted((repr(item["node"]), item["line"]) for item in lines if item["line"])


def _runs_difference(should: dict[str, Any], is_: dict[str, Any]) -> str | None:
    for run in sorted({*should, *is_}):
        if run not in is_:
            return f"run {_brief(run)} should be known, but is not shown"
        if run not in should:
            return f"run {_brief(run)} should not be known, but is shown"
        for name in _RUN_FIELDS:
            if name == "parent" and name not in is_[run]:
                continue
            if is_[run][name] != should[run][name] and (is_[run][name] is not None or name == "parent"):
                told = f"{_brief(should[run][name])}, but is {_brief(is_[run][name])}"
                return f"{name} of run {_brief(run)} should be {told}"
    return None


_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false", int: "an integer"}


def _kind(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), "a number")


def _brief(value: Any) -> str:
    told = ascii(value)
    return told if len(told) <= 120 else f"{told[:120]}..."


def _told(granted: Iterable[tuple[str, str]], relent: Iterable[str]) -> str:
    told = [f"{_brief(run)[1:-1]} granted {'on loan' if token == 'loan' else f'a {_brief(token)[1:-1]} slot'}"
            for run, token in granted]  # fmt: skip
    told += [f"{_brief(run)[1:-1]} relent" for run in relent]
    return "; ".join(told) or "nothing granted, nothing relent"
