"""The explorer on toy graphs with known answers: nothing here knows about slots."""

from __future__ import annotations

import gc
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotcheck.pymodel import explore as explore_module
from slotcheck.pymodel.explore import Limits, Search, Verdict, explore, walk
from slotcheck.pymodel.system import NotDeterministicError, Path, Property

fixed = settings(derandomize=True, deadline=None, database=None, max_examples=60)


class Digraph:
    """A graph told as paths: ``Digraph("abc", "ac")`` has the edges ab, bc and ac, and each edge is an action."""

    merges = False

    def __init__(
        self,
        *paths: str,
        starts: Sequence[str] = ("a",),
        names: Mapping[str, Hashable] | None = None,
        environment: Collection[str] = (),
    ) -> None:
        self.starts = starts
        self.edges: dict[str, dict[Hashable, str]] = {}
        self._environment: set[Hashable] = set()
        for edge in dict.fromkeys(a + b for path in paths for a, b in itertools.pairwise(path)):
            action = edge if names is None else names.get(edge, edge)
            assert action not in self.edges.setdefault(edge[0], {}), "an action leads to one state"
            self.edges[edge[0]][action] = edge[1]
            if edge in environment:
                self._environment.add(action)

    def initial(self) -> Iterable[str]:
        return self.starts

    def actions(self, state: str) -> list[Hashable]:
        return list(self.edges.get(state, ()))

    def next(self, state: str, action: Hashable) -> str:
        return self.edges[state][action]

    def is_body_step(self, action: Hashable) -> bool:
        return action not in self._environment

    def key(self, state: str) -> Hashable:
        return state

    def weight(self, state: str) -> int:
        return 1

    def degree(self, state: str) -> int:
        return len(self.edges.get(state, ()))


