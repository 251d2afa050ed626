"""A cluster's queue under other half-lives: no more than fits, who gains, who loses, and if the replay can tell."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.audit import Clock, read_history, read_shares, replay_queue
from bygones.audit.replay.fidelity import clear, fidelity
from bygones.audit.replay.job_queue import simulated
from bygones.audit.replay.memories import named_memory, of_half_life
from bygones.audit.replay.queued_jobs import HOUR, Jobs, most_in_use
from bygones.audit.replay.turn_order import flat, recent_usage, slurm_tree
from bygones.cli import program
from support import plain_queue

DAY = 86_400.0

TREE = """\
Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare
root|||0.0|0||
 chem||3|0.75|0||
  chem|u00|1|0.5|0||
  chem|u01|2|0.5|0||
 bio||1|0.25|0||
  bio|u02|1|0.5|0||
  bio|u03|1|0.5|0||
"""


def jobs_of(made):
    """Jobs as the replay has them."""
    made = sorted(made, key=lambda job: (job.submit, job.number))
    names = tuple(sorted({job.user for job in made}))
    submit, lasts, limit, size = (
        np.array([float(getattr(job, name)) for job in made]) for name in ("submit", "lasts", "limit", "size")
    )
    who = np.array([names.index(job.user) for job in made])
    times = (1e6 * each for each in (submit, submit, lasts, limit))
    return Jobs(names, who, ("",) * len(made), tuple(str(job.number) for job in made), *times, size)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10_000), st.sampled_from([3600.0, DAY, 7 * DAY, math.inf, None]),
    st.sampled_from(["requested", "actual", "no"]), st.sampled_from([8, 13, 32]),
)  # fmt: skip
def test_jobs_start_when_the_definitions_let_them(seed, half_life, backfill, capacity):
    made = plain_queue.made_up(seed, n_jobs=60, n_users=4, capacity=capacity)
    jobs = jobs_of(made)
    if backfill == "actual":
        made = [plain_queue.Job(j.number, j.user, j.submit, j.lasts, j.lasts, j.size) for j in made]
    shares = dict(zip(jobs.names, (1.0, 2.0, 5.0, 1.0), strict=False))
    clock, weights = Clock(), np.array(list(shares.values()))
    if half_life is None:
        memory, priority = named_memory(clock, "none"), plain_queue.by_submission
    else:
        memory = of_half_life(clock, "inf" if math.isinf(half_life) else f"{half_life / 3600:g}h")
        priority = plain_queue.by_usage(half_life, shares)
    expected = plain_queue.schedule(made, capacity, priority, backfill=backfill != "no")
    planned = {"requested": jobs.requested, "actual": jobs.lasts, "no": None}[backfill]
    usage = recent_usage(memory, len(weights), jobs.submit[0])
    found = simulated(jobs, flat(jobs, weights), usage, capacity, planned)
    assert dict(zip(jobs.number, (found / 1e6).tolist(), strict=True)) == pytest.approx(
        {str(number): start for number, start in expected.items()}
    )


@pytest.fixture
def shares(tmp_path):
    path = tmp_path / "sshare.txt"
    path.write_text(TREE)
    return read_shares(path)


@pytest.mark.parametrize("seed", range(8))
def test_jobs_start_in_the_order_of_slurms_fair_tree(shares, seed):
    made = plain_queue.made_up(seed, n_jobs=80, n_users=4, capacity=8)
    jobs = jobs_of(made)

    def by_tree(runs, users, now):
        used = {user: round(plain_queue.usage(runs, user, now, DAY), 4) for user in users}
        factors = shares.tree.factors(used, by_user=True)
        return {user: -factors[user] for user in users}

    tree = slurm_tree(jobs, shares.tree, by_user=True)
    usage = recent_usage(of_half_life(Clock(), "1d"), tree.size, jobs.submit[0])
    found = simulated(jobs, tree, usage, 8, jobs.requested)
    expected = plain_queue.schedule(made, 8, by_tree)
    assert dict(zip(jobs.number, (found / 1e6).tolist(), strict=True)) == pytest.approx(
        {str(number): start for number, start in expected.items()}
    )


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 500), st.integers(1, 300), st.floats(0.1, 9)),
        min_size=1, max_size=40,
    ),
    st.sampled_from(["discounted(half_life=2h)", "sliding_window(length=3h)", "reset(every=1h)", "perfect", "none"]),
    st.booleans(),
)  # fmt: skip
def test_no_more_is_ever_used_than_there_is(rows, memory, with_backfill):
    rows = sorted(rows, key=lambda row: row[1])
    who, submit, lasts, size = (np.array(each) for each in zip(*rows, strict=True))
    submit, lasts = 60e6 * submit, 60e6 * lasts
    none = ("",) * len(rows)
    jobs = Jobs(("a", "b", "c", "d"), who, none, none, submit, submit, lasts, lasts * 1.5, size)
    capacity = 1.3 * float(size.max())
    usage = recent_usage(named_memory(Clock(), memory), 4, submit[0])
    start = simulated(jobs, flat(jobs, np.ones(4)), usage, capacity, jobs.requested if with_backfill else None)
    assert (start >= submit).all()
    assert most_in_use(start, lasts, size) <= capacity * (1 + 1e-6)


@pytest.mark.parametrize("memory", ["sliding_window(length=10h)", "reset(every=10h)"])
def test_usage_under_a_window_is_what_was_used_in_it(memory):
    usage = recent_usage(named_memory(Clock(), memory), 2, 0.0)
    usage.add(0, 4.0)
    assert usage.at(3 * HOUR)[0] == pytest.approx(12 * HOUR, rel=0.02)
    usage.add(0, -4.0)
    usage.add(1, 1.0)
    assert usage.at(9.5 * HOUR).tolist() == pytest.approx([12 * HOUR, 6.5 * HOUR], rel=0.02)
    after = {"sliding_window(length=10h)": [8 * HOUR, 8 * HOUR], "reset(every=10h)": [0.0, 1 * HOUR]}[memory]
    assert usage.at(11 * HOUR).tolist() == pytest.approx(after, rel=0.15)


@pytest.fixture
def queue(tmp_path):
    """Four GPUs went to jobs in the order of submission: ben and cem waited for both of ana's."""
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|User|Account|Submit|Start|End|Elapsed|AllocTRES\n"
        "1|ana|vision|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-03T08:00:00|1-00:00:00|gres/gpu=4\n"
        "2|ana|vision|2026-03-02T08:01:00|2026-03-03T08:00:00|2026-03-04T08:00:00|1-00:00:00|gres/gpu=4\n"
        "3|ben|language|2026-03-02T09:00:00|2026-03-04T08:00:00|2026-03-04T14:00:00|06:00:00|gres/gpu=4\n"
        "4|cem|language|2026-03-03T10:00:00|2026-03-04T14:00:00|2026-03-05T14:00:00|1-00:00:00|gres/gpu=4\n"
        "5|cem|language|2026-03-03T10:00:00|2026-03-04T14:00:00|2026-03-05T14:00:00|1-00:00:00|cpu=4\n"
    )
    return path


