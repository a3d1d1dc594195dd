"""What can be checked, and what is said of what cannot."""

from __future__ import annotations

import pytest
import subjects

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.subject import ClassSubject, SubjectError, resolve_subject, view
from slotcheck.pymodel.rules import Lend
from slotlending import Pool


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rule:lent", "no rule 'lent': there are help, help+inline, hold, lend"),
        ("nonsense", "'nonsense' names no subject: use pool, rule:NAME or package.module:Class"),
        (
            "no_such_module:Pool",
            "cannot import 'no_such_module': ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("subjects:NoSuchPool", "'subjects' has no 'NoSuchPool'"),
        ("subjects:WithoutCancel", "subjects:WithoutCancel lacks cancel"),
        ("subjects:UnhashableSnapshot", "a snapshot of subjects:UnhashableSnapshot cannot be hashed"),
        ("subjects:ShortSnapshot", "snapshot() returned (1, 0, frozenset()), not an object with the fields cap, taken"),
        ("subjects:FailsToStart", "subjects:FailsToStart(1).snapshot() raised RuntimeError: no database"),
    ],
)
def test_a_subject_that_cannot_be_checked_is_named_with_the_reason(spec: str, said: str) -> None:
    with pytest.raises(SubjectError) as caught:
        resolve_subject(spec)
    assert said in str(caught.value)


def test_a_bad_order_is_named() -> None:
    with pytest.raises(
        SubjectError,
        match=r"order is one of fewest_held, fifo, .*, not 'lifo'",
    ):
        resolve_subject("pool", order="lifo")


def test_the_pool_is_found_by_its_short_name_and_by_its_class() -> None:
    assert resolve_subject("pool").name == "pool"
    found = resolve_subject("slotlending:Pool", order="fifo")
    assert isinstance(found, ClassSubject)
    assert found.initial(2, relend=True) == Pool(2, order="fifo", relend=True).snapshot()


def test_a_snapshot_of_another_make_gives_the_same_view() -> None:
    mine, theirs = Pool(1), subjects.CountsGrants(1)
    for pool in (mine, theirs):
        pool.ask("r")
        pool.ask("a", "r")
    assert view(theirs.snapshot()) == view(mine.snapshot())
    assert Lend().finish(view(theirs.snapshot()), "a").state == Lend().finish(view(mine.snapshot()), "a").state


def test_nothing_is_merged_where_a_snapshot_tells_more_than_the_view() -> None:
    (part,) = parts_of([scenario for scenario in generated_scenarios(3) if scenario.name == "a(b c) plain"], caps=[2],
                       relend=[False])  # fmt: skip
    plain = check_part(part, ClassSubject("mine", subjects.Sound))
    other = check_part(part, ClassSubject("theirs", subjects.CountsGrants))
    assert plain.verdict == other.verdict == "holds"
    assert plain.reduced
    assert not other.reduced
    assert other.states >= plain.full_states


def test_run_records_with_a_field_more_are_not_plain() -> None:
    subject = resolve_subject("subjects:NotesInRuns")
    assert not subject.plain
    assert view(subject.initial(1, relend=False)) == Pool(1).snapshot()
    noted = subjects.NotesInRuns(1)
    noted.ask("r")
    plain = Pool(1)
    plain.ask("r")
    assert view(noted.snapshot()) == plain.snapshot()
    assert resolve_subject("pool").plain
