"""Makes a campaign in shards on HyperQueue (`pip install hyperqueue`), then merges them.

    python3 hyperqueue_shards.py SURELIFT CAMPAIGN.toml SHARDS OUT [--local WORKERS]

SURELIFT is the program. With --local a server and so many workers are started on this machine, of one core each;
without it the shards go to the server that `hq server start` runs. OUT/shard-I holds each shard, OUT/whole what they say together.
Run it again after whatever happened: shards go on where they were.
"""

import argparse
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from hyperqueue import Client, Job, LocalCluster
from hyperqueue.cluster import WorkerConfig


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
    job = Job(max_fails=None, name=given.campaign.stem)
    for i, folder in enumerate(folders, 1):
        where = ["--shard", f"{i}/{given.shards}", "--out", str(folder)]
        command = [given.program, "campaign", str(given.campaign.resolve()), "--resume", "--quiet", *where]
        # One core each: as many shards at a time as there are cores.
        said = [str(out / f"shard-{i}.{stream}") for stream in ("stdout", "stderr")]
        job.program(command, env={"RAYON_NUM_THREADS": "1"}, cwd=Path.cwd(), stdout=said[0], stderr=said[1])
    with LocalCluster() if given.local else nullcontext() as cluster:
        for _ in range(given.local or 0):
            cluster.start_worker(WorkerConfig(cores=1))
        client = cluster.client() if cluster else Client()
        client.wait_for_jobs([client.submit(job)])
    merge = [given.program, "campaign", "merge", str(out / "whole"), *map(str, folders)]
    return subprocess.run(merge).returncode


if __name__ == "__main__":
    sys.exit(main())