def test_who_would_have_waited_less_and_who_longer(queue):
    found = replay_queue(read_history(queue), ["7d"], in_force="none")
    assert found.fidelity == (0.0, pytest.approx((23 + 59 / 60 + 47 + 28) / 3 * HOUR), 3, 1.0, 2)
    (course,) = found.courses
    gains = [(each.agent, each.before / HOUR, each.after / HOUR) for each in course.gainers]
    assert gains == [("ben", 47, 23), ("cem", 28, 4)]
    assert [(each.agent, round(each.after / HOUR)) for each in course.losers] == [("ana", 27)]
    assert [(job.job, job.agent) for job in course.earlier] == [("3", "ben"), ("4", "cem")]
    assert [(job.job, (job.after - job.before) / HOUR) for job in course.later] == [("2", 30)]
    assert (found.capacity, found.is_observed, found.unit) == (4, True, "GPU")
    assert found.headline() == "2 of 4 jobs would have started earlier and 1 later with a half-life of 7d."
    assert found.sentences() == [
        "With a half-life of 7d, 2 users would have waited less, ben by the most (from 47 h to 23 h on average); and 1 "
        "user would have waited longer, ana by the most (from 12 h to 27 h on average)."
    ]
    assert "Left out 1 job that used none of the resource that is counted (GPU)." in found.notes


