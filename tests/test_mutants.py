"""Every check has a faulty subject that it catches."""

from __future__ import annotations

import pytest

from slotcheck.checks.aio_watch import PORT_INVARIANTS
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.mutants import FAULTY, MUTANTS, PERMITS, PORTS, FaultyPermits, FaultyPort, Mutant, catch
from slotlending import Pool, aio
from slotlending.permit import Permits


@pytest.mark.parametrize("name", FAULTY)
def test_a_mutant_is_caught_by_the_invariant_it_is_named_for(name: str) -> None:
    (caught,) = catch([name], 4)
    assert caught.caught, caught.mistake
    assert caught.caught_by == FAULTY[name].caught_by
    assert caught.kind == ("pool" if name in MUTANTS else "permits" if name in PERMITS else "port")
    assert "make no sense" not in caught.message  # caught for what it does, not for confusing the judge


def test_every_invariant_has_a_faulty_pool() -> None:
    # AllFinish fails with every deadlock, and Diagnosis is about scenarios: test_check.py has subjects for both.
    faulty = (*MUTANTS.values(), *PERMITS.values())
    assert {mutant.caught_by for mutant in faulty} == set(ALL_INVARIANTS) - {"AllFinish", "Diagnosis"}


def test_every_invariant_of_a_port_has_a_faulty_port() -> None:
    assert set(PORT_INVARIANTS) <= {port.caught_by for port in PORTS.values()}


def test_a_port_without_a_mistake_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sound(FaultyPort):
        mistake = "none"
        caught_by = "NoSlotLost"

    monkeypatch.setattr("slotcheck.checks.mutants.Sound", Sound, raising=False)
    monkeypatch.setitem(PORTS, "Sound", Sound)
    (caught,) = catch(["Sound"], 2)
    assert not caught.caught
    assert caught.trace is None


def test_a_pool_without_a_mistake_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sound(Mutant):
        mistake = "none"
        caught_by = "NoSlotLeak"

    monkeypatch.setitem(MUTANTS, "Sound", Sound)
    (caught,) = catch(["Sound"], 3)
    assert not caught.caught
    assert caught.trace is None


def test_permits_without_a_mistake_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sound(FaultyPermits):
        __slots__ = ()
        mistake = "none"
        caught_by = "NoPermitLost"

    monkeypatch.setitem(PERMITS, "Sound", Sound)
    (caught,) = catch(["Sound"], 2)
    assert not caught.caught
    assert caught.trace is None


def test_a_mutant_is_what_ships_with_one_thing_changed() -> None:
    for mutant in FAULTY.values():
        ships = Pool if mutant in MUTANTS.values() else Permits if mutant in PERMITS.values() else aio.Pool
        assert issubclass(mutant, ships)
        own = {name for name in vars(mutant) if not name.startswith("__") and callable(getattr(mutant, name))}
        assert len(own) <= 2, (mutant, own)
