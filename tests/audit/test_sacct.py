"""Usage of a cluster from what `sacct -P` prints."""

import math

import pytest

from bygones.audit import audit, read_history
from bygones.audit.read import formats, sacct
from bygones.audit.read.formats import Asked

HEADER = "JobID|User|Account|State|Start|End|Elapsed|AllocCPUS|AllocTRES"
JOBS = """\
1|ana|chem|COMPLETED|2026-01-01T00:00:00|2026-01-01T02:30:00|02:30:00|8|billing=8,cpu=8,gres/gpu=2,mem=64G,node=1
1.batch||chem|COMPLETED|2026-01-01T00:00:00|2026-01-01T02:30:00|02:30:00|8|cpu=8,gres/gpu=2,mem=64G,node=1
1.0||chem|COMPLETED|2026-01-01T00:00:00|2026-01-01T02:30:00|02:30:00|8|cpu=8
2_1|ben|bio|COMPLETED|2026-01-01T00:00:00|2026-01-02T01:00:00|1-01:00:00|4|cpu=4,mem=512M,gres/gpu:a100=1
3|ben|bio|RUNNING|2026-01-02T00:00:00|Unknown|00:30:00|4|cpu=4,gres/gpu=4
4|ben|bio|PENDING|Unknown|Unknown|00:00:00|0|
5|cem|bio|CANCELLED by 1000|None|2026-01-02T00:00:00|00:00:00|0|
6|ana|bio|FAILED|2026-01-02T00:00:00|2026-01-02T00:00:45|00:45|1K|
"""


