"""A real Slurm on this machine, on loopback only, with accounting: Debian's slurm-wlm, slurmdbd, mariadb-server, munge.

Everything runs as root in one folder, with its own configuration, sockets and ports. Jobs run as other users, who have
to be able to enter that folder, unlike those of pytest.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "sbatch", "sacct", "sshare", "sacctmgr", "munged", "mariadbd",
            "mariadb-install-db")  # fmt: skip

MISSING = [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None]

WHY_NOT = "a real Slurm needs root and " + (", ".join(MISSING) or "nothing more")

AVAILABLE = not MISSING and hasattr(os, "geteuid") and os.geteuid() == 0

CPUS = 4


class Slurm:
    """A cluster of one node with four CPUs, which is there until the end of the `with` block."""

    def __init__(self, half_life: str = "0-00:10", **settings: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self._half_life, self._settings = half_life, settings
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self):
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._stop)
            self._start()
            on_failure.pop_all()
        return self

    def __exit__(self, *failure):
        self._stop()
        shutil.rmtree(self._folder)

    def run(self, *command, check=True):
        """What a command prints."""
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, user, cpus, seconds, minutes=1):
        """Submits a job that sleeps, and gives its number."""
        return self.run(
            "sbatch", "--parsable", f"--uid={user}", f"--ntasks={cpus}", f"--time={minutes}", "--output=/dev/null",
            "--chdir=/tmp", f"--wrap=sleep {seconds}",
        ).strip()  # fmt: skip

    def log(self):
        """All jobs, as `sacct` prints them."""
        fields = "JobID,User,Account,State,Submit,Eligible,Start,End,Elapsed,Timelimit,AllocTRES,ReqTRES,Priority"
        return self.run("sacct", "--allusers", "--parsable2", "--starttime=now-1day", f"--format={fields}")

    def until_idle(self, seconds=600):
        """Waits for the end of all jobs."""
        self._wait(lambda: not self.run("squeue", "--noheader").strip(), seconds, "jobs still run")
        time.sleep(3)  # the accounting follows

    def _start(self):
        folder, host = self._folder, socket.gethostname().split(".")[0]
        for name in ("db", "state", "spool", "log", "run", "etc"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        self._env = os.environ | {
            "SLURM_CONF": str(folder / "etc" / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin",
        }  # fmt: skip
        key, munge = folder / "etc" / "munge.key", folder / "run" / "munge.socket"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        ports = [_free_port() for _ in range(4)]
        self._begin(
            "munged", "--foreground", "--force", f"--socket={munge}", f"--key-file={key}", f"--pid-file={folder}/run/m",
            f"--log-file={folder}/log/munged", f"--seed-file={folder}/run/seed",
        )  # fmt: skip
        self.run(
            "mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={folder}/db", "--skip-test-db",
            "--auth-root-authentication-method=normal",
        )  # fmt: skip
        database = f"{folder}/run/mysqld.sock"
        self._begin(
            "mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/db", f"--socket={database}",
            "--bind-address=127.0.0.1", f"--port={ports[0]}", f"--pid-file={folder}/run/mysqld.pid",
            "--innodb-buffer-pool-size=128M",
        )  # fmt: skip
        ask = ("mariadb", "--no-defaults", "-S", database, "-e")
        self._wait(lambda: self._works(*ask, "select 1"), 60, "MariaDB does not answer")
        self.run(
            *ask, "create database slurm_acct_db; create user 'slurm'@'127.0.0.1' identified by 'slurm'; "
            "create user 'slurm'@'localhost' identified by 'slurm'; grant all on slurm_acct_db.* to "
            "'slurm'@'127.0.0.1'; grant all on slurm_acct_db.* to 'slurm'@'localhost';",
        )  # fmt: skip
        auth = f"AuthType=auth/munge\nAuthInfo=socket={munge}\nSlurmUser=root\nCommunicationParameters="
        (folder / "etc" / "slurmdbd.conf").write_text(
            f"{auth}NoInAddrAny\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={ports[1]}\n"
            f"LogFile={folder}/log/slurmdbd\nPidFile={folder}/run/slurmdbd.pid\n"
            f"StorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\nStoragePort={ports[0]}\nStorageUser=slurm\n"
            "StoragePass=slurm\nStorageLoc=slurm_acct_db\n"
        )
        (folder / "etc" / "slurmdbd.conf").chmod(0o600)
        more = "\n".join(f"{name}={value}" for name, value in self._settings.items())
        (folder / "etc" / "slurm.conf").write_text(
            f"{auth}NoCtldInAddrAny,NoInAddrAny\nClusterName=tiny\nSlurmctldHost={host}(127.0.0.1)\n"
            f"SlurmctldPort={ports[2]}\nSlurmdPort={ports[3]}\nStateSaveLocation={folder}/state\n"
            f"SlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/run/slurmctld.pid\n"
            f"SlurmdPidFile={folder}/run/slurmd.pid\nSlurmctldLogFile={folder}/log/slurmctld\n"
            f"SlurmdLogFile={folder}/log/slurmd\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
            "ReturnToService=2\nSlurmdParameters=config_overrides\nSelectType=select/cons_tres\n"
            "SelectTypeParameters=CR_CPU\nSchedulerType=sched/backfill\n"
            "SchedulerParameters=bf_interval=2,bf_continue,batch_sched_delay=1,sched_min_interval=500000\n"
            f"PriorityType=priority/multifactor\nPriorityDecayHalfLife={self._half_life}\nPriorityCalcPeriod=1\n"
            "PriorityWeightFairshare=100000\nAccountingStorageType=accounting_storage/slurmdbd\n"
            f"AccountingStorageHost=localhost\nAccountingStoragePort={ports[1]}\nAccountingStoragePass={munge}\n"
            "AccountingStorageEnforce=associations,limits\nJobAcctGatherType=jobacct_gather/none\nMinJobAge=300\n"
            f"NodeName={host} NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory=1000 State=UNKNOWN\n"
            f"PartitionName=main Nodes={host} Default=YES MaxTime=1:00:00 State=UP\n{more}\n"
        )
        self._begin("slurmdbd", "-D")
        self._wait(lambda: self._works("sacctmgr", "-n", "list", "cluster"), 60, "slurmdbd does not answer")
        self.run("sacctmgr", "-i", "add", "cluster", "tiny", check=False)
        self._begin("slurmctld", "-D")
        self._begin("slurmd", "-D")
        self._wait(lambda: "idle" in self.run("sinfo", check=False), 60, "no node is idle")

    def _begin(self, *command):
        log = (self._folder / "log" / f"{command[0]}.out").open("wb")
        self._started.append(subprocess.Popen(command, env=self._env, stdout=log, stderr=log))

    def _stop(self):
        for process in reversed(self._started):
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(15)

    def _works(self, *command):
        return subprocess.run(command, env=self._env, capture_output=True, timeout=60).returncode == 0

    def _wait(self, condition, seconds, problem):
        end = time.monotonic() + seconds
        while not condition():
            ended = [each.args[0] for each in self._started if each.poll() is not None]
            assert not ended, f"{', '.join(ended)} ended: see {self._folder}/log"
            assert time.monotonic() < end, f"{problem}: see {self._folder}/log"
            time.sleep(0.5)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
