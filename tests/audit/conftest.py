"""Histories for tests."""

import csv

import pytest

from support.servers import new_database, postgres  # noqa: F401


@pytest.fixture
def write(tmp_path):
    """A function that writes a CSV file and gives its path."""

    def write(header, *rows, name="history.csv"):
        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        return path

    return write


@pytest.fixture
def nights(write):
    """Four people's night shifts."""
    return write(
        ("agent", "time", "utility"),
        ("ana", "2026-01-03T22:00+01:00", 10),
        ("ben", "2026-01-10T22:00+01:00", 10),
        ("cem", "2026-01-17T22:00+01:00", 8),
        ("ana", "2026-01-24T22:00+01:00", 10),
        ("ben", "2026-01-31T22:00+01:00", 8),
        ("cem", "2026-02-07T22:00+01:00", 8),
        ("dana", "2026-02-14T22:00+01:00", 10),
        ("ana", "2026-02-21T22:00+01:00", 10),
    )
