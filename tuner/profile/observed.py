"""Rows that were measured: what must hold within one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from tuner.profile.kinds import INVALID, Problems
from tuner.profile.nodes import Node
from tuner.profile.observed_times import check_times
from tuner.records.methods import Engine, Method

Values = Mapping[str, Any]
FIGURES = (
    "acceptance_length",
    "acceptance_per_position",
    "counts",
    "tpot_ms",
    "output_tok_s",
    "step_ms",
    "speedup",
)
#: sums of rates that were rounded to two or three decimals may differ by this much (assumed)
ROUNDING = 0.1
#: vLLM had token trees from 0.9.1 and removed them in 0.21.0 (vllm/config/speculative.py)
VLLM_WITHOUT_TREES = (0, 21)


def check_row(
    row: Any,
    engine: tuple[Engine, str | None],
    batch: float | None,
    node: Node,
    key: str,
    problems: Problems,
) -> None:
    """Note what contradicts itself in one row; ``engine`` and ``batch`` are the profile's."""
    if not isinstance(row, dict) or INVALID in row.values():
        return
    note = _noter(node, key, problems)
    figures = [name for name in FIGURES if name in row]
    if not figures and "method" in row:
        note("", f"measures nothing: give one of {', '.join(FIGURES)}.")
    if "num_speculative_tokens" in row and "tree" in row:
        note("tree", "contradicts num_speculative_tokens: a run drafts a chain or a tree.")
        return
    batch = row.get("batch", batch)
    if row.get("method") is Method.NONE:
        _check_plain(row, note)
        check_times(row, 0, batch, note)
        return
    depth = row.get("num_speculative_tokens")
    if "tree" in row:
        numbers = tree_numbers(row["tree"])
        wrong = tree_problem(numbers) or _tree_on(numbers, *_engine_of(row, engine))
        if wrong:
            note("tree", wrong)
            return
        depth = numbers[0]
    _check_acceptance(row, depth, note)
    if isinstance(row.get("counts"), dict):
        if INVALID in row["counts"].values():
            return
        _check_counts(row["counts"], depth, row, note)
    if "method" in row:
        check_times(row, depth, batch, note)


def tree_numbers(text: str) -> tuple[int, int, int]:
    """Return (steps, topk, draft tokens) of the text "5/4/8"."""
    steps, topk, tokens = (int(part) for part in text.split("/"))
    return steps, topk, tokens


def tree_problem(numbers: tuple[int, int, int]) -> str | None:
    """Return what is wrong with SGLang's three numbers, or None.

    The draft tokens include the root. The first step gives ``topk`` nodes, each later one
    ``topk²`` of which ``topk`` go on (SGLang's EAGLE worker, ``organize_draft_results``).
    """
    steps, topk, tokens = numbers
    if min(steps, topk) < 1:
        return "steps and topk are at least 1."
    if topk == 1 and tokens != steps + 1:
        return f"with topk 1 the draft tokens are steps + 1, {steps + 1}; found {tokens}."
    most = 1 + topk + (steps - 1) * topk * topk
    if not steps < tokens <= most:
        return f"{tokens} draft tokens are not possible: {steps + 1} to {most} with these two."
    return None


def _engine_of(row: Values, default: tuple[Engine, str | None]) -> tuple[Engine, str | None]:
    if "engine" in row and row["engine"] is not default[0]:
        return row["engine"], row.get("engine_version")
    return default[0], row.get("engine_version", default[1])


def _tree_on(numbers: tuple[int, int, int], engine: Engine, version: str | None) -> str | None:
    if numbers[1] == 1:
        return None
    if engine is Engine.LLAMACPP:
        return "is not possible: llama.cpp's server drafts chains only."
    if engine is Engine.VLLM and _release(version) >= VLLM_WITHOUT_TREES:
        return "is not possible: vLLM has had no trees since 0.21.0; name the engine that ran it."
    return None


def _release(version: str | None) -> tuple[int, ...]:
    if version is None:
        return VLLM_WITHOUT_TREES
    parts = version.lstrip("v").split(".")
    return tuple(int(part) if part.isdecimal() else 0 for part in parts[:2])