def test_a_replay_that_is_far_from_what_happened_names_nobody(queue, capsys):
    found = replay_queue(read_history(queue), ["1d"])
    assert found.is_assumed
    assert not found.fidelity.is_enough
    assert found.headline().startswith("No users or jobs are named, because the replay of the policy in force (half-")
    assert found.to_dict()["alternatives"] == {}
    program.main(["what-if", str(queue), "--half-life", "1d"])
    out = capsys.readouterr().out
    assert not {"ana", "ben", "cem"} & set(out.split())
    assert "--in-force" in out


def test_a_change_is_clear_if_all_draws_agree_and_it_is_larger_than_the_error():
    changes = 60e6 * np.array([[2.0, 0.5, -9.0, 2.0, 3.0], [4.0, 2.0, -3.0, -2.0, 3.0]])
    assert clear(changes, 60e6 * np.array([[0.0] * 5, [1.0, 0.0, 5.0, 0.0, -4.0]])).tolist() == [180e6, 0, -360e6, 0, 0]


def test_the_order_of_starts_is_compared_among_jobs_in_the_queue_at_the_same_time():
    jobs = jobs_of([plain_queue.Job(i, "a", 10.0 * i, 5.0, 5.0, 1) for i in range(4)])
    start = 1e6 * np.array([100.0, 90.0, 80.0, 200.0])
    jobs = Jobs(
        jobs.names, jobs.who, jobs.accounts, jobs.number, jobs.submit, start, jobs.lasts, jobs.requested, jobs.size
    )
    same, other = fidelity(jobs, start), fidelity(jobs, 1e6 * np.array([100.0, 90.0, 110.0, 200.0]))
    assert (same.tau, same.pairs, same.error) == (1.0, 6, 0.0)
    # Of six pairs, the third job has changed places with the first and the second.
    assert other.tau == pytest.approx((4 - 2) / 6)


