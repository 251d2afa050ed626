"""The public names of the learner are found where they live, when they are used."""

import pytest

from bygones import learn


@pytest.mark.parametrize("name", learn.__all__)
def test_every_public_name_is_there(name):
    assert getattr(learn, name).__name__ == name


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="has no attribute 'trainer'"):
        learn.trainer  # noqa: B018
