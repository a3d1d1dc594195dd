"""Where boxes stand in a picture, and arrows between them."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.stage import HEIGHT, Stage

#: Rows where they fit, and else columns.
FOREST = "p(a(x) b) q(c(z) d)"
WALK = "walk(a(a1 a2) b(b1 b2) c(c1 c2))"
DEEP = "r(s(t(u(v))))"


def stage_of(tree: str, *, as_list: bool = False) -> Stage:
    runs = read_scenario(f"cap: 1\ntree: {tree}", "here").runs
    return Stage({run.name: run.parent for run in runs}, as_list=as_list)


def off(stage: Stage, run: str, point: tuple[float, float]) -> float:
    """How far a point is from a box; 0 inside."""
    left, top = stage.corners[run]
    across = max(left - point[0], 0, point[0] - left - stage.box)
    down = max(top - point[1], 0, point[1] - top - HEIGHT)
    return math.hypot(across, down)


def test_the_trees_are_of_every_shape() -> None:
    assert (stage_of(FOREST).upright, stage_of(WALK).upright) == (True, False)


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("tree", [FOREST, WALK, DEEP])
def test_an_arrow_leads_from_one_box_to_the_other_beside_its_way_back(tree: str, as_list: bool) -> None:
    stage = stage_of(tree, as_list=as_list)
    for start, end in permutations(stage.names, 2):
        arrow, back = stage.arrow(start, end), stage.arrow(end, start)
        assert 2 <= off(stage, start, arrow.start) <= 6
        assert 2 <= off(stage, end, arrow.end) <= 6
        assert arrow.tip[0] == arrow.end
        assert min(stage.names, key=lambda run: off(stage, run, arrow.end)) == end
        assert math.dist(arrow.middle, back.middle) >= 18, "their numbers overlap"


@pytest.mark.parametrize("tree", [FOREST, WALK, DEEP])
def test_a_list_has_every_run_on_a_line_of_its_own_moved_in_by_its_level(tree: str) -> None:
    stage = stage_of(tree, as_list=True)
    lines = sorted(stage.names, key=lambda run: stage.corners[run][1])
    assert len({stage.corners[run][1] for run in lines}) == len(lines)
    for run in stage.names:
        if run in stage.above:
            above = stage.above[run]
            assert stage.corners[run][0] > stage.corners[above][0]
            assert lines.index(run) > lines.index(above)
    assert stage.width <= 390 - 2 * 16  # a phone


def test_nothing_stands_nowhere() -> None:
    assert [(stage.width, stage.height) for stage in (Stage({}), Stage({}, as_list=True))] == [(0, 0)] * 2