def test_the_command(queue, tmp_path, capsys):
    page = tmp_path / "page.html"
    program.main(["what-if", str(queue), "--in-force", "none", "--half-life", "7d", "--page", str(page)])
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.split()[:2] == ["3", "ben"])
    assert row.split()[2:] == ["2026-03-03", "08:00", "2026-03-04", "08:00", "1", "d"]
    assert "would have started later" in page.read_text(encoding="utf-8")
    program.main(["what-if", str(queue), "--in-force", "none", "--memory", "sliding_window(length=7d)", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["fidelity"]["enough"]
    assert printed["alternatives"]["sliding_window(length=7d)"]["lose"] == ["ana"]
    # With as many GPUs again, nobody would have waited for anybody but ana for herself.
    program.main(["what-if", str(queue), "--in-force", "none", "--half-life", "7d", "--capacity", "16", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["capacity"] == {"amount": 16, "unit": "GPU", "observed": False}
    for words in (["--rule", "prices"], ["--draws", "3"], ["--newcomers", "mean"]):
        with pytest.raises(SystemExit):
            program.main(["what-if", str(queue), *words])
        assert f"{words[0]} does not apply to the queue of a cluster" in capsys.readouterr().err


def test_what_cannot_be_replayed_is_refused(queue, shares, tmp_path):
    plain = read_history(pa.table({"agent": ["a"], "time": [0], "utility": [1.0]}))
    with pytest.raises(ValueError, match="does not record when jobs were submitted"):
        replay_queue(plain, ["1"])
    history = read_history(queue)
    for message, more in (
        ("half_lives must name at least one", {"half_lives": []}),
        ("capacity must be a number of at least 4, the size of the largest job", {"capacity": 3}),
        ("backfill requested needs the run times that were requested", {"backfill": "requested"}),
        ("'ana' in the account 'vision' is not in the account tree", {"entitlements": shares}),
        ("agents in .* have no entitlement", {"entitlements": {"ana": 1.0}}),
    ):
        with pytest.raises(ValueError, match=message):
            replay_queue(history, **{"half_lives": ["1d"]} | more)
    twice = tmp_path / "twice.txt"
    twice.write_text("Account|User|RawShares\nroot||\n a||1\n  a|ana|1\n b||1\n  b|ana|1\n  b|ben|1\n  b|cem|1\n")
    without = tmp_path / "without.txt"
    lines = [line.split("|") for line in queue.read_text().splitlines()]
    without.write_text("\n".join("|".join([*line[:2], *line[3:]]) for line in lines))
    with pytest.raises(ValueError, match="'ana' is in several accounts: add Account"):
        replay_queue(read_history(without), ["1d"], entitlements=read_shares(twice))


def test_limits_are_read_as_slurm_writes_them(tmp_path):
    path = tmp_path / "sacct.txt"
    row = "{0}|ana|2026-03-02T08:00:00|2026-03-02T09:00:00|2026-03-02T09:00:00|2026-03-02T10:00:00|01:00:00|{1}|1"
    limits = ["2-01:00:00", "00:30:00", "UNLIMITED", "Partition_Limit", ""]
    path.write_text("\n".join([
        "JobID|User|Submit|Eligible|Start|End|Elapsed|Timelimit|AllocCPUS",
        *(row.format(i, limit) for i, limit in enumerate(limits)),
    ]))  # fmt: skip
    jobs = Jobs.of(read_history(path))
    np.testing.assert_array_equal(jobs.requested / HOUR, [49, 0.5, math.nan, math.nan, math.nan])
    # A job that waited for another, or for a time, was not in the queue before it was eligible.
    assert (jobs.start == jobs.submit).all()
    found = replay_queue(read_history(path), ["1d"])
    assert found.backfill == (
        "Jobs are backfilled by the run times requested, 3 jobs without one by the actual run time."
    )
    assert found.fidelity_sentence().startswith("No job waited a minute or more")


def two_courses(seed, n_jobs, half_lives, **real):
    """A cluster's jobs, and when they really start under two half-lives."""
    made = plain_queue.made_up(seed, n_jobs=n_jobs)
    shares = dict.fromkeys(sorted({job.user for job in made}), 1.0)
    actual, other = (
        plain_queue.schedule(made, 32, plain_queue.by_usage(half_life, shares), **real) for half_life in half_lives
    )
    return made, actual, other


@pytest.mark.parametrize("real", [{}, pytest.param({"cycle": 60.0, "every": 300.0}, marks=pytest.mark.soak)])
def test_the_sign_of_a_users_change_is_right(tmp_path, real):
    """Against clusters whose truth is known; real ones decide in cycles, by priorities of some minutes ago."""
    shown, named, right, changed = 0, 0, 0, 0
    n_clusters, n_jobs = (60, 300) if real else (14, 200)
    for seed in range(n_clusters):
        before, after = [(DAY, math.inf), (7 * DAY, 6 * 3600.0), (math.inf, DAY)][seed % 3]
        made, actual, other = two_courses(seed, n_jobs, (before, after), **real)
        path = tmp_path / f"{seed}.txt"
        path.write_text(plain_queue.sacct(made, actual))
        text = {math.inf: "inf"}
        with read_history(path, resource="cpu") as history:
            found = replay_queue(
                history, [text.get(after, f"{after / 3600:g}h")], in_force=text.get(before, f"{before / 3600:g}h")
            )
        for change in found.courses[0].changes if found.fidelity.is_enough else ():
            mine = [job.number for job in made if job.user == change.agent]
            true = float(np.mean([actual[number] - other[number] for number in mine]))
            if abs(true) > 60:
                changed += 1
                shown += (change.before - change.after) * true > 0
                named += change.gain != 0
                right += change.gain * true > 0
    assert changed >= 2 * n_clusters
    assert right >= 0.95 * named
    assert named >= 0.08 * changed
    # Where the cluster decides as the simulation does, the sign is right for everyone, named or not.
    assert real or shown >= 0.95 * changed
    print(f"{changed} changes; sign right for {shown}, and for {right} of {named} that are named")
