"""Usage of a cluster from what `sacct -P` prints."""

import pytest

from bygones.audit import audit, read_history, sacct

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
        "Usage is in GPU-hours, spread evenly over each job's run time in slices of at most one hour.",
        "Included 1 job still running, with the usage so far.",
        "Skipped 2 jobs that never ran.",
    )
    assert "read as UTC" in found.notes[0]


def test_other_resources_and_accounts(jobs):
    assert usage(jobs, resource="cpu")[0] == pytest.approx({"ana": 20 + 1000 * 45 / 3600, "ben": 102})
    assert usage(jobs, resource="mem")[0] == pytest.approx({"ana": 160, "ben": 12.5})
    assert usage(jobs, agent="Account")[0] == pytest.approx({"chem": 5, "bio": 27})


def test_usage_is_spread_over_the_time_of_a_job(jobs):
    parts = sacct.read(jobs, resource="gpu").table.to_pylist()
    ana = [part for part in parts if part["agent"] == "ana"]
    assert [part["time"].isoformat() for part in ana[:3]] == [
        "2026-01-01T00:50:00", "2026-01-01T01:40:00", "2026-01-01T02:30:00",
    ]  # fmt: skip
    assert len([part for part in parts if part["agent"] == "ben"]) == 25 + 1
    _, found = usage(jobs, timezone="America/New_York")
    assert found.clock.shown(found.first) == "2026-01-01 00:50"


def test_a_quote_is_a_letter_like_any_other(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|JobName|User|Start|End|Elapsed|AllocCPUS\n"
        '7|"left open|ana|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|2\n'
        '8|done|"ben"|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|3\n'
    )
    assert usage(path)[0] == {"ana": 2, '"ben"': 3}


def test_cpus_are_counted_where_there_are_no_gpus(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|User|Start|End|Elapsed|AllocCPUS|\n7|ana|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|2|\n\n"
    )
    received, found = usage(path)
    assert received == {"ana": 2}
    assert found.utility == "CPU-hours"


def test_a_job_over_the_hour_that_the_clock_repeats_ends_when_it_started(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text("JobID|User|Start|End|Elapsed|AllocCPUS\n"
                    "8|ana|2026-10-25T02:30:00|2026-10-25T02:30:00|01:00:00|2\n")  # fmt: skip
    assert usage(path, timezone="Europe/Berlin")[0] == {"ana": 2}


@pytest.mark.parametrize(
    ("message", "header", "row"),
    [
        ("no column 'User'", "JobID|Start|End|Elapsed|AllocCPUS", "1|x|x|x|1"),
        ("sacct.txt has no column 'AllocTRES'", "JobID|User|Start|End|Elapsed", "1|a|x|x|x"),
        ("row 2: Start must be a time such as", "JobID|User|Start|End|Elapsed|AllocCPUS", "1|a|soon|Unknown|01:00|1"),
        (r"row 2: Elapsed must be \[DD-\[HH:\]\]MM:SS, got 'long'", "JobID|User|Start|End|Elapsed|AllocCPUS",
         "1|a|2026-01-01T00:00:00|Unknown|long|1"),
        ("row 2: End must not be before Start", "JobID|User|Start|End|Elapsed|AllocCPUS",
         "1|a|2026-01-01T00:00:00|2025-01-01T00:00:00|01:00|1"),
        ("row 2: AllocTRES cpu must be a number", "JobID|User|Start|End|Elapsed|AllocTRES",
         "1|a|2026-01-01T00:00:00|Unknown|01:00|cpu=many"),
        ("row 2: User must be a name, got nothing", "JobID|User|Start|End|Elapsed|AllocCPUS",
         "1||2026-01-01T00:00:00|Unknown|01:00|1"),
        ("row 2: expected 6 cells", "JobID|User|Start|End|Elapsed|AllocCPUS", "1|a"),
        ("contains no job that ran", "JobID|User|Start|End|Elapsed|AllocCPUS", "1|a|Unknown|Unknown|00:00|1"),
    ],
)  # fmt: skip
def test_errors_name_the_row(tmp_path, message, header, row):
    path = tmp_path / "sacct.txt"
    path.write_text(f"{header}\n{row}\n")
    with pytest.raises(ValueError, match=message):
        sacct.read(path)


def test_other_files_are_refused(jobs, tmp_path):
    with pytest.raises(ValueError, match=r"resource must be one that a job .* uses \(billing, cpu, gpu, mem, node\)"):
        sacct.read(jobs, resource="fpga")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe|\x00")
    with pytest.raises(ValueError, match="is not the output of sacct -P"):
        sacct.read(binary)


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
    assert not sacct.recognises(tmp_path / "absent.txt")
    assert not sacct.recognises(tmp_path)
    jobs.write_text(HEADER.replace("|", "  ") + "\n")
    with pytest.raises(ValueError, match=r"sacct.txt is not the output of sacct -P: its first line has no cells"):
        read_history(jobs, format="sacct")
