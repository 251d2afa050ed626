"""The state machine of `support.ledger_machine`: briefly in every run, at length in the soak test."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from support.ledger_machine import LedgerMachine


def run(new_target, new_path, examples, steps):
    class Machine(LedgerMachine):
        pass

    Machine.new_target, Machine.new_path = staticmethod(new_target), staticmethod(new_path)
    run_state_machine_as_test(Machine, settings=settings(max_examples=examples, stateful_step_count=steps))


def test_a_ledger_does_what_the_model_says_through_every_fault(new_path):
    run(new_path, new_path, examples=15, steps=30)


@pytest.mark.soak
def test_a_ledger_does_what_the_model_says_at_length(new_target, new_path):
    run(new_target, new_path, examples=40, steps=60)
