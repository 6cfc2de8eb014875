"""A private Slurm cluster: munge, one slurmctld, and one slurmd per emulated node, all on this machine and in one folder. It neither
reads nor changes the machine's configuration."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

CORES = 4  # of each node, whatever the machine has

SLURM_CONF = """
ClusterName=emulated
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=pmix
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldTimeout=30
SlurmdTimeout=20
KillWait=5
MinJobAge=1000
UnkillableStepTimeout=30
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "DEADLINE", "OUT_OF_MEMORY", "BOOT_FAIL"}


def why_not():
    """Returns the reason why no cluster can be emulated here, or None."""
    if os.geteuid() != 0:
        return "only root can emulate a cluster on this machine"
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol") if not program(name)]
    return f"{', '.join(missing)}: not installed (Debian: munge, slurmctld, slurmd, slurm-client)" if missing else None


def program(name):
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def wait_for(question, seconds, what):
    """Polls until the result is not false; returns it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = question()
        if answer:
            return answer
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {seconds} s")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Cluster:
    """`with Cluster(folder, 2) as cluster`: two nodes, n0 and n1."""

    def __init__(self, folder, nodes):
        self.folder = pathlib.Path(folder)
        self.nodes = [f"n{number}" for number in range(nodes)]
        self.daemons = {}
        self.waiting_since = {}  # by job and restart
        self.environment = {**{name: value for name, value in os.environ.items() if not name.startswith("SLURM")},
                            "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self.write_settings()
            self.start_munge()
            self.start("slurmctld", program("slurmctld"), "-D", "-i")
            for node in self.nodes:
                self.start_node(node)
            wait_for(lambda: all(self.node_state(node) == "IDLE" for node in self.nodes), 60, "all nodes are idle")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def write_settings(self):
        (self.folder / "state").mkdir()
        host = socket.gethostname()
        port, *ports = free_ports(1 + len(self.nodes))
        shape = f"CPUs={CORES} Boards=1 SocketsPerBoard=1 CoresPerSocket={CORES} ThreadsPerCore=1 RealMemory=4000"
        lines = [f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={own} {shape} State=UNKNOWN"
                 for node, own in zip(self.nodes, ports)]
        (self.folder / "slurm.conf").write_text(
            SLURM_CONF.format(host=host, port=port, folder=self.folder, nodes="\n".join(lines)))

    def start_munge(self):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o755)
        key = munge / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.start("munged", program("munged"), "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/socket",
                   f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        wait_for((munge / "socket").exists, 20, "munge's socket")

    def start(self, name, *command):
        log = (self.folder / f"{name}.out").open("wb")
        self.daemons[name] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=subprocess.STDOUT,
                                              env=self.environment, cwd=self.folder, start_new_session=True)
        log.close()

    def start_node(self, node):
        for part in ("spool", "tmp"):
            shutil.rmtree(self.folder / f"{part}-{node}", ignore_errors=True)
            (self.folder / f"{part}-{node}").mkdir()
        self.start(node, program("slurmd"), "-D", "-N", node)

    def stop(self):
        for name in reversed(list(self.daemons)):
            self.daemons[name].terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        # Processes that a killed node left behind.
        for pid in self.processes_of(str(self.folder)):
            self.kill(pid)

    @staticmethod
    def kill(pid, signal=9):
        try:
            os.kill(pid, signal)
        except ProcessLookupError:
            pass

    @staticmethod
    def is_pending(pid, signal):
        """Whether a suspended process has this signal waiting, or has ended."""
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        return any(int(line.split()[1], 16) >> (signal - 1) & 1 for line in status.splitlines() if line.startswith("ShdPnd:"))

    def fail_node(self, node):
        """Ends all processes of the node, as in a power failure, and notifies slurmctld, which would detect it after minutes."""
        log = str(self.folder / f"slurmd-{node}.log")
        self.daemons[node].kill()
        self.daemons[node].wait()
        for pid in self.processes_of("slurmstepd: ["):
            if log in {os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()}:
                self.kill(pid)
        for pid in self.processes_of(f"SLURMD_NODENAME={node}", str(self.folder)):
            self.kill(pid)
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=power")

    def repair_node(self, node):
        """Starts the node again, which then returns to service by itself."""
        self.start_node(node)
        wait_for(lambda: "DOWN" not in self.node_state(node), 60, f"{node} is in service")

    @staticmethod
    def processes_of(*texts):
        """Returns the other processes whose environment or command line contains all texts."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    words = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                    if all(text.encode() in words for text in texts):
                        found.append(int(entry.name))
                except OSError:
                    pass
        return found

    def run(self, *command, check=True):
        process = subprocess.run([str(word) for word in command], env=self.environment, cwd=self.folder, text=True,
                                 capture_output=True, check=False, timeout=120)
        if check and process.returncode != 0:
            raise AssertionError(f"{command}: exit {process.returncode}: {process.stdout}{process.stderr}")
        return process

    def facts(self, kind, name):
        """Returns the fields of `scontrol show KIND NAME`; empty if the name is unknown."""
        text = self.run("scontrol", "--oneliner", "show", kind, name, check=False).stdout
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in text.splitlines()]

    def node_state(self, node):
        return (self.facts("node", node) or [{}])[0].get("State", "")

    def job_state(self, job):
        """Returns the state of a job, or of the tasks of an array if they agree."""
        states = {facts.get("JobState", "") for facts in self.facts("job", job)}
        return states.pop() if len(states) == 1 else "MIXED" if states else ""

    def shorten_requeue_delay(self, job):
        """A requeued job waits for two minutes; reduces this to two seconds after the end of its steps, whose names the next ones
        reuse. A node refuses a job that begins in the second in which its last start was ended there."""
        for facts in self.facts("job", job):
            waits = facts.get("JobState") == "PENDING" and facts.get("Reason") == "BeginTime"
            if not waits or self.processes_of(f"slurmstepd: [{facts['JobId']}."):
                continue
            since = self.waiting_since.setdefault((facts["JobId"], facts["Restarts"]), time.monotonic())
            if time.monotonic() >= since + 2:
                self.run("scontrol", "update", f"JobId={facts['JobId']}", "StartTime=now", check=False)

    def wait(self, job, *states, seconds=120):
        """Waits until the job is in one of these states and returns it; fails if it ends in another one."""
        def question():
            self.shorten_requeue_delay(job)
            now = self.job_state(job)
            if now in ENDED and now not in states:
                raise AssertionError(f"job {job} is {now}, not {' or '.join(states)}")
            return now if now in states else None
        return wait_for(question, seconds, f"job {job} is {' or '.join(states)}")

    def restarts(self, job):
        return int(self.facts("job", job)[0]["Restarts"])
