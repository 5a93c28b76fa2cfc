"""``verify``: the proof, run in front of the user, that the sampler keeps the target's law."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tuner.cli.bar import progress_bar
from tuner.cli.output import current_output, screen_width
from tuner.errors import FindingError, InputError
from tuner.nearest import nearest

#: the enumeration visits V ** K drafts from each context
MAX_VOCABULARY = 6
MAX_TOKENS = 4
MAX_DRAFT_STRINGS = 256
MIN_RESTARTS = 1_000


class Fault(StrEnum):
    """What can be broken on purpose."""

    RESIDUAL = "residual"
    BONUS = "bonus"
    RATIO = "ratio"
    ROLLBACK = "rollback"


def verify(
    vocab: Annotated[
        int, typer.Option(metavar="V", help=f"Tokens of the small models, 2 to {MAX_VOCABULARY}.")
    ] = 3,
    k: Annotated[
        int, typer.Option(metavar="K", help=f"Longest draft that is enumerated, 1 to {MAX_TOKENS}.")
    ] = 4,
    restarts: Annotated[
        int, typer.Option(metavar="COUNT", help="Independent restarts of each chi-square test.")
    ] = 50_000,
    samples: Annotated[int, typer.Option(metavar="COUNT", help="Tokens of the G-test.")] = 100_000,
    level: Annotated[
        float, typer.Option(metavar="CHANCE", help="Chance of a false alarm of each test.")
    ] = 1e-4,
    seed: Annotated[int, typer.Option(metavar="SEED", help="Of models and samples.")] = 0,
    rule: Annotated[str, typer.Option(metavar="RULE", help="What is proved; see below.")] = "ratio",
    fault: Annotated[
        Fault | None,
        typer.Option("--break", help="Break this part of the sampler; the checks must notice."),
    ] = None,
) -> None:
    """Prove that speculative sampling leaves the target's distribution unchanged.

    Every outcome of the loop is enumerated on small models, samples are tested on more, and
    each part of the sampler is broken on purpose to see that the checks would notice. Exit code 1
    when something is not exact.

    Rules: ratio (the reference loop), one_hot, exact_match, block, tree (siblings without
    replacement), tree_top (most likely siblings), multi_candidate (independent siblings), and
    the lossy typical and relaxed.
    """
    _check(vocab, k, restarts, samples, level, seed)
    _check_rule(rule, fault)
    if fault is Fault.ROLLBACK and k < 2:
        raise InputError("--break rollback needs --k 2 or more: one draft leaves nothing to undo.")
    from tuner.report.proof import proof_document, render_proof, verdict
    from tuner.simulate.proof import num_checks, prove

    name = fault.value if fault else None
    with progress_bar(num_checks(k, rule=rule, fault=name)) as report:
        proof = prove(
            vocab_size=vocab,
            max_speculative_tokens=k,
            restarts=restarts,
            samples=samples,
            seed=seed,
            level=level,
            rule=rule,
            fault=name,
            report=report,
        )
    output = current_output()
    if output.json:
        output.emit_json(proof_document(proof))
    else:
        output.show(*render_proof(proof, width=screen_width()))
    if not proof.is_exact:
        raise FindingError(f"not exact: {verdict(proof)}")


def _check(vocab: int, k: int, restarts: int, samples: int, level: float, seed: int) -> None:
    if not 2 <= vocab <= MAX_VOCABULARY:
        raise InputError(f"--vocab: {vocab} is not possible: 2 to {MAX_VOCABULARY} tokens.")
    if not 1 <= k <= MAX_TOKENS:
        raise InputError(f"--k: {k} is not possible: 1 to {MAX_TOKENS} draft tokens.")
    if vocab**k > MAX_DRAFT_STRINGS:
        raise InputError(
            f"--vocab {vocab} with --k {k} has {vocab**k:,} drafts to enumerate from each context; "
            f"at most {MAX_DRAFT_STRINGS:,} are: take a smaller vocabulary or a shorter draft."
        )
    for option, count in (("--restarts", restarts), ("--samples", samples)):
        if not MIN_RESTARTS <= count <= 10_000_000:
            raise InputError(f"{option}: {count} is not possible: 1,000 to 10,000,000.")
    if not 0.0 < level < 1.0:
        raise InputError(f"--level: {level} is not possible: between 0 and 1.")
    if seed < 0:
        raise InputError(f"--seed: {seed} is not possible: 0 or more.")


def _check_rule(rule: str, fault: Fault | None) -> None:
    from tuner.simulate.schemes import SCHEMES

    if rule not in SCHEMES:
        near = nearest(rule, SCHEMES)
        hint = f"Did you mean {near}?" if near else f"Known: {', '.join(SCHEMES)}."
        raise InputError(f"--rule: there is no rule {rule!r}. {hint}")
    if fault and rule != "ratio":
        raise InputError(f"--break: faults are planted in the ratio rule, not in {rule}.")
