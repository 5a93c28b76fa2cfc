"""Speed of the exact sampler against plain Python loops, and the power of its fault checks.

    python -m benchmarks.simulate              speed, all rows
    python -m benchmarks.simulate --power      planted faults over 3,000 seeds
    python -m benchmarks.simulate --json

The rivals are the fastest plain loops that we know for the same algorithm, run in turn with ours in
one process on one thread; CPU time, best of several runs. Work is counted in drafted tokens (N a
step) although the table rivals stop drafting at the first rejection, which the law allows.

- table: cumulative tables and acceptance ratios precomputed, `bisect` and one uniform a decision.
- mlp: the network of each sequence evaluated when needed, as small NumPy products and as plain
  Python lists; the faster of the two counts. The target reads its N + 1 positions in one product.
- n-gram: counts looked up and smoothed when needed, in plain Python (the batched model has smoothed
  rows ready from fitting). With the rows remembered, the rival is a table loop; shown as well.
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.simulate_power import power_rows
from tuner.lessons.texts import shipped_tokens
from tuner.simulate.batched import run_batch
from tuner.simulate.independent import run_independent
from tuner.simulate.mlp import MLPModel, perturbed_mlp, random_mlp
from tuner.simulate.models import random_table
from tuner.simulate.ngram import NGramModel
from tuner.simulate.pairs import drafter_with_acceptance

N = 4
BATCH = 256
ROUNDS = 7


@dataclass(frozen=True)
class Loop:
    """One contestant: runs about ``steps`` steps and returns drafted tokens and emitted tokens."""

    name: str
    run: Callable[[int], tuple[int, int]]
    steps: int


def speed(loop: Loop) -> float:
    """Return drafted tokens a CPU second."""
    start = time.process_time()
    drafted, _ = loop.run(loop.steps)
    return drafted / (time.process_time() - start)


def best_of(loops: list[Loop]) -> dict[str, float]:
    """Run all loops in turn ``ROUNDS`` times and return the best speed of each."""
    best = {loop.name: 0.0 for loop in loops}
    for _ in range(ROUNDS):
        for loop in loops:
            best[loop.name] = max(best[loop.name], speed(loop))
    return best


def table_loops(acceptance_rate: float) -> list[Loop]:
    rng = np.random.default_rng(0)
    target = random_table(rng, 32, 0)
    drafter = drafter_with_acceptance(target, acceptance_rate)
    target_row, draft_row = target.rows[0], drafter.rows[0]
    rest = np.maximum(target_row - draft_row, 0.0)
    draft_sums = np.cumsum(draft_row / draft_row.sum()).tolist()
    target_sums = np.cumsum(target_row / target_row.sum()).tolist()
    rest_sums = np.cumsum(rest / rest.sum()).tolist()
    for sums in (draft_sums, target_sums, rest_sums):
        sums[-1] = 1.0
    keep = np.minimum(target_row / draft_row, 1.0).tolist()

    def plain(steps: int) -> tuple[int, int]:
        uniform, find = random.random, bisect.bisect_right
        emitted: list[int] = []
        add = emitted.append
        for _ in range(steps):
            for _ in range(N):
                token = find(draft_sums, uniform())
                if uniform() < keep[token]:
                    add(token)
                else:
                    add(find(rest_sums, uniform()))
                    break
            else:
                add(find(target_sums, uniform()))
        return steps * N, len(emitted)

    def ours(steps: int) -> tuple[int, int]:
        run = run_independent(
            target, drafter, steps=steps, batch=BATCH, num_speculative_tokens=N, rng=rng
        )
        return run.drafts.size, int((run.num_accepted + 1).sum())

    return [Loop("plain", plain, 40_000), Loop("ours", ours, 1_000)]


class Remembered(list[float]):
    """A row that also remembers its running sums."""

    sums: list[float] | None = None


def plain_draw(row: list[float]) -> int:
    if isinstance(row, Remembered):
        if row.sums is None:
            row.sums = list(accumulate(row))
        sums = row.sums
    else:
        sums = list(accumulate(row))
    return min(bisect.bisect_right(sums, random.random() * sums[-1]), len(row) - 1)


def plain_loop(
    row_of: Callable[[bool, list[int]], list[float]],
    rows_after: Callable[[list[int], int], list[list[float]]],
    order: int,
) -> Callable[[int], tuple[int, int]]:
    """Return a loop over one sequence after another; rows come from the two functions."""

    def run(steps: int) -> tuple[int, int]:
        text = [0] * order
        emitted = 0
        for _ in range(steps):
            draft_rows = []
            for _ in range(N):
                row = row_of(True, text)
                draft_rows.append(row)
                text.append(plain_draw(row))
            target_rows = rows_after(text, N)
            base = len(text) - N
            for place in range(N):
                token = text[base + place]
                wanted, given = target_rows[place][token], draft_rows[place][token]
                if random.random() * given >= wanted:
                    pairs = zip(target_rows[place], draft_rows[place], strict=True)
                    rest = [t - d if t > d else 0.0 for t, d in pairs]
                    del text[base + place :]
                    text.append(plain_draw(rest))
                    emitted += place + 1
                    break
            else:
                text.append(plain_draw(target_rows[N]))
                emitted += N + 1
        return steps * N, emitted

    return run


def numpy_row_loop(target: MLPModel, drafter: MLPModel) -> Callable[[int], tuple[int, int]]:
    """One sequence at a time with small NumPy products; rows become lists for the scalar work."""

    def rows(model: MLPModel, windows: np.ndarray) -> list[list[float]]:
        first = model.embedding
        hidden = first[0][windows[:, 0]] + model.hidden_bias
        for place in range(1, model.order):
            hidden += first[place][windows[:, place]]
        weights = np.exp(np.maximum(hidden, 0.0) @ model.output + model.output_bias)
        return (weights / weights.sum(axis=1, keepdims=True)).tolist()

    order = target.order

    def row_of(is_draft: bool, text: list[int]) -> list[float]:
        return rows(drafter, np.array([text[-order:]]))[0]

    def rows_after(text: list[int], n: int) -> list[list[float]]:
        tail = text[-n - order :]
        return rows(target, np.array([tail[i : i + order] for i in range(n + 1)]))

    return plain_loop(row_of, rows_after, order)


def list_row_loop(target: MLPModel, drafter: MLPModel) -> Callable[[int], tuple[int, int]]:
    """One sequence at a time without NumPy; sums of products as ``sum(map(mul, …))``."""

    def evaluator(model: MLPModel) -> Callable[[list[int]], list[float]]:
        first = model.embedding.copy()
        first[0] += model.hidden_bias
        tables = first.tolist()
        columns = list(zip(model.output.T.tolist(), model.output_bias.tolist(), strict=True))
        exp = math.exp

        def row(window: list[int]) -> list[float]:
            parts = [table[token] for table, token in zip(tables, window, strict=True)]
            hidden = [value if value > 0.0 else 0.0 for value in map(sum, zip(*parts, strict=True))]
            weights = [exp(sum(map(mul, hidden, column)) + bias) for column, bias in columns]
            total = sum(weights)
            return [weight / total for weight in weights]

        return row

    order = target.order
    target_row, draft_row = evaluator(target), evaluator(drafter)

    def rows_after(text: list[int], n: int) -> list[list[float]]:
        tail = text[-n - order :]
        return [target_row(tail[i : i + order]) for i in range(n + 1)]

    return plain_loop(lambda is_draft, text: draft_row(text[-order:]), rows_after, order)


def batched(target: object, drafter: object) -> Callable[[int], tuple[int, int]]:
    rng = np.random.default_rng(1)

    def run(steps: int) -> tuple[int, int]:
        result = run_batch(
            target,  # type: ignore[arg-type]
            drafter,  # type: ignore[arg-type]
            prompts=np.zeros(0, dtype=np.int64),
            batch=BATCH,
            steps=steps,
            num_speculative_tokens=N,
            rng=rng,
        )
        return result.drafts.size, int((result.num_accepted + 1).sum())

    return run


def mlp_loops(vocab_size: int, hidden_size: int) -> list[Loop]:
    rng = np.random.default_rng(0)
    target = random_mlp(
        rng,
        vocab_size=vocab_size,
        order=3,
        hidden_size=hidden_size,
        sharpness=1.5,
        dtype=np.float32,
    )
    drafter = perturbed_mlp(target, 0.3, rng)
    return [
        Loop("plain, NumPy rows", numpy_row_loop(target, drafter), 400),
        Loop("plain, lists", list_row_loop(target, drafter), 300),
        Loop("ours", batched(target, drafter), 60),
    ]


def ngram_loops() -> list[Loop]:
    tokens, alphabet = shipped_tokens()
    size, orders = len(alphabet), {False: 3, True: 2}
    models = {
        is_draft: NGramModel(tokens, size, order, np.float32) for is_draft, order in orders.items()
    }
    text = tokens.tolist()
    counts: dict[tuple[int, ...], Counter[int]] = {}
    for order in range(4):
        padded = [0] * order + text
        for place in range(len(text)):
            context = tuple(padded[place : place + order])
            counts.setdefault(context, Counter())[padded[place + order]] += 1
    totals = {context: sum(seen.values()) for context, seen in counts.items()}

    def smoothed(is_draft: bool, recent: list[int]) -> list[float]:
        order = orders[is_draft]
        row = [1.0 / size] * size
        for m in range(order + 1):
            context = tuple(recent[len(recent) - m :])
            seen = counts.get(context)
            if seen is None:
                break
            kinds = len(seen)
            scale = 1.0 / (totals[context] + kinds)
            share = kinds * scale
            row = [share * value for value in row]
            for token, count in seen.items():
                row[token] += count * scale
        return row

    remembered: dict[tuple[bool, tuple[int, ...]], Remembered] = {}

    def lookup(is_draft: bool, recent: list[int]) -> list[float]:
        key = (is_draft, tuple(recent[-orders[is_draft] :]))
        row = remembered.get(key)
        if row is None:
            row = remembered[key] = Remembered(smoothed(is_draft, recent))
        return row

    def loop(row_of: Callable[[bool, list[int]], list[float]]) -> Callable[[int], tuple[int, int]]:
        def rows_after(recent: list[int], n: int) -> list[list[float]]:
            tail = recent[-n - 3 :]
            return [row_of(False, tail[i : i + 3]) for i in range(n + 1)]

        return plain_loop(row_of, rows_after, 3)

    return [
        Loop("plain, smoothed when asked", loop(smoothed), 300),
        Loop("plain, rows remembered", loop(lookup), 4_000),
        Loop("ours", batched(models[False], models[True]), 60),
    ]


def speed_rows() -> list[dict[str, object]]:
    contests = [
        ("independent tables, V 32, α 0.8", table_loops(0.8), 4.0),
        ("MLP, V 32, H 32, 256 sequences", mlp_loops(32, 32), 50.0),
        ("MLP, V 16, H 16, 256 sequences", mlp_loops(16, 16), 50.0),
        ("4-gram by 3-gram, V 32, 256 sequences", ngram_loops(), 50.0),
    ]
    rows = []
    for name, loops, wanted in contests:
        best = best_of(loops)
        ours = best.pop("ours")
        for rival, value in best.items():
            is_memo = rival.endswith("remembered")
            rows.append(
                {
                    "models": name,
                    "rival": rival,
                    "rival_draft_tokens_per_s": value,
                    "ours_draft_tokens_per_s": ours,
                    "ratio": ours / value,
                    "wanted": None if is_memo else wanted,
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--power", action="store_true", help="planted faults over many seeds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = power_rows() if options.power else speed_rows()
    if options.json:
        json.dump({"rows": rows}, sys.stdout, indent=2)
        return
    for row in rows:
        if options.power:
            print(
                f"{row['fault']:<9} share {row['share']:.3f}  TV {row['total_variation']:.3f}  "
                f"restarts {row['restarts']:>6}  "
                f"power {row['power']:.4f}  caught {row['caught']:.4f} of {row['seeds']} seeds"
            )
        else:
            goal = "" if row["wanted"] is None else f"  (wanted {row['wanted']:.0f}×)"
            print(
                f"{row['models']:<38} {row['rival']:<27} {row['rival_draft_tokens_per_s']:>12,.0f}"
                f"  ours {row['ours_draft_tokens_per_s']:>12,.0f}  {row['ratio']:6.1f}×{goal}"
            )


if __name__ == "__main__":
    main()
