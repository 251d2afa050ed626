"""Names that are nearly the same, or look the same, are found; and no name is too long to look at."""

import tracemalloc

import pytest

from bygones._names import alike, groups_alike, quoted, spelled_alike


@pytest.mark.parametrize(
    "other",
    [
        "Аna",  # Cyrillic А
        "Anа",  # Cyrillic а
        "Αna",  # Greek Α
        "АNА",  # Cyrillic, and in capitals
        "Ａｎａ",  # fullwidth
        "𝐀𝐧𝐚",  # mathematical
        "ᎪNA",  # Cherokee
        "ꓮꓠꓮ",  # Lisu
        "ᴀɴᴀ",  # small capitals
        "Ánа",  # an accent and a Cyrillic а
    ],
)
def test_letters_of_other_scripts_that_look_the_same(other):
    assert other != "Ana"
    assert spelled_alike(["Ana", "Ben", other]) == [["Ana", other]]


def test_capitals_of_one_script_are_the_same_name_although_they_look_different():
    assert spelled_alike(["Νίκος", "ΝΙΚΟΣ"]) == [["Νίκος", "ΝΙΚΟΣ"]]
    assert spelled_alike(["Вера", "ВЕРА", "вера"]) == [["Вера", "ВЕРА", "вера"]]


@pytest.mark.parametrize(
    "names",
    [
        ["Анна", "Инна", "Вера", "Нина", "Зоя", "Яна", "Ян", "Ия", "Юля", "Оля", "Оля Б", "Оля В"],
        ["Νίκος", "Νίκη", "Γιώργος", "Ελένη", "Άννα", "Αννέτα"],
        ["Արամ", "Անի", "Լիլիթ", "Նարե"],
        ["Ian", "lan", "user1", "userl", "O1", "01"],  # Latin letters and digits are as their writers mean them
    ],
)
def test_different_names_of_one_script_are_different(names):
    assert groups_alike(names) == []


def test_a_difference_that_nobody_sees_is_spelled_out():
    assert quoted(["Ana", "Аna"]) == ["'Ana'", "'Аna' (with a CYRILLIC CAPITAL LETTER A)"]
    assert quoted(["Ben", "ben"]) == ["'Ben'", "'ben'"]
    assert "'Аna' (with a CYRILLIC CAPITAL LETTER A)" in alike(["Ana", "Аna"])[0]


def test_one_letter_of_a_name_that_somebody_typed():
    long = "Massachusetts" * 7
    assert groups_alike([long, long[:-1]]) == [[long[:-1], long]]
    assert groups_alike([long, long[:-2]]) == []


def test_a_name_may_be_of_any_length():
    tracemalloc.start()
    names = ["x" * 100_000, "x" * 99_999 + "y", "ana", "X" * 100_000]
    try:
        assert groups_alike(names) == [[names[0], names[3]]]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