class Counting(Digraph):
    """0, 1, 2, ... up to a last number."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    def initial(self) -> Iterable[Any]:
        return [0]

    def actions(self, state: Any) -> list[Hashable]:
        return ["add"] if state < self.last else []

    def next(self, state: Any, action: Hashable) -> Any:
        return state + 1


class TwoDials(Digraph):
    """Two dials that go from 0 to 2, one step at a time. Nobody can tell which is which."""

    merges = True

    def initial(self) -> Iterable[Any]:
        return [(0, 0)]

    def actions(self, state: Any) -> list[Hashable]:
        able = [at for at, shown in enumerate(state) if shown < 2]
        return [("turn", at) for at in able if at == 0 or state[0] != state[1]]

    def next(self, state: Any, action: Any) -> Any:
        return tuple(shown + (at == action[1]) for at, shown in enumerate(state))

    def key(self, state: Any) -> Hashable:
        return tuple(sorted(state))

    def weight(self, state: Any) -> int:
        return 1 if state[0] == state[1] else 2

    def degree(self, state: Any) -> int:
        return sum(shown < 2 for shown in state)


DIAMOND = ("abd", "acd", "de")


def never(*bad: str) -> Callable[[str], str | None]:
    return lambda state: f"at {state}" if state in bad else None


def found(result: Any) -> dict[str, tuple[Any, ...]]:
    """For each violated claim the actions to it."""
    names = [violation.property for violation in result.violations]
    assert len(names) == len(set(names))
    return {violation.property: violation.path.actions for violation in result.violations}


# -- what is counted -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", Search)
@pytest.mark.parametrize(
    ("paths", "states", "edges"),
    [
        ((), 1, 0),
        (("aa",), 1, 1),
        (DIAMOND, 5, 5),
        (("abca", "ad"), 4, 4),
        (("ab", "xyz"), 2, 1),
    ],
    ids=["one state", "a loop", "a diamond", "a circle", "unreachable states"],
)
def test_every_reachable_state_and_edge_is_counted_once(
    paths: tuple[str, ...], states: int, edges: int, search: Search
) -> None:
    result = explore(Digraph(*paths), search=search)
    assert (result.states, result.edges, result.full_states, result.full_edges) == (states, edges, states, edges)
    assert result.verdict is Verdict.HOLDS
    assert result.stopped is None


def test_the_depth_is_that_of_the_farthest_state() -> None:
    assert explore(Digraph(*DIAMOND)).depth == 3
    assert explore(Digraph()).depth == 0


def test_an_initial_state_named_twice_or_reached_from_another_counts_once() -> None:
    result = explore(Digraph("ab", "cd", starts=("a", "b", "c", "a")))
    assert (result.states, result.edges, result.depth) == (4, 2, 1)


def test_a_path_begins_at_the_initial_state_that_it_comes_from() -> None:
    result = explore(Digraph("ab", "cde", starts=("a", "c")), [Property.state("NotE", never("e"))])
    assert result.violations[0].path == Path("c", ("cd", "de"))


def test_actions_fired_are_counted_by_the_first_item_of_a_tuple() -> None:
    names = {"ab": ("go", 1), "bc": ("go", 2), "ca": "back", "ac": "b"}
    assert explore(Digraph("abca", "ac", names=names)).fired == Counter({"go": 2, "back": 1, "b": 1})


def test_ends_are_the_states_without_a_body_step() -> None:
    assert explore(Digraph("abc", "bd", "de", environment=("de",))).ends == 3  # c, d, e


def test_states_of_one_key_are_explored_once_and_counted_in_full() -> None:
    result = explore(TwoDials())
    assert (result.states, result.full_states) == (6, 9)
    assert (result.edges, result.full_edges) == (6, 12)
    assert (result.depth, result.verdict) == (4, Verdict.HOLDS)


class Bare(Digraph):
    """A system that says that it merges nothing."""

    def key(self, state: str) -> Hashable:
        raise AssertionError("nobody asks")

    def weight(self, state: str) -> int:
        raise AssertionError("nobody asks")

    def degree(self, state: str) -> int:
        raise AssertionError("nobody asks")


def test_a_system_that_merges_nothing_is_not_asked_for_keys() -> None:
    result = explore(Bare(*DIAMOND))
    assert (result.states, result.full_states, result.edges, result.full_edges) == (5, 5, 5, 5)


def test_a_walk_does_not_ask_a_system_that_merges_nothing_for_keys() -> None:
    result = walk(Bare("ab"), seed=1, walks=2)
    assert (result.states, result.full_states) == (2, 2)


graphs = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=14)


@fixed
@given(graphs)
def test_breadth_first_finds_what_the_graph_library_finds(edges: list[tuple[str, str]]) -> None:
    graph = nx.DiGraph(edges)
    graph.add_node("a")
    far = nx.single_source_shortest_path_length(graph, "a")
    claims = [Property.state(node, never(node)) for node in "abcdef"]
    result = explore(Digraph(*map("".join, edges)), claims)
    assert {name: len(path) for name, path in found(result).items()} == far
    assert (result.states, result.depth) == (len(far), max(far.values()))
    assert result.edges == graph.subgraph(far).number_of_edges()


@fixed
@given(graphs)
def test_depth_first_visits_the_same_states_and_edges(edges: list[tuple[str, str]]) -> None:
    system = Digraph(*map("".join, edges))
    seen: dict[Search, list[str]] = {search: [] for search in Search}
    claims = [Property.state(node, never(node)) for node in "abcdef"]
    breadth, depth = (explore(system, claims, search=search, on_state=seen[search].append) for search in Search)
    assert sorted(seen[Search.DEPTH]) == sorted(seen[Search.BREADTH])
    assert (depth.states, depth.edges, depth.fired) == (breadth.states, breadth.edges, breadth.fired)
    assert depth.depth >= breadth.depth
    for violation in depth.violations:
        assert violation.path.states(system)[-1] == violation.property


def test_breadth_first_reports_a_shortest_path_and_depth_first_the_path_it_took() -> None:
    system = Digraph("aex", "abcdx")
    claim = Property.state("NotX", never("x"))
    assert found(explore(system, [claim])) == {"NotX": ("ae", "ex")}
    assert found(explore(system, [claim], search=Search.DEPTH)) == {"NotX": ("ab", "bc", "cd", "dx")}


# -- what is judged --------------------------------------------------------------------------------------------------


def test_a_state_claim_is_judged_on_the_initial_state_too() -> None:
    (violation,) = explore(Digraph("ab"), [Property.state("NotA", never("a"))]).violations
    assert violation.path == Path("a", ())
    assert (violation.property, violation.message) == ("NotA", "at a")


def test_a_step_claim_is_judged_on_an_edge_into_a_known_state() -> None:
    def no_bc(state: str, action: Hashable, after: str) -> str | None:
        return f"{action} from {state} to {after}" if (state, after) == ("b", "c") else None

    (violation,) = explore(Digraph("ab", "ac", "bc"), [Property.step("NoBC", no_bc)]).violations
    assert violation.path == Path("a", ("ab", "bc"))
    assert violation.message == "bc from b to c"


def test_a_step_witness_is_seen_on_an_edge_into_a_known_state() -> None:
    witness = Property.sometimes_step("back", lambda state, action, after: (state, action, after) == ("b", "ba", "a"))
    result = explore(Digraph("aba"), [witness])
    assert result.reached == {"back": Path("a", ("ab", "ba"))}
    assert result.verdict is Verdict.HOLDS


def test_an_end_claim_is_judged_only_where_no_body_step_is_enabled() -> None:
    judged: list[str] = []
    system = Digraph("abc", "bd", "be", "ea", environment=("be", "ea"))
    explore(system, [Property.end("End", lambda state: judged.append(state))])
    assert judged == ["c", "d", "e"]


def test_an_act_of_the_environment_does_not_rescue_from_a_deadlock() -> None:
    system = Digraph("abc", environment=("bc",))
    assert found(explore(system, [Property.end("Stuck", never("b"))])) == {"Stuck": ("ab",)}


@pytest.mark.parametrize("make", [Property.states, Property.ends])
def test_claims_judged_together_are_told_apart_by_name(make: Callable[..., Property]) -> None:
    claims = {"b": {"B": "one"}, "d": {"B": "again", "D": "two"}, "e": {}}
    result = explore(Digraph("ab", "acd", "ae"), [make("all", claims.get)])
    assert found(result) == {"B": ("ab",), "D": ("ac", "cd")}
    assert [violation.message for violation in result.violations] == ["one", "two"]


def test_step_claims_judged_together_are_told_apart_by_name() -> None:
    claims = {"ab": {"X": "one"}, "bc": {"X": "again", "Y": "two"}}
    result = explore(Digraph("abc"), [Property.steps("all", lambda _, action, __: claims.get(action))])
    assert found(result) == {"X": ("ab",), "Y": ("ab", "bc")}


def test_a_claim_is_reported_once_where_it_first_fails() -> None:
    result = explore(Digraph("abcd", "ac"), [Property.state("Early", never("b", "c", "d"))])
    assert found(result) == {"Early": ("ab",)}


def test_a_claim_that_two_properties_judge_is_reported_once() -> None:
    claims = [Property.state("Same", never("c")), Property.end("Same", never("d"))]
    assert found(explore(Digraph("abcd"), claims)) == {"Same": ("ab", "bc")}


def test_the_search_goes_on_after_a_violation() -> None:
    result = explore(Digraph("abcd"), [Property.state("NotA", never("a")), Property.state("NotD", never("d"))])
    assert found(result) == {"NotA": (), "NotD": ("ab", "bc", "cd")}
    assert (result.states, result.stopped, result.verdict) == (4, None, Verdict.VIOLATED)


def test_a_witness_is_told_with_the_first_path_to_it() -> None:
    result = explore(Digraph("abcd", "ad"), [Property.sometimes("d", lambda state: state == "d")])
    assert result.reached == {"d": Path("a", ("ad",))}
    assert (result.missing, result.verdict) == ([], Verdict.HOLDS)


def test_a_witness_never_reached_leaves_the_verdict_open() -> None:
    witnesses = [
        Property.sometimes("a", lambda state: state == "a"),
        Property.sometimes("x", lambda state: state == "x"),
        Property.sometimes_step("yz", lambda *step: step[1] == "yz"),
    ]
    result = explore(Digraph("ab"), witnesses)
    assert (list(result.reached), result.missing) == (["a"], ["x", "yz"])
    assert result.verdict is Verdict.UNDETERMINED


def test_a_violation_weighs_more_than_a_missing_witness() -> None:
    claims = [Property.state("NotB", never("b")), Property.sometimes("x", lambda state: state == "x")]
    assert explore(Digraph("ab"), claims).verdict is Verdict.VIOLATED


def test_a_system_without_initial_states_says_nothing() -> None:
    result = explore(Digraph(starts=()), [Property.state("Any", never("a"))])
    assert (result.states, result.depth, result.verdict) == (0, 0, Verdict.UNDETERMINED)


# -- eventually ------------------------------------------------------------------------------------------------------


def at(*goal: str) -> Property:
    return Property.eventually("Goal", lambda state: state in goal)


def test_without_a_circle_every_behaviour_ends() -> None:
    result = explore(Digraph(*DIAMOND), [at("e")])
    assert (result.verdict, result.cyclic) == (Verdict.HOLDS, False)


def test_a_circle_that_never_comes_to_the_goal_is_told_with_the_way_to_it() -> None:
    result = explore(Digraph("abcdc", "be"), [at("e")])
    (violation,) = result.violations
    assert violation.property == "Goal"
    assert violation.path == Path("a", ("ab", "bc"))
    assert violation.circle == ("cd", "dc")
    assert result.cyclic


def test_a_circle_that_is_unfair_to_a_body_step_is_no_violation() -> None:
    system = Digraph("aba", "ac", "bc", names={"ac": "go", "bc": "go"})
    result = explore(system, [at("c")])
    assert (result.verdict, result.cyclic) == (Verdict.HOLDS, True)


def test_the_environment_need_not_leave_a_circle() -> None:
    names = {"ac": "go", "bc": "go"}
    result = explore(Digraph("aba", "ac", "bc", names=names, environment=("ac", "bc")), [at("c")])
    assert [violation.circle for violation in result.violations] == [("ab", "ba")]


def test_a_circle_through_the_goal_is_no_violation() -> None:
    assert explore(Digraph("aba"), [at("b")]).verdict is Verdict.HOLDS


def test_a_circle_after_the_goal_that_never_comes_back_to_it_is_a_violation() -> None:
    assert explore(Digraph("abcc"), [at("b")]).verdict is Verdict.VIOLATED


def test_a_goal_that_an_end_already_judged_is_reported_once() -> None:
    claims = [Property.ends("ends", lambda state: {"Goal": "stuck"} if state == "d" else None), at("c")]
    assert found(explore(Digraph("abac", "ad"), claims)) == {"Goal": ("ad",)}


def test_two_goals_at_once_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="one eventually property at a time, not One, Two"):
        explore(Digraph(), [Property.eventually("One", bool), Property.eventually("Two", bool)])


# -- limits and Ctrl-C -----------------------------------------------------------------------------------------------


def test_a_limit_on_states_leaves_the_verdict_open() -> None:
    result = explore(Counting(5_000), limits=Limits(states=1_000))
    assert result.stopped == "more than 1,000 states"
    assert 1_000 < result.states < 5_000
    assert result.verdict is Verdict.UNDETERMINED


def test_a_limit_on_seconds_leaves_the_verdict_open(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(explore_module.time, "monotonic", lambda: float(next(ticks)))
    result = explore(Counting(5_000), limits=Limits(seconds=3.5))
    assert result.stopped == "more than 3.5 seconds"
    assert 1 < result.states < 5_000
    assert result.verdict is Verdict.UNDETERMINED


def test_a_limit_on_memory_leaves_the_verdict_open() -> None:
    result = explore(Counting(5_000), limits=Limits(memory=2**20))
    assert result.stopped == "more than 1 MiB"
    assert result.states < 5_000
    assert result.verdict is Verdict.UNDETERMINED


def test_limits_that_are_not_hit_change_nothing() -> None:
    result = explore(Counting(2_000), limits=Limits(states=10_000, seconds=1e9, memory=2**60))
    assert (result.states, result.stopped, result.verdict) == (2_001, None, Verdict.HOLDS)


def test_a_violation_found_before_a_limit_stands() -> None:
    claim = Property.state("Small", lambda state: "too big" if state == 5 else None)
    result = explore(Counting(5_000), [claim], limits=Limits(states=1_000))
    assert result.stopped is not None
    assert (found(result), result.verdict) == ({"Small": ("add",) * 5}, Verdict.VIOLATED)


def test_a_goal_is_not_judged_on_part_of_a_graph() -> None:
    class Winding(Counting):
        """Every number can also go back to 0, but for what lies behind the limit it never comes to its goal."""

        def actions(self, state: Any) -> list[Hashable]:
            return ["add", "back"] if state < self.last else []

        def next(self, state: Any, action: Hashable) -> Any:
            return 0 if action == "back" else state + 1

    goal = Property.eventually("Goal", lambda state: state == 5_000)
    result = explore(Winding(5_000), [goal], limits=Limits(states=1_000))
    assert (result.violations, result.verdict) == ([], Verdict.UNDETERMINED)


def interrupt(*_: object) -> Any:
    raise KeyboardInterrupt


def interrupt_at(bad: Any) -> Callable[..., None]:
    return lambda *what: interrupt() if bad in what else None


@pytest.mark.parametrize("search", Search)
def test_ctrl_c_in_a_step_of_the_system_gives_what_was_found_by_then(search: Search) -> None:
    class Interrupted(Counting):
        def next(self, state: Any, action: Hashable) -> Any:
            return interrupt() if state == 50 else state + 1

    result = explore(Interrupted(100), [Property.state("NotTen", never(10))], search=search)  # type: ignore[arg-type]
    assert (result.states, result.depth) == (51, 50)
    assert found(result) == {"NotTen": ("add",) * 10}
    assert result.stopped == "interrupted"


@pytest.mark.parametrize(
    "prop",
    [
        Property.state("P", interrupt_at("c")),
        Property.step("P", interrupt_at("bc")),
        Property.end("P", interrupt_at("d")),
        Property.sometimes("P", interrupt_at("c")),
        Property.sometimes_step("P", interrupt_at("bc")),
        Property.eventually("P", interrupt_at("c")),
    ],
    ids=lambda prop: f"{prop.kind.value}{' step' * prop.on_steps}",
)
def test_ctrl_c_in_a_check_gives_an_open_verdict(prop: Property) -> None:
    result = explore(Digraph("abcd"), [prop])
    assert (result.stopped, result.verdict) == ("interrupted", Verdict.UNDETERMINED)
    assert result.states >= 2


@pytest.mark.parametrize("callback", ["progress", "on_state"])
def test_ctrl_c_in_a_callback_gives_an_open_verdict(callback: str) -> None:
    result = explore(Digraph("ab"), **{callback: interrupt})  # type: ignore[arg-type]
    assert (result.stopped, result.verdict) == ("interrupted", Verdict.UNDETERMINED)


def test_ctrl_c_while_the_goal_is_judged_gives_an_open_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore_module, "circle_states", interrupt)
    try:
        result = explore(Digraph("ab"), [at("b")])
    except KeyboardInterrupt:
        pytest.fail("Ctrl-C went through")
    assert (result.states, result.stopped, result.verdict) == (2, "interrupted", Verdict.UNDETERMINED)


def test_an_error_of_the_system_passes_through() -> None:
    class Broken(Digraph):
        def next(self, state: str, action: Hashable) -> str:
            raise ZeroDivisionError("of the system")

    with pytest.raises(ZeroDivisionError, match="of the system"):
        explore(Broken("ab"))


@pytest.mark.parametrize("collecting", [True, False])
@pytest.mark.parametrize("trouble", [None, KeyboardInterrupt, ZeroDivisionError])
def test_the_garbage_collector_is_left_as_it_was(collecting: bool, trouble: type[BaseException] | None) -> None:
    during: list[bool] = []

    def check(state: str) -> None:
        during.append(gc.isenabled())
        if trouble is not None:
            raise trouble

    was = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        try:
            explore(Digraph("ab"), [Property.state("P", check)])
        except ZeroDivisionError:
            assert trouble is ZeroDivisionError
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if was else gc.disable)()
    assert not any(during)


# -- callbacks -------------------------------------------------------------------------------------------------------


def test_on_state_is_called_once_a_state_in_the_order_of_visits() -> None:
    seen: list[str] = []
    explore(Digraph("abd", "acd", "da"), on_state=seen.append)
    assert seen == ["a", "b", "c", "d"]


def test_progress_tells_growing_numbers_of_states_edges_and_what_is_left() -> None:
    told: list[tuple[int, int, int]] = []
    explore(Counting(3_000), progress=lambda *numbers: told.append(numbers))
    assert told[0] == (1, 0, 1)
    assert len(told) > 2
    assert told == sorted(set(told))
    assert all(states == edges + 1 and left == 1 for states, edges, left in told)


# -- paths -----------------------------------------------------------------------------------------------------------


def test_a_path_is_replayed_state_by_state() -> None:
    path = Path("a", ("ab", "bd"))
    assert len(path) == 2
    assert path.states(Digraph(*DIAMOND)) == ["a", "b", "d"]
    assert Path("a", ()).states(Digraph()) == ["a"]


def test_a_system_with_hidden_state_is_caught_at_the_step_that_cannot_be_replayed() -> None:
    class Fickle(Digraph):
        """The edge bc is there only once."""

        def next(self, state: str, action: Hashable) -> str:
            after = super().next(state, action)
            if action == "bc":
                del self.edges["b"]["bc"]
            return after

    system = Fickle("abcd")
    (violation,) = explore(system, [Property.state("NotD", never("d"))]).violations
    with pytest.raises(NotDeterministicError, match=r"step 2 of 3, 'bc', is not enabled"):
        violation.path.states(system)


# -- random walks ----------------------------------------------------------------------------------------------------

MAZE = ("abcda", "acef", "bdf", "eg", "gag")


def test_the_same_seed_gives_the_same_walks_and_another_seed_others() -> None:
    taken: dict[int, list[list[Any]]] = {1: [], 2: []}
    for seed in (1, 1, 2):
        steps: list[Any] = []
        prop = Property.step("Look", lambda _, action, __, steps=steps: steps.append(action))
        walk(Digraph(*MAZE), [prop], seed=seed, walks=5, steps=20)
        taken[seed].append(steps)
    assert taken[1][0] == taken[1][1]
    assert taken[1][0] != taken[2][0]
    first, second = (walk(Digraph(*MAZE), seed=7, walks=5, steps=20) for _ in range(2))
    assert first == second


def test_walks_never_say_holds_even_when_they_saw_everything() -> None:
    result = walk(Digraph("ab"), [Property.state("NotX", never("x"))], seed=1, walks=10)
    assert (result.states, result.full_states, result.edges, result.depth) == (2, 2, 10, 1)
    assert result.verdict is Verdict.UNDETERMINED
    assert result.stopped == "walked 10 times at random (seed 1), which cannot exhaust the states"


@pytest.mark.parametrize(
    "claim",
    [
        Property.state("Bad", never("f")),
        Property.step("Bad", lambda _, __, after: "into f" if after == "f" else None),
        Property.end("Bad", never("f")),
    ],
    ids=lambda claim: claim.kind.value,
)
def test_walks_find_a_violation_and_a_path_to_it_that_can_be_replayed(claim: Property) -> None:
    system = Digraph(*MAZE)
    result = walk(system, [claim], seed=3, walks=20)
    (violation,) = result.violations
    assert result.verdict is Verdict.VIOLATED
    assert violation.path.states(system)[-1] == "f"


def test_walks_tell_the_path_to_a_witness() -> None:
    system = Digraph(*MAZE)
    witnesses = [
        Property.sometimes("g", lambda state: state == "g"),
        Property.sometimes_step("eg", lambda *step: step[1] == "eg"),
        Property.sometimes("x", lambda state: state == "x"),
    ]
    result = walk(system, witnesses, seed=3, walks=50)
    assert result.reached["g"].states(system)[-1] == "g"
    assert result.reached["eg"].actions[-1] == "eg"
    assert result.missing == ["x"]


def test_a_walk_ends_after_so_many_steps_or_where_nothing_is_enabled() -> None:
    assert walk(Digraph("aba"), seed=1, walks=3, steps=7).edges == 21
    assert walk(Digraph("abc"), seed=1, walks=3, steps=7).edges == 6


def test_walks_leave_goals_alone() -> None:
    result = walk(Digraph("aba"), [at("x")], seed=1, walks=2, steps=5)
    assert (result.violations, result.verdict) == ([], Verdict.UNDETERMINED)


def test_walks_count_actions_and_tell_progress() -> None:
    told: list[tuple[int, int, int]] = []
    names = {"ab": ("go", 1), "bc": ("go", 2)}
    result = walk(Digraph("abc", names=names), seed=1, walks=3, progress=lambda *numbers: told.append(numbers))
    assert result.fired == Counter(go=6)
    assert told == [(0, 0, 3), (3, 2, 2), (3, 4, 1)]


def test_walks_stop_at_a_limit_and_say_so() -> None:
    result = walk(Counting(50), seed=4, walks=10, limits=Limits(states=20))
    assert result.stopped == "more than 20 states, after 1 random walks (seed 4)"
    assert (result.edges, result.verdict) == (50, Verdict.UNDETERMINED)


def test_ctrl_c_in_a_walk_gives_what_was_found_by_then() -> None:
    claims = [Property.state("NotB", never("b")), Property.state("P", interrupt_at("c"))]
    result = walk(Digraph("abcd"), claims, seed=1, walks=5)
    assert (result.stopped, result.states, found(result)) == ("interrupted", 3, {"NotB": ("ab",)})


def test_walks_in_a_system_without_initial_states_say_nothing() -> None:
    result = walk(Digraph(starts=()), seed=1, walks=5)
    assert (result.states, result.verdict) == (0, Verdict.UNDETERMINED)
