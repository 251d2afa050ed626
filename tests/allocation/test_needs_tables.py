"""Every form of a table of needs, as people write them."""

import pytest

from bygones.allocation import Assign, ChooseK, Divide
from bygones.allocation.tables import read_needs


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "table.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_needs(path, **options)

    return read


WIDE = Assign({"ana": {"early": 2, "late": 1.5}, "O'Brien, Ben": {"late": 1}, "cem": {}}, 1)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("agent,need\nana,2\nben,1.5\n", {"k": 2}, ChooseK({"ana": 2, "ben": 1.5}, 2)),
        ("\ufeffagent;need;note\n ana ;2,5;=1+1\n;;\n", {}, ChooseK({"ana": 2.5})),
        ("agent\nana\nben\n", {}, ChooseK({"ana": 1, "ben": 1})),
        ('agent,early,late\nana,2,1.5\n"O\'Brien, Ben",,1\ncem,,\n', {}, WIDE),
        ("agent;early;late\nana;2;1,5\nO'Brien, Ben;;1\ncem;;\n", {"capacity": 1}, WIDE),
        ("agent\tearly\tlate\nana\t2\t1.5\nO'Brien, Ben\t\t1\ncem\t\t\n", {}, WIDE),
        (
            "agent, item ,utility\nana,early,2\n"
            'ana,late,1.5\n"O\'Brien, Ben",late,1\n"O\'Brien, Ben",early,\ncem,late,\n',
            {},
            WIDE,
        ),
        ("agent,late,early\nana,,3\n", {"capacity": 2}, Assign({"ana": {"early": 3}}, 2, items=("late", "early"))),
        ("agent,item,utility\nana,late,\nana,early,3\n", {}, Assign({"ana": {"early": 3}}, 1, items=("late", "early"))),
        ("agent,rate,cap\nana,2,5\nben,1,\n", {"amount": 9}, Divide(9, {"ana": 2, "ben": 1}, {"ana": 5})),
        ("agent;rate;cap\nana;0,5;inf\n", {"amount": 9}, Divide(9, {"ana": 0.5}, {"ana": float("inf")})),
        ("agent,cap\nana,5\n", {"amount": 9}, Divide(9, {"ana": 1}, {"ana": 5})),
        ("agent\nana\n", {"amount": 9}, Divide(9, {"ana": 1})),
    ],
)
def test_every_form(read, text, options, expected):
    problem = read(text, **options)
    assert (type(problem), problem.to_dict()) == (type(expected), expected.to_dict())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("name,need\nana,1\n", {}, " has no column 'agent': found 'name', 'need'"),
        ("agent,needs\nana,1\n", {}, " has a column 'needs': did you mean 'need'?"),
        ("agent,Need\nana,1\n", {}, " has a column 'Need': did you mean 'need'?"),
        ("agent,item,utilities\nana,x,1\n", {}, " has a column 'utilities': did you mean 'utility'?"),
        ("agent,item\nana,x\n", {}, " has no column 'utility': found 'agent', 'item'"),
        ("agent,utility\nana,1\n", {}, " has no column 'item': found 'agent', 'utility'"),
        ("agent,item,utility,rate\nana,x,1,1\n", {}, " has a column 'rate' next to 'item' and 'utility': delete it"),
        ("agent,need,early\nana,x,1\n", {}, " has a column 'early' next to 'need': delete it, or name it 'note'"),
        ("agent,rate\nana,1\n", {}, " has the columns 'rate': give the amount to divide"),
        ("agent,need,cap\nana,1,1\n", {"amount": 9}, "has a column 'cap' next to 'need'"),
        ("agent,need\nana,-1\n", {"amount": 9}, ", row 2: column 'need' must be a finite number of at least 0"),
        ("agent,early\nana,1\n", {"amount": 9}, "amount cannot be used with"),
        ("agent,rate\nana,1\n", {"amount": 9, "k": 1}, "k cannot be used with"),
        ("agent\nana\n", {"capacity": 1}, ", a table of needs: use k for the number of places"),
        ("agent,early\nana,1\n", {"k": 1}, ", a table of items: use capacity for the most items of one agent"),
        ("", {}, " has no column 'agent': found none"),
        ("agent,need\n", {}, " has no rows below its header"),
        ("agent,need\n,\n", {}, " has no rows below its header"),
        ("agent,need\nana,1\nben,x\n", {}, ", row 3: column 'need' must be a finite number of at least 0, got 'x'"),
        ("agent,need\nana,-1\n", {}, ", row 2: column 'need' must be"),
        ("agent,need\nana,nan\n", {}, ", row 2: column 'need' must be"),
        ("agent,need\nana,inf\n", {}, ", row 2: column 'need' must be"),
        ("agent,need\nana,\n", {}, ", row 2: column 'need' must be"),
        ("agent,rate,cap\nana,,\n", {"amount": 1}, ", row 2: column 'rate' must be"),
        ("agent,cap\nana,-1\n", {"amount": 1}, ", row 2: column 'cap' must be a number of at least 0, got '-1'"),
        ("agent,x\nana,soon\n", {}, ", row 2: column 'x' must be a finite number of at least 0, got 'soon' (every"),
        ("agent,need\nana,1\nben,1\nana,2\n", {}, ", row 4: column 'agent' has 'ana' a second time (first in row 2)"),
        ("agent,x\nana,1\nana,2\n", {}, ", row 3: column 'agent' has 'ana' a second time (first in row 2): keep one"),
        ("agent,item,utility\nana,x,1\nana,x,1\n", {}, ", row 3: agent 'ana' and item 'x' are in row 2 already: keep"),
        ("agent,item,utility\nana,x,1\nana,x,\n", {}, ", row 3: agent 'ana' and item 'x' are in row 2 already"),
        ("agent,item,utility\nana,x,\n", {}, " gives no utility: no agent may take any of the items 'x'"),
        ("agent,item,utility\nana,,1\n", {}, ", row 2: column 'item' must not be empty"),
        ("agent,need\n,1\n", {}, ", row 2: column 'agent' must not be empty"),
        ("agent,need\nana\x1b[31m,1\n", {}, ", row 2: column 'agent' must not contain control characters"),
        ("agent,a\x1bb\nana,1\n", {}, ": the name of a column must not contain control characters"),
        ("agent,x,\nana,1,2\n", {}, " has a column without a name: name it or delete it"),
        ("agent,need\nana\n", {}, ", row 2: expected 2 cells"),
        ("agent,need\nana,1,2\n", {}, ", row 2: expected 2 cells"),
        (b"agent,need\n\xff,1\n", {}, " is not a CSV file in UTF-8: save it again as CSV in UTF-8"),
        (b"PK\x03\x04\xff\xfe", {}, " is a spreadsheet workbook: save it as CSV"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_row_and_column(read, tmp_path, text, options, message):
    with pytest.raises(ValueError, match=r"table\.csv") as refused:
        read(text, **options)
    assert message in str(refused.value).replace(str(tmp_path / "table.csv"), "", 1 if message[0] in " ,:" else 0)
