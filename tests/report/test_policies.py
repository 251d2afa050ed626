import numpy as np

from bygones import Discounted
from bygones.allocation import Random, RoundRobin
from bygones.envs.needs import advantaged
from bygones.report.figures.policy_figures import policies_figure
from bygones.simulation import Course, simulate


def test_the_figure_shows_every_policy_in_every_panel():
    policies = {"random": Random(), "round-robin": RoundRobin()}
    memory = Discounted(half_life=5)
    played = {name: simulate(policy, advantaged(5), memory, "nash", 100) for name, policy in policies.items()}
    courses = {name: Course.of([each], 100) for name, each in played.items()}
    true, remembered, gini, judged = policies_figure(courses, "nash").axes
    for axes in (true, remembered, gini, judged):
        assert axes.get_legend_handles_labels()[1] == list(policies)
    steps, shown = gini.lines[0].get_data()
    assert steps[-1] == 100
    np.testing.assert_allclose(shown[-1], played["random"].gini[steps[-2] :].mean())
    np.testing.assert_allclose(true.lines[1].get_ydata()[0], played["random"].cumulative[0].max())
    assert judged.get_ylabel() == "log-Nash"


def test_one_step_can_be_drawn():
    played = {"random": Course.of([simulate(Random(), advantaged(5), Discounted(half_life=5), "egalitarian", 1)], 1)}
    figure = policies_figure(played, "egalitarian")
    assert all(len(axes.lines[0].get_xdata()) == 1 for axes in figure.axes)


def test_of_burdens_the_worst_off_is_who_carries_most():
    memory = Discounted(half_life=5)
    played = simulate(Random(), advantaged(5), memory, "egalitarian", 100, kind="burden")
    figure = policies_figure({"random": Course.of([played], 100)}, "egalitarian")
    true = figure.axes[0]
    assert true.get_title(loc="left") == "True loads"
    thick, thin = true.lines
    assert (thick.get_ydata() >= thin.get_ydata()).all()
    assert thick.get_linewidth() > thin.get_linewidth()
