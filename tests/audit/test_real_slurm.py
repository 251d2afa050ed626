"""The simulation, the fair tree and the readers against a real Slurm, which the test starts and stops."""

import random
import time

import pytest

from bygones.audit import audit, read_history, read_shares, replay_queue
from support import slurm

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not slurm.AVAILABLE, reason=slurm.WHY_NOT)]

USERS = {"games": "lab", "mail": "lab", "news": "class", "lp": "idle"}
"""Users whom every Debian has, and their accounts."""

WAVES = [(0, "games", 12), (2, "mail", 9), (4, "news", 9), (80, "games", 5), (110, "mail", 6), (140, "news", 4)]
"""After how many seconds who submits how many jobs."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What a Slurm with a half-life of ten minutes prints after 45 jobs on four CPUs: sacct, its JSON and sshare."""
    folder, rng = tmp_path_factory.mktemp("slurm"), random.Random(3)
    with slurm.Slurm(half_life="0-00:10") as cluster:
        for account in dict.fromkeys(USERS.values()):
            cluster.run("sacctmgr", "-i", "add", "account", account)
        for user, account in USERS.items():
            cluster.run("sacctmgr", "-i", "add", "user", user, f"account={account}")
        began = time.monotonic()
        for at, user, number in WAVES:
            time.sleep(max(0.0, began + at - time.monotonic()))
            for _ in range(number):
                cluster.submit(user, rng.choice([1, 1, 2]), rng.randint(10, 40))
        cluster.until_idle()
        (folder / "sacct.txt").write_text(cluster.log())
        (folder / "sacct.json").write_text(cluster.run("sacct", "--allusers", "--starttime=now-1day", "--json"))
        (folder / "sshare.txt").write_text(cluster.run("sshare", "-a", "-P"))
    return folder


def test_jobs_start_in_the_order_of_the_policy_in_force(files):
    """Slurm computes priorities once a minute, and these jobs run for half a minute, so the order is not the same."""
    shares = read_shares(files / "sshare.txt")
    by_tree, by_submission = (
        replay_queue(read_history(files / "sacct.txt"), ["1h"], in_force=memory, entitlements=shares)
        for memory in ("10min", "none")
    )
    assert by_tree.capacity == slurm.CPUS
    assert by_tree.fidelity.pairs > 500
    assert by_tree.fidelity.tau > 0.5
    assert by_submission.fidelity.tau < 0.3
    assert by_tree.fidelity.error < by_submission.fidelity.error
    print(by_tree.fidelity_sentence(), by_submission.fidelity_sentence())


def test_the_fair_tree_is_that_of_sshare(files):
    """Also its ties: the user root and an account that nobody used."""
    tree = read_shares(files / "sshare.txt").tree
    lines = [line.split("|") for line in (files / "sshare.txt").read_text().splitlines()]
    usage = {line[1]: float(line[4]) for line in lines[1:] if line[1]}
    assert tree.factors(usage, by_user=True) == pytest.approx(tree.given(by_user=True))


def test_json_has_the_same_jobs(files):
    one, other = (
        audit(read_history(files / name), ["1h", "inf"], refine=False) for name in ("sacct.txt", "sacct.json")
    )
    assert one.names == other.names
    assert one.received == pytest.approx(other.received)
    assert len(one.received)
