from guides import run_guide


def test_the_guide_to_the_environment_runs():
    run_guide("docs/guides/environment.md")
