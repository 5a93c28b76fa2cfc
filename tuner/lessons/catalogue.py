"""All lessons by name, in the order in which they are best read."""

from __future__ import annotations

from importlib.resources import files

from tuner.lessons.drafters import distillation, exposure_bias, road
from tuner.lessons.lengths import (
    draft_length,
    expected_lesson,
    sensitivity,
    temperature,
    tree_against_chain,
)
from tuner.lessons.machinery import kv_rollback, tree_mask_lesson
from tuner.lessons.outcome import Lesson
from tuner.lessons.proofs import chi_square_lesson, greedy, residual_lesson, theorem

_LESSONS = (
    Lesson(
        name="theorem",
        title="Draft, verify, reject, resample: why the law stays the target's",
        run=theorem,
        related=("verify --k 2 --restarts 5000 --samples 5000",),
    ),
    Lesson(name="greedy", title="Greedy decoding: the same text in fewer passes", run=greedy),
    Lesson(
        name="residual",
        title="What a rejected token must be replaced from",
        run=residual_lesson,
        related=("verify --break residual --k 2 --restarts 5000 --samples 5000",),
    ),
    Lesson(
        name="chi-square",
        title="Proving a sampler from its samples",
        run=chi_square_lesson,
        related=("verify --break rollback --k 2 --restarts 5000 --samples 5000",),
    ),
    Lesson(
        name="expected-tokens",
        title="From draft quality to tokens a verify pass",
        run=expected_lesson,
        related=("simulate --model markov --noise 0.1,0.3,1 --k 1:6 --batch 64 --steps 50",),
    ),
    Lesson(
        name="sensitivity",
        title="What a better acceptance rate is worth at K = 4",
        run=sensitivity,
        related=("sweep --alpha 0.5,0.7,0.85,0.95 --k 4",),
    ),
    Lesson(
        name="draft-length",
        title="How long to draft: α = .9, c = .04",
        run=draft_length,
        related=("sweep --alpha 0.9 --c 0.04 --k 1:10", "sweep --alpha 0.9 --c 0.04 --k 1:25"),
    ),
    Lesson(
        name="temperature",
        title="Temperature and the acceptance rule",
        run=temperature,
        related=("simulate --model ngram --draft-order 3 --temperature 0.5 --batch 64 --steps 50",),
    ),
    Lesson(name="tree-mask", title="One pass over a whole tree", run=tree_mask_lesson),
    Lesson(
        name="tree-or-chain",
        title="[2, 2, 2] against a chain",
        run=tree_against_chain,
        related=("simulate --model ngram --tree 2x2x2 --batch 64 --steps 20",),
    ),
    Lesson(
        name="kv-rollback",
        title="The KV cache of two sequences that accept different lengths",
        run=kv_rollback,
        related=("simulate --alpha 0.7 --k 3 --batch 16 --steps 50",),
    ),
    Lesson(
        name="distillation",
        title="Train a drafter on the target's distribution, not on tokens",
        run=distillation,
    ),
    Lesson(
        name="exposure-bias",
        title="Why a drafter must be trained on its own predictions",
        run=exposure_bias,
    ),
    Lesson(
        name="road",
        title="From vanilla speculative decoding to EAGLE-3 and beyond",
        run=road,
        related=("catalog methods",),
    ),
)

LESSONS: dict[str, Lesson] = {lesson.name: lesson for lesson in _LESSONS}


def lesson_text(name: str) -> str:
    """Return the explanation of a lesson: paragraphs and lists in Markdown, without a title."""
    return files("tuner.lessons").joinpath(f"pages/{name}.md").read_text("utf-8")
