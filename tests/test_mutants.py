"""Every check has a faulty subject that it catches."""

from __future__ import annotations

import pytest

from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.mutants import MUTANTS, Mutant, catch
from slotlending import Pool


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_by_the_invariant_it_is_named_for(name: str) -> None:
    (caught,) = catch([name], 4)
    assert caught.caught, caught.mistake
    assert caught.caught_by == MUTANTS[name].caught_by
    assert "make no sense" not in caught.message  # caught for what it does, not for confusing the judge


def test_every_invariant_has_a_faulty_pool() -> None:
    # AllFinish fails with every deadlock, and Diagnosis is about scenarios: test_check.py has subjects for both.
    assert {mutant.caught_by for mutant in MUTANTS.values()} == set(ALL_INVARIANTS) - {"AllFinish", "Diagnosis"}


def test_a_pool_without_a_mistake_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sound(Mutant):
        mistake = "none"
        caught_by = "NoSlotLeak"

    monkeypatch.setitem(MUTANTS, "Sound", Sound)
    (caught,) = catch(["Sound"], 3)
    assert not caught.caught
    assert caught.trace is None


def test_a_mutant_is_a_pool_with_one_thing_changed() -> None:
    for mutant in MUTANTS.values():
        assert issubclass(mutant, Pool)
        own = {name for name in vars(mutant) if not name.startswith("__") and callable(getattr(mutant, name))}
        assert len(own) <= 2, (mutant, own)
