"""The race of the first seed post: the same walk under hold, release and lend, on one clock."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from slotcheck.checks.cli import main
from slotcheck.checks.race import RACED, WALK, Race, race, walk_over
from slotcheck.checks.race_drawing import race_drawing
from slotcheck.pymodel.simulate import simulate
from slotlending import Pool

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def races() -> dict[str, Race]:
    return {one.rule: one for one in race()}


@pytest.mark.parametrize(
    ("files", "seen"),
    [
        (6, {"hold": (None, 1), "release": (15, 6), "lend": (15, 2)}),
        (3, {"hold": (None, 1), "release": (8, 3), "lend": (8, 2)}),
    ],
)
def test_the_figures_of_the_post(files: int, seen: dict[str, tuple[int | None, int]]) -> None:
    assert {one.rule: (one.end, one.peak) for one in race(files)} == seen


def test_the_pool_that_ships_does_what_the_rule_does(races: dict[str, Race]) -> None:
    found = simulate(walk_over(6, 2), Pool(2))
    lives = races["lend"].lives
    assert [life.admitted for life in lives] == list(found.admitted_ms)
    assert [life.ended for life in lives] == list(found.ended_ms)


@pytest.mark.parametrize("files", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("cap", [1, 2, 3])
@pytest.mark.parametrize("rule", RACED)
def test_no_more_work_than_slots_and_slots_idle_only_where_a_run_holds_one(rule: str, files: int, cap: int) -> None:
    (one,) = race(files, 2, cap, (rule,))
    for tick in range(one.last + 1):
        spans = [life.works for life in one.lives if life.works is not None]
        works = sum(span.start <= tick and (span.end is None or tick < span.end) for span in spans)
        idle = sum(
            span.start <= tick and (span.end is None or tick < span.end) for life in one.lives for span in life.idle
        )
        assert works + idle <= cap
        ended = one.end is not None and tick >= one.end
        waits = any(life.asked <= tick and (life.admitted is None or life.admitted > tick) for life in one.lives)
        assert works + idle == cap or not waits or ended
    # The walk and the files that were read can hold every slot.
    assert (one.end is None) == (rule == "hold" and 1 + files >= cap)


def test_hold_keeps_both_slots_under_runs_that_wait(races: dict[str, Race]) -> None:
    idle = {life.run: life.idle for life in races["hold"].lives if life.idle}
    assert idle == {WALK: ((0, None),), "1": ((1, None),)}
    assert str(races["hold"]) == "stuck at t = 1, at most 1 of 6 files in flight"


def test_the_figure_shows_every_file_every_block_and_every_count(races: dict[str, Race]) -> None:
    root = ElementTree.fromstring(race_drawing(list(races.values())))
    classes = [element.get("class", "") for element in root.iter()]
    works = [life for one in races.values() for life in one.lives if life.works is not None]
    # One of each stands in the key.
    assert classes.count("chunk") == sum("." in life.run for life in works) + 1
    assert classes.count("reads") == sum("." not in life.run for life in works) + 1
    assert classes.count("stripes") == 2 + 1
    told = [text.text for text in root.iter(f"{SVG}text")]
    assert [text for text in told if text and "files in flight" in text] == [f"{r}: {one}" for r, one in races.items()]
    counts = [int(text) for text in told if text and text.isdigit()]
    assert counts == [one.in_flight.at(tick) for one in races.values() for tick in range(16)] + list(range(16))
    assert told.count("file 6") == 3


@pytest.mark.parametrize(("files", "chunks", "cap"), [(1, 1, 1), (7, 9, 8), (20, 1, 1)])
def test_blocks_of_one_row_do_not_overlap_and_all_is_inside(files: int, chunks: int, cap: int) -> None:
    svg = race_drawing(race(files, chunks, cap))
    root = ElementTree.fromstring(svg)
    width, height = (float(root.get(side, "")) for side in ("width", "height"))
    boxes = [
        tuple(float(rect.get(side, "")) for side in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("class") in ("reads", "chunk") and float(rect.get("x", "")) > 30
    ]
    for at, (x, y, wide, high) in enumerate(boxes):
        assert wide > 0
        assert x + wide <= width
        assert y + high <= height
        assert not any(
            x < x2 + wide2 and x2 < x + wide and y < y2 + high2 and y2 < y + high for x2, y2, wide2, high2 in boxes[:at]
        )
    assert min(int(size) for size in re.findall(r"font-size:(\d+)px", svg)) >= 12
    assert "prefers-color-scheme:dark" in svg
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]


def test_the_command_tells_and_draws_it(tmp_path: Path) -> None:
    figure = tmp_path / "race.svg"
    result = CliRunner().invoke(main, ["race", "--svg", str(figure)])
    assert result.exit_code == 0
    assert "lend     ends at t = 15, at most 2 of 6 files in flight" in result.stdout
    assert figure.read_text() == race_drawing(race())
    told = json.loads(CliRunner().invoke(main, ["race", "--files", "3", "--rule", "lend", "--format", "json"]).stdout)
    assert told["parts"] == [
        {
            "rule": "lend",
            "stuck": False,
            "last": 8,
            "peak_files_in_flight": 2,
            "files_in_flight": [2] * 5 + [1] * 3 + [0],
        }
    ]


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["race", "--svg", str(tmp_path / "no" / "race.svg")])
    assert result.exit_code == 2
    assert "is no folder" in result.stderr
