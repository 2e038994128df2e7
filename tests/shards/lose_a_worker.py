"""Runs a Python script on HyperQueue with its arguments, and takes one of its two local workers away in the middle.

    python3 lose_a_worker.py SCRIPT JOURNALS ARGUMENTS...

HyperQueue's Python package runs server and workers in threads of one process, so none can be killed alone. A worker whose machine is gone is one whose connection
is gone: that is cut, once two trials stand in files that JOURNALS, a pattern, names. The last line on the standard error says so.
"""

import glob
import os
import runpy
import socket
import sys
import threading
import time


def connections() -> list[tuple[int, int, int]]:
    """Descriptor, own port and the other side's port of each open connection of this process."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as end:
                if end.family in (socket.AF_INET, socket.AF_INET6) and end.type == socket.SOCK_STREAM:
                    found.append((int(name), end.getsockname()[1], end.getpeername()[1]))
        except OSError:
            # Not a socket, not connected, or closed meanwhile.
            continue
    return found


def workers() -> list[int]:
    """The server's ends of the connections to its workers: of one port, where there are as many as workers."""
    ends = connections()
    outgoing = {own for _, own, _ in ends}
    accepted: dict[int, list[int]] = {}
    for descriptor, own, other in ends:
        # Whoever connects has a port of his own; those that the server accepts share its own one.
        if other in outgoing and sum(own == port for _, port, _ in ends) > 1:
            accepted.setdefault(own, []).append(descriptor)
    return max(accepted.values(), key=len, default=[])


def trials(journals: str) -> int:
    return sum(open(name, encoding="utf-8").read().count("\n") for name in glob.glob(journals))


def cut(journals: str) -> None:
    while trials(journals) < 2 or len(workers()) != 2:
        time.sleep(0.002)
    with socket.socket(fileno=os.dup(workers()[0])) as end:
        end.shutdown(socket.SHUT_RDWR)
    print(f"a worker is lost after {trials(journals)} trials", file=sys.stderr, flush=True)


if __name__ == "__main__":
    script, journals = sys.argv[1:3]
    sys.argv = [script, *sys.argv[3:]]
    threading.Thread(target=cut, args=(journals,), daemon=True).start()
    runpy.run_path(script, run_name="__main__")
