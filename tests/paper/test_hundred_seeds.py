"""The cells in which a claim is open get a hundred seeds, and no others."""

from benchmarks.hundred_seeds import missing_runs

from support import synthetic_results

FEW = {"extra": False, "welfare": ("nash",), "aggregation": ("additive",)}


def unsure(*, gamma, horizon, scale="window"):
    """As the paper says, except for one cell, in which half of the seeds are unfair."""

    def gini(run):
        here = (run.gamma, run.horizon, run.observation_scale) == (gamma, horizon, scale)
        return 0.4 if here and run.seed % 2 else synthetic_results.as_the_paper_says(run)

    return gini


def test_nothing_is_missing_where_every_claim_is_decided():
    assert missing_runs(synthetic_results.results(**FEW)) == {}


def test_the_cells_of_an_open_comparison_get_the_other_ninety_seeds():
    found = missing_runs(synthetic_results.results(unsure(gamma=0.9, horizon=500), **FEW))
    assert {(cell.scale, cell.welfare, cell.gamma, cell.horizon) for cell in found} == {
        ("window", "nash", 0.9, 500),
        ("window", "nash", 0.0, 500),
    }
    for cell, runs in found.items():
        assert [run.seed for run in runs] == list(range(10, 100))
        assert {(run.gamma, run.horizon, run.observation_scale, run.weight) for run in runs} == {
            (cell.gamma, cell.horizon, "window", 0.9)
        }


def test_cells_that_have_a_hundred_seeds_are_done():
    assert missing_runs(synthetic_results.results(unsure(gamma=0.9, horizon=500), seeds=100, **FEW)) == {}


def test_a_cell_is_trained_once_where_two_scales_show_the_same():
    open_ = synthetic_results.results(
        lambda run: 0.4 if (run.gamma, run.horizon) == (0.9, 5000) and run.seed % 2 else (
            synthetic_results.as_the_paper_says(run)),
        scales=("none", "window"), extra=False, welfare=("nash",), aggregation=("averaged",),
    )  # fmt: skip
    found = missing_runs(open_)
    assert (0.9, 5000) in {(cell.gamma, cell.horizon) for cell in found}
    assert {cell.scale for cell in found} == {"none"}
