from guides import DOCS, run_guide


def test_the_guide_to_the_environment_runs():
    run_guide(DOCS / "guides" / "environment.md")
