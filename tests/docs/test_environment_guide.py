from support.guides import DOCS, run_guide


def test_the_guide_to_the_environment_runs():
    ginis = run_guide(DOCS / "guides" / "environment.md")["ginis"]
    assert sorted(ginis) == [0.0, 0.9, 0.99, 1.0]
    assert all(0 <= gini <= 1 for gini in ginis.values())
