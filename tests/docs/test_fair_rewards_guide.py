"""The guide runs as it stands, and the fairness it shows is there."""

import pytest

from support.guides import DOCS, run_guide


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:.*precision lowered by casting to float32.*")
def test_fairness_is_gained_and_paid_for():
    results = run_guide(DOCS / "guides" / "fair-rewards.md")["results"]
    plain, fair, blind, stochastic = (
        dict(zip(("fish", "wood", "gini", "worse_off"), measured, strict=True)) for measured in results.values()
    )
    assert fair["gini"] < 0.15 < 0.45 < plain["gini"]
    assert plain["worse_off"] < 10 < 30 < fair["worse_off"]
    assert fair["fish"] + fair["wood"] < plain["fish"] + plain["wood"]
    assert stochastic["gini"] < 0.2 < 0.4 < blind["gini"]
