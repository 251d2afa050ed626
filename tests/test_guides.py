"""What runs the guides runs all of their Python, in order, and says where it failed."""

import traceback

import pytest

from support.guides import run_guide


def test_blocks_run_in_order_in_one_namespace(tmp_path):
    guide = tmp_path / "guide.md"
    guide.write_text("# Title\n\n```python\nx = 1\n```\n\n```sh\nexit 1\n```\n\n```python\nx = x + 1\n```\n")
    assert run_guide(guide)["x"] == 2


def test_a_guide_without_python_is_no_guide_that_runs(tmp_path):
    guide = tmp_path / "guide.md"
    guide.write_text("# Title\n\n```py\nx = 1\n```\n")
    with pytest.raises(AssertionError, match=r"guide\.md has nothing to run"):
        run_guide(guide)


def test_a_section_is_run_alone(tmp_path):
    guide = tmp_path / "guide.md"
    guide.write_text("```python\nx = 1\n```\n\n## One\n\n```python\ny = 2\n```\n\n## Two\n\n```python\nz = 3\n```\n")
    assert {"x", "y", "z"} & run_guide(guide, "One").keys() == {"y"}
    assert {"x", "y", "z"} & run_guide(guide, "Two").keys() == {"z"}


def test_errors_point_at_the_guides_own_line(tmp_path):
    guide = tmp_path / "guide.md"
    guide.write_text("# Title\n\n```python\nx = 1\nx / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as failure:
        run_guide(guide)
    assert traceback.extract_tb(failure.tb)[-1].lineno == 5
