"""Launch commands of serving engines, and what each of them serves."""

from tuner.engines.commands import emit, emit_baseline, emit_bench
from tuner.engines.quoting import pretty, shell_line
from tuner.engines.support import SUPPORT, Support, serves, serves_trees
from tuner.engines.versions import NEWEST_KNOWN, OLDEST_SUPPORTED, TITLES, resolve_version
from tuner.engines.vllm import bench_prompts

__all__ = [
    "NEWEST_KNOWN",
    "OLDEST_SUPPORTED",
    "SUPPORT",
    "TITLES",
    "Support",
    "bench_prompts",
    "emit",
    "emit_baseline",
    "emit_bench",
    "pretty",
    "resolve_version",
    "serves",
    "serves_trees",
    "shell_line",
]
