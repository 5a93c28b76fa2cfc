"""How long ``specdec-tune`` takes to start, against the import of what it is built on.

Whole processes, run in turn so that both sides see the same machine: every pair is the yardstick
(``python -c "import typer, rich, numpy, yaml"``) and one command; the ratio of a command is the
median of its pairs' ratios. Then many profiles in one process: whole recommendations a second, and
their time as a multiple of reading and validating the same files alone.

    python benchmarks/startup.py [--pairs 15] [--profiles 1000] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

YARDSTICK = [sys.executable, "-c", "import typer, rich, numpy, yaml"]
PROGRAM = [sys.executable, "-m", "tuner"]
#: command line → most that its median ratio may be
LIMITS: dict[str, tuple[list[str], float]] = {
    "--help": (["--help"], 1.0),
    "--version": (["--version"], 1.0),
    "recommend": (["recommend", "chat-llama-3.3-70b"], 1.5),
}
MOST_TIMES_READING = 3.0
AIM_PER_SECOND = 200.0


def main() -> int:
    """Measure, print, and fail when a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--profiles", type=int, default=1000)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    starts = {name: measure_start(args, options.pairs) for name, (args, _) in LIMITS.items()}
    throughput = measure_throughput(options.profiles)
    document = {"pairs": options.pairs, "starts": starts, "throughput": throughput}
    print(json.dumps(document, indent=2) if options.json else as_table(document))
    is_slow = any(starts[name]["ratio"] > limit for name, (_, limit) in LIMITS.items())
    return int(is_slow or throughput["times_reading"] > MOST_TIMES_READING)


def measure_start(args: Sequence[str], pairs: int) -> dict[str, float]:
    """Time one command line and the yardstick in turn."""
    command = [*PROGRAM, *args]
    wall(YARDSTICK), wall(command)  # compile and warm the file cache
    rows = [(wall(YARDSTICK), wall(command)) for _ in range(pairs)]
    return {
        "yardstick_s": statistics.median(yardstick for yardstick, _ in rows),
        "command_s": statistics.median(own for _, own in rows),
        "ratio": statistics.median(own / yardstick for yardstick, own in rows),
    }


def wall(command: Sequence[str]) -> float:
    """Return the wall time of one process, seconds."""
    start = time.perf_counter()
    # As installed: with byte code in the cache, which pip writes and some shells forbid.
    environment = {key: os.environ[key] for key in os.environ if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    )
    return time.perf_counter() - start


def measure_throughput(count: int) -> dict[str, float]:
    """Recommend for ``count`` profiles in this process, and read the same files alone."""
    from tuner.advise.recommend import recommend
    from tuner.profile import read_profile, shipped_profiles

    paths = list(shipped_profiles().values())
    paths = (paths * (count // len(paths) + 1))[:count]
    for path in sorted(set(paths)):  # fill the catalog's caches
        recommend(read_profile(path))
    reading = per_item(paths, read_profile)
    whole = per_item(paths, lambda path: recommend(read_profile(path)))
    return {
        "profiles": count,
        "profiles_per_s": 1.0 / whole,
        "reading_ms": reading * 1e3,
        "whole_ms": whole * 1e3,
        "times_reading": whole / reading,
    }


def per_item(paths: Sequence[str], work: Callable[[str], object]) -> float:
    """Return CPU seconds an item."""
    start = time.process_time()
    for path in paths:
        work(path)
    return (time.process_time() - start) / len(paths)


def as_table(document: dict) -> str:
    """Return the measurements as text."""
    lines = [f"start-up, median of {document['pairs']} pairs"]
    for name, row in document["starts"].items():
        lines.append(
            f"  {name:<12} {row['command_s'] * 1e3:7.0f} ms  "
            f"yardstick {row['yardstick_s'] * 1e3:5.0f} ms  "
            f"ratio {row['ratio']:.2f}  (at most {LIMITS[name][1]})"
        )
    row = document["throughput"]
    lines += [
        f"{row['profiles']} profiles in one process (CPU time)",
        f"  {row['profiles_per_s']:.0f} a second (aim {AIM_PER_SECOND:.0f}); "
        f"{row['whole_ms']:.2f} ms each, {row['reading_ms']:.2f} ms of it reading: "
        f"{row['times_reading']:.2f} times reading alone (at most {MOST_TIMES_READING:.0f})",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    raise SystemExit(main())