@pytest.fixture
def jobs(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(f"{HEADER}\n{JOBS}")
    return path


def usage(path, **more):
    found = audit(read_history(path, format="sacct", **more), ["1d", "inf"], refine=False)
    return dict(zip(found.names, found.received.tolist(), strict=True)), found


def test_gpu_hours_of_users(jobs):
    received, found = usage(jobs)
    assert received == pytest.approx({"ana": 5, "ben": 25 + 2})
    assert found.utility == "GPU-hours"
    assert found.notes[1:] == (
        "Usage is in GPU-hours, spread evenly over each job's run time.",
        "GPUs are counted: 3 of 4 jobs used GPUs; --resource cpu counts CPUs.",
        "Included 1 job still running, with the usage so far.",
        "Skipped 2 jobs that never ran.",
    )
    assert "read as UTC" in found.notes[0]


def test_an_audit_says_which_files_it_is_of(jobs, tmp_path):
    rest = [tmp_path / "february.txt", tmp_path / "march.txt"]
    for path in rest:
        path.write_text(f"{HEADER}\n")
    assert usage(jobs)[1].label == str(jobs)
    assert usage([jobs, *rest])[1].label == f"{jobs} and 2 other files"


def test_other_resources_and_accounts(jobs):
    assert usage(jobs, resource="cpu")[0] == pytest.approx({"ana": 20 + 1000 * 45 / 3600, "ben": 102})
    assert usage(jobs, resource="mem")[0] == pytest.approx({"ana": 160, "ben": 12.5})
    assert usage(jobs, agent="Account")[0] == pytest.approx({"chem": 5, "bio": 27})


def read(path, *more, **asked):
    return sacct.scan([path, *more], Asked(**asked))


def test_usage_is_spread_over_the_time_of_a_job(jobs):
    parts = read(jobs, resource="gpu").table.to_pyarrow().to_pylist()
    ana, short = [part for part in parts if part["agent"] == "ana"]
    assert (ana["start"].isoformat(), ana["time"].isoformat()) == ("2026-01-01T00:00:00", "2026-01-01T02:30:00")
    assert (ana["utility"], short["utility"]) == (5, 0)
    found = usage(jobs, time_zone="America/New_York")[1]
    assert found.clock.shown(found.first) == "2026-01-01 00:00"
    # Of ben's 25 hours with one GPU and the half hour with four, what is left a day later: the integral of 2^(-age).
    day = audit(read_history(jobs), ["1d"], refine=False)
    at = 25 / 24
    exact = 24 / math.log(2) * (1 - 2**-at) + 4 * 24 / math.log(2) * (2 ** -(at - 24.5 / 24) - 2 ** -(at - 1))
    assert day.standings[0].remembered[1] == pytest.approx(exact, rel=1e-12)


def test_for_a_ledger_usage_comes_in_parts_of_at_most_one_hour(jobs):
    parts = sacct.read(jobs, resource="gpu").table.to_pylist()
    ana = [part for part in parts if part["agent"] == "ana"]
    assert [part["time"].isoformat() for part in ana[:3]] == [
        "2026-01-01T00:50:00", "2026-01-01T01:40:00", "2026-01-01T02:30:00",
    ]  # fmt: skip
    assert sum(part["utility"] for part in ana) == 5
    assert len([part for part in parts if part["agent"] == "ben"]) == 25 + 1


def test_a_quote_is_a_letter_like_any_other(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|JobName|User|Start|End|Elapsed|AllocCPUS\n"
        '7|"left open|ana|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|2\n'
        '8|done|"ben"|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|3\n'
    )
    assert usage(path)[0] == pytest.approx({"ana": 2, '"ben"': 3})


def test_cpus_are_counted_where_there_are_no_gpus(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|User|Start|End|Elapsed|AllocCPUS|\n7|ana|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|2|\n\n"
    )
    received, found = usage(path)
    assert received == pytest.approx({"ana": 2})
    assert found.utility == "CPU-hours"


def test_a_job_over_the_hour_that_the_clock_repeats_ends_when_it_started(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text("JobID|User|Start|End|Elapsed|AllocCPUS\n"
                    "8|ana|2026-10-25T02:30:00|2026-10-25T02:30:00|01:00:00|2\n")  # fmt: skip
    assert usage(path, time_zone="Europe/Berlin")[0] == {"ana": 2}


def test_elapsed_in_seconds(tmp_path):
    """`ElapsedRaw` is read where there is no `Elapsed`, with a header line or with the names of the fields."""
    path, row = tmp_path / "sacct.txt", "8|ana|2026-10-25T02:30:00|2026-10-25T03:00:00|1800|2\n"
    path.write_text(f"JobID|User|Start|End|ElapsedRaw|AllocCPUS\n{row}")
    assert audit(read_history(path), ["1d"], refine=False).received.tolist() == pytest.approx([1])
    path.write_text(row)
    fields = ["JobID", "User", "Start", "End", "ElapsedRaw", "AllocCPUS"]
    assert audit(read_history(path, fields=fields), ["1d"], refine=False).received.tolist() == pytest.approx([1])


@pytest.mark.parametrize(
    ("message", "header", "row"),
    [
        ("no column 'User'", "JobID|Start|End|Elapsed|AllocCPUS", "1|x|x|x|1"),
        ("sacct.txt has no column 'AllocTRES'", "JobID|User|Start|End|Elapsed", "1|a|x|x|x"),
        ("row 2: Start must be a time such as", "JobID|User|Start|End|Elapsed|AllocCPUS", "1|a|soon|Unknown|01:00|1"),
        (r"row 2: Elapsed must be \[DD-\[HH:\]\]MM:SS, got 'long'", "JobID|User|Start|End|Elapsed|AllocCPUS",
         "1|a|2026-01-01T00:00:00|Unknown|long|1"),
        ("row 2: ElapsedRaw must be whole seconds, got '1:00'", "JobID|User|Start|End|ElapsedRaw|AllocCPUS",
         "1|a|2026-01-01T00:00:00|Unknown|1:00|1"),
        ("no column 'Elapsed'", "JobID|User|Start|End|AllocCPUS", "1|a|x|x|1"),
        ("row 2: End must not be before Start", "JobID|User|Start|End|Elapsed|AllocCPUS",
         "1|a|2026-01-01T00:00:00|2025-01-01T00:00:00|01:00|1"),
        ("row 2: AllocTRES must be numbers, .* got 'cpu=many'", "JobID|User|Start|End|Elapsed|AllocTRES",
         "1|a|2026-01-01T00:00:00|Unknown|01:00|cpu=many"),
        ("row 2: User must be a name, got nothing", "JobID|User|Start|End|Elapsed|AllocCPUS",
         "1||2026-01-01T00:00:00|Unknown|01:00|1"),
        ("row 2: expected as many cells as in the header", "JobID|User|Start|End|Elapsed|AllocCPUS", "1|a"),
        ("contains no job that ran", "JobID|User|Start|End|Elapsed|AllocCPUS", "1|a|Unknown|Unknown|00:00|1"),
    ],
)  # fmt: skip
def test_errors_name_the_row(tmp_path, message, header, row):
    path = tmp_path / "sacct.txt"
    path.write_text(f"{header}\n{row}\n")
    with pytest.raises(ValueError, match=message):
        read(path)


def test_other_files_are_refused(jobs, tmp_path):
    with pytest.raises(ValueError, match=r"resource must be one that a job .* uses \(billing, cpu, gpu, mem, node\)"):
        read(jobs, resource="fpga")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe|\x00")
    with pytest.raises(ValueError, match="is not the output of sacct -P"):
        read(binary)


def test_a_few_gpus_among_many_jobs_are_not_what_is_counted(tmp_path):
    path = tmp_path / "sacct.txt"
    row = "{}|ana|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|cpu=2{}\n"
    path.write_text(
        "JobID|User|Start|End|Elapsed|AllocTRES\n"
        + "".join(row.format(i, ",gres/gpu=1" if i < 2 else "") for i in range(4024))
    )
    received, found = usage(path)
    assert (received, found.utility) == (pytest.approx({"ana": 8048}), "CPU-hours")
    assert "CPUs are counted: only 2 of 4,024 jobs used GPUs; --resource gpu counts those." in found.notes


def test_several_resources_are_weighted(jobs):
    received, found = usage(jobs, resource="cpu=1,gres/gpu=40,mem=0.25")
    ana = 20 + 40 * 5 + 0.25 * 160 + 1000 * 45 / 3600
    assert received == pytest.approx({"ana": ana, "ben": 102 + 40 * 27 + 0.25 * 12.5})
    assert found.utility == "weighted hours (cpu × 1, gpu × 40 and mem × 0.25)"
    assert usage(jobs, resource={"gpu": 2.0})[0] == pytest.approx({"ana": 10, "ben": 54})
    with pytest.raises(ValueError, match="resource must be names with weights such as cpu=1,gpu=40, got 'cpu=much'"):
        read(jobs, resource="cpu=much")


def test_without_a_header_line_the_fields_are_named(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(JOBS)
    with pytest.raises(ValueError, match=r"sacct.txt has no header line: it begins with '1', 'ana', 'chem'; run sacct"):
        read_history(path, format="sacct")
    received, _ = usage(path, fields=HEADER.split("|"))
    assert received == pytest.approx({"ana": 5, "ben": 27})
    with pytest.raises(ValueError, match="fields must name all 9 columns, got 2 names"):
        read(path, fields=("JobID", "User"))


def test_several_files_conditions_and_jobs_without_a_user(jobs, tmp_path):
    second = tmp_path / "later.txt"
    second.write_text(
        f"{HEADER}\n7||bio|COMPLETED|2026-02-01T00:00:00|2026-02-01T01:00:00|01:00:00|1|cpu=1,gres/gpu=1\n"
        "8|cem|bio|COMPLETED|2026-02-01T00:00:00|2026-02-01T01:00:00|01:00:00|1|cpu=1,gres/gpu=1\n"
    )
    with pytest.raises(ValueError, match=r"later.txt, row 2: User must be a name, got nothing"):
        read(jobs, second)
    found = audit(read_history([jobs, second], skip_unnamed=True), ["inf"])
    assert dict(zip(found.names, found.received.tolist(), strict=True)) == pytest.approx(
        {"ana": 5, "ben": 27, "cem": 1}
    )
    assert "Skipped 1 job without User." in found.notes
    assert usage(jobs, where=["State=COMPLETED", "Account!=bio"])[0] == {"ana": 5}
    second.write_text("JobID|User\n")
    with pytest.raises(ValueError, match=r"later.txt has a different header from .*sacct.txt"):
        read(jobs, second)


def test_a_job_that_ends_before_it_starts_because_the_clock_was_set_back(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|User|Start|End|Elapsed|AllocCPUS\n8|ana|2026-10-25T02:50:00|2026-10-25T02:10:00|00:20:00|3\n"
    )
    assert usage(path, time_zone="Europe/Berlin")[0] == {"ana": 1}


def test_what_sacct_writes_is_taken_for_what_it_is(jobs, tmp_path):
    marked = tmp_path / "marked.txt"
    marked.write_text(f"\ufeff{HEADER}|\n{JOBS}", encoding="utf-8")
    for path in (jobs, str(jobs), marked):
        found = audit(read_history(path, agent="Account", resource="mem"), ["inf"])
        assert found.names == ("bio", "chem")
        assert found.utility == "GiB-hours of memory"
    # Whoever names columns means a table.
    with pytest.raises(ValueError, match=r"sacct.txt has no column 'Hours'"):
        read_history(jobs, agent="User", time="Start", utility="Hours")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "absent.txt", tmp_path, tmp_path / "bytes"):
        assert formats.recognised(path) is None
    jobs.write_text(HEADER.replace("|", "  ") + "\n")
    with pytest.raises(ValueError, match=r"sacct.txt is not the output of sacct -P: its first line has no cells"):
        read_history(jobs, format="sacct")


def test_an_unknown_column_is_compared_with_those_of_the_file_alone(jobs):
    with pytest.raises(
        ValueError, match=r"has no column 'state' \(did you mean 'State'\?\): found 'JobID', .*'AllocTRES'$"
    ):
        read_history(jobs, where=["state=COMPLETED"])


def test_jobs_in_more_than_one_file_are_counted_and_kept(jobs, tmp_path):
    # In a later export job 3 has ended, and job 6 was requeued: it has another start, and is another run.
    ended = JOBS.replace("02T00:00:00|Unknown|00:30:00", "02T00:00:00|2026-01-02T01:00:00|01:00:00")
    later = tmp_path / "later.txt"
    again = ended.replace("FAILED|2026-01-02T00:00:00", "FAILED|2026-01-01T23:59:00")
    later.write_text(f"{HEADER}\n{again}")
    note = (
        "3 jobs occur in more than one file (same JobID and Start) and count each time; if that is not meant, leave out"
    )
    with read_history([jobs, later], resource="cpu") as found:
        assert next(each for each in found.notes if "more than one file" in each).startswith(note)
        assert found.n_events == 8
    with read_history([jobs, jobs], resource="cpu") as found:
        assert any(each.startswith("4 jobs occur in more than one file") for each in found.notes)
    with read_history(jobs, resource="cpu") as found:
        assert not any("more than one file" in each for each in found.notes)
