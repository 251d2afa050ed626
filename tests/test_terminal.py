import pytest

from bygones._terminal import amount


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (1e-15, "0"), (0.12345, "0.123"), (12.345, "12.3"), (999.4, "999"), (4652.3, "4,652"),
     (-1119.7, "-1,120"), (12_345_678.0, "12,345,678"), (1e18, "1e+18"), (float("inf"), "inf")],
)  # fmt: skip
def test_amounts_as_people_write_them(value, said):
    assert amount(value) == said


def test_signs_and_more_digits():
    assert amount(4652.3, sign=True) == "+4,652"
    assert amount(0.5, sign=True) == "+0.5"
    assert amount(0.0, sign=True) == "0"
    assert amount(4652.3, digits=5) == "4,652.3"
    assert amount(4652.3, digits=4) == "4,652"