def _check_plain(row: Values, note: Any) -> None:
    for name in ("num_speculative_tokens", "tree", "acceptance_per_position", "counts", "drafter"):
        if name in row:
            note(name, "contradicts method none: plain decoding drafts nothing.")
    for name in ("acceptance_length", "speedup"):
        if row.get(name, 1.0) != 1.0:
            note(name, f"{row[name]:g} is not possible: 1 for method none.")


def _check_acceptance(row: Values, depth: int | None, note: Any) -> None:
    length = row.get("acceptance_length")
    survival = row.get("acceptance_per_position")
    if length is not None and depth is not None and length > depth + 1:
        note(
            "acceptance_length",
            f"{length:g} is not possible: 1 to {depth + 1} with {_drafts(depth)} "
            "(the bonus token is included).",
        )
    if survival is None:
        return
    if any(later > before for before, later in pairwise(survival)):
        note(
            "acceptance_per_position",
            "must not increase: each entry is the chance that all drafts up to it are accepted.",
        )
    is_chain = "tree" not in row
    if depth is not None and (len(survival) > depth or (is_chain and len(survival) < depth)):
        entries = "1 entry" if len(survival) == 1 else f"{len(survival)} entries"
        note(
            "acceptance_per_position",
            f"has {entries} with {_drafts(depth)}: one a position, since τ is 1 plus their sum.",
        )
        return
    if length is not None and abs(1.0 + sum(survival) - length) > ROUNDING:
        note(
            "acceptance_length",
            f"{length:g} contradicts acceptance_per_position, whose sum + 1 is "
            f"{1.0 + sum(survival):.3g}.",
        )


def _check_counts(counts: Values, depth: int | None, row: Values, note: Any) -> None:
    if len(counts) < 3:
        return
    drafts, drafted = counts["num_drafts"], counts["num_draft_tokens"]
    accepted = counts["num_accepted_tokens"]
    positions = counts.get("accepted_per_position")
    if accepted > drafted:
        note("counts", f"num_accepted_tokens {accepted:,} exceeds num_draft_tokens {drafted:,}.")
    if depth is not None and accepted > drafts * depth:
        note("counts", f"num_accepted_tokens {accepted:,} exceeds {drafts:,} drafts × {depth}.")
    if "num_speculative_tokens" in row and drafted > drafts * row["num_speculative_tokens"]:
        note(
            "counts",
            f"num_draft_tokens {drafted:,} exceeds {drafts:,} drafts × "
            f"{row['num_speculative_tokens']}.",
        )
    if positions is not None:
        _check_positions(positions, drafts, accepted, depth, note)
    length = row.get("acceptance_length")
    if length is not None and drafts and abs(1.0 + accepted / drafts - length) > ROUNDING:
        note(
            "acceptance_length",
            f"{length:g} contradicts counts, which give {1.0 + accepted / drafts:.3g}.",
        )


def _check_positions(
    positions: Iterable[int], drafts: int, accepted: int, depth: int | None, note: Any
) -> None:
    listed = list(positions)
    if any(later > before for before, later in pairwise([drafts, *listed])):
        note("counts.accepted_per_position", "must not increase, nor exceed num_drafts.")
    if sum(listed) != accepted:
        note(
            "counts.accepted_per_position",
            f"adds up to {sum(listed):,}, but num_accepted_tokens is {accepted:,}.",
        )
    if depth is not None and len(listed) > depth:
        note(
            "counts.accepted_per_position",
            f"has {len(listed)} entries with {_drafts(depth)}.",
        )


def _drafts(depth: int) -> str:
    return f"{depth} draft token{'s' if depth > 1 else ''} in sequence"


def _noter(node: Node, key: str, problems: Problems) -> Any:
    def note(name: str, message: str) -> None:
        entry = node.entries.get(name.partition(".")[0])
        problems.note(entry[1] if entry else node, f"{key}.{name}" if name else key, message)

    return note
