"""Makes a campaign in shards on HyperQueue (`pip install hyperqueue`), then merges them.

    python3 hyperqueue_shards.py SURELIFT CAMPAIGN.toml SHARDS OUT [--local WORKERS]

SURELIFT is the program. With --local a server and so many workers are started on this machine, of one core each;
without it the shards go to the server that `hq server start` runs. OUT/shard-I holds each shard, OUT/whole what they say together.
A shard that is lost (its program killed, its worker gone) is given out again and goes on where it was; one that fails three times is told.
Run the same command again after whatever else happened: finished shards end at once, the others go on.
"""

import argparse
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from hyperqueue import Client, Job, LocalCluster
from hyperqueue.client import FailedJobsException
from hyperqueue.cluster import WorkerConfig

# How often a shard is given out. What is lost by accident is made at the second; what fails three times has a reason.
ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("campaign", type=Path)
    parser.add_argument("shards", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--local", type=int, metavar="WORKERS")
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    folders = [out / f"shard-{i}" for i in range(1, given.shards + 1)]
    with LocalCluster() if given.local else nullcontext() as cluster:
        for _ in range(given.local or 0):
            cluster.start_worker(WorkerConfig(cores=1))
        if not made(cluster.client() if cluster else Client(), given, folders):
            return 1
    merge = [given.program, "campaign", "merge", str(out / "whole"), *map(str, folders)]
    return subprocess.run(merge).returncode


def made(client: Client, given: argparse.Namespace, folders: list[Path]) -> bool:
    """Whether all shards were made, with those that were lost given out again."""
    for again in range(ROUNDS):
        job = Job(max_fails=None, name=given.campaign.stem)
        for i, folder in enumerate(folders, 1):
            where = ["--shard", f"{i}/{given.shards}", "--out", str(folder)]
            command = [given.program, "campaign", str(given.campaign.resolve()), "--resume", "--quiet", *where]
            said = {stream: f"{folder}.{stream}" for stream in ("stdout", "stderr")}
            # One core each: as many shards at a time as there are cores.
            job.program(command, env={"RAYON_NUM_THREADS": "1"}, cwd=Path.cwd(), **said)
        try:
            client.wait_for_jobs([client.submit(job)])
            return True
        except FailedJobsException as failed:
            what = "are given out again" if again + 1 < ROUNDS else f"failed {ROUNDS} times; *.stderr beside each shard says why"
            print(f"{failed}\nShards that were lost {what}.", file=sys.stderr)
    return False


if __name__ == "__main__":
    sys.exit(main())
