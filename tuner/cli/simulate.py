"""``simulate``: run the exact sampler on toy models and compare with the maths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.bar import progress_bar
from tuner.cli.files import PLOT_ENDINGS, check_out_file, write_file
from tuner.cli.options import PlotFile
from tuner.cli.output import current_output, screen_width
from tuner.cli.ranges import read_reals, read_wholes
from tuner.errors import InputError
from tuner.simulate.sampling import SamplingSetting
from tuner.simulate.toy import ModelKind, Quality, ToyTarget

if TYPE_CHECKING:
    from tuner.report.trial import TrialRow
    from tuner.simulate.models import IntArray

MAX_TEXT_BYTES = 10_000_000
#: draft tokens of a whole run: about a minute here
MAX_DRAFT_TOKENS = 100_000_000
DEFAULT_ALPHA = "0.8"
DEFAULT_NOISE = "0.3"
DEFAULT_ORDERS = "2"


def simulate(
    model: Annotated[ModelKind, typer.Option(help="The toy target.")] = ModelKind.INDEPENDENT,
    alpha: Annotated[
        str | None,
        typer.Option(metavar="LIST", help=f"Drafters accepted at this rate; {DEFAULT_ALPHA}."),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Drafters with this much noise on the target's logits."),
    ] = None,
    draft_order: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="n-gram drafters that see this many tokens."),
    ] = None,
    k: Annotated[str, typer.Option(metavar="LIST", help="Draft tokens a step: 4 or 1:8.")] = "4",
    c: Annotated[float, typer.Option(help="Draft pass ÷ plain step.")] = 0.05,
    vocab: Annotated[int, typer.Option(metavar="V", help="Tokens of the vocabulary.")] = 32,
    order: Annotated[
        int | None, typer.Option(help="Tokens of context of the target (n-gram 4, others 2).")
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Text that n-grams are fitted on (default: shipped)."),
    ] = None,
    temperature: Annotated[float, typer.Option(help="For both models; 0 = greedy.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="For both models.")] = None,
    top_p: Annotated[float, typer.Option(help="For both models.")] = 1.0,
    batch: Annotated[int, typer.Option(help="Sequences at once.")] = 256,
    steps: Annotated[int, typer.Option(help="Steps of each sequence.")] = 400,
    seed: Annotated[int, typer.Option(help="Of models and samples.")] = 0,
    tree: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TREE",
            help="Trees against chains: 2x2x2, 5/4/26, eagle-1 or all; repeatable.",
        ),
    ] = None,
    plot: PlotFile = None,
) -> None:
    """Run the exact sampler on toy models: tokens a verify pass, acceptance, time, KV cache.

    One drafter and one K show a run in full; lists of either show a table and a curve.
    """
    plot_path = check_out_file("--plot", plot, endings=PLOT_ENDINGS) if plot is not None else None
    qualities = _qualities(model, alpha, noise, draft_order)
    counts = [int(n) for n in read_wholes("--k", k)]
    _check(counts, len(qualities), c, vocab, order, batch, steps, seed)
    setting = SamplingSetting(temperature=temperature, top_k=top_k, top_p=top_p)
    toy, title = _toy(model, vocab, order, text, setting, seed)
    if tree:
        if plot_path is not None or len(qualities) > 1:
            raise InputError("--tree compares trees under one drafter, without --plot.")
        _show_trees(
            toy,
            f"{title} · {qualities[0].label} · seed {seed}",
            qualities[0],
            tree,
            batch,
            steps,
            seed,
        )
        return
    rows = _run(toy, qualities, counts, c, batch, steps, seed)
    if plot_path is not None:
        from tuner.report.trial_figure import trial_figure

        write_file("--plot", plot_path, [trial_figure(rows, plot_path.suffix.lower()[1:])])
    _show(f"{title} · seed {seed}", rows, seed)


def _qualities(
    model: ModelKind, alpha: str | None, noise: str | None, draft_order: str | None
) -> list[Quality]:
    given = [name for name, text in _named(alpha, noise, draft_order) if text is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} both say how good the drafter is; give one.")
    if model is ModelKind.NGRAM and (alpha or noise):
        raise InputError(
            f"--model ngram is drafted by shorter n-grams: --draft-order, not {given[0]}."
        )
    if model is ModelKind.MLP and (alpha or draft_order):
        raise InputError(f"--model mlp is drafted by a noisy copy: --noise, not {given[0]}.")
    if draft_order is not None and model is not ModelKind.NGRAM:
        raise InputError(f"--draft-order is for --model ngram, not {model}.")
    if model is ModelKind.NGRAM:
        orders = read_wholes("--draft-order", draft_order or DEFAULT_ORDERS)
        if orders.min() < 0 or orders.max() > 8:
            raise InputError("--draft-order: 0 to 8 tokens of context are possible.")
        return [Quality(order=int(value)) for value in orders]
    if noise is not None or model is ModelKind.MLP:
        values = read_reals("--noise", noise or DEFAULT_NOISE)
        if values.min() < 0.0 or values.max() > 100.0:
            raise InputError("--noise: 0 to 100 is possible.")
        return [Quality(noise=float(value)) for value in values]
    rates = read_reals("--alpha", alpha or DEFAULT_ALPHA)
    return [Quality(acceptance_rate=float(value)) for value in rates]


def _named(
    alpha: str | None, noise: str | None, draft_order: str | None
) -> list[tuple[str, str | None]]:
    return [("--alpha", alpha), ("--noise", noise), ("--draft-order", draft_order)]


def _check(
    counts: list[int],
    qualities: int,
    c: float,
    vocab: int,
    order: int | None,
    batch: int,
    steps: int,
    seed: int,
) -> None:
    if min(counts) < 1 or max(counts) > 64:
        odd = next(count for count in counts if not 1 <= count <= 64)
        raise InputError(f"--k: {odd} is not possible: 1 to 64 draft tokens a step.")
    if not 0.0 <= c < float("inf"):
        raise InputError(f"--c: {c} is not possible: 0 or more.")
    if not 2 <= vocab <= 1024:
        raise InputError(f"--vocab: {vocab} is not possible: 2 to 1,024 tokens.")
    if order is not None and not 1 <= order <= 8:
        raise InputError(f"--order: {order} is not possible: 1 to 8 tokens of context.")
    if batch < 2 or steps < 1:
        raise InputError(
            "--batch needs at least 2 sequences (for the error) and --steps at least 1."
        )
    if seed < 0:
        raise InputError(f"--seed: {seed} is not possible: 0 or more.")
    drafted = batch * steps * sum(counts) * qualities
    if drafted > MAX_DRAFT_TOKENS:
        raise InputError(
            f"this asks for {drafted:,} draft tokens; at most {MAX_DRAFT_TOKENS:,} are drawn: "
            "take fewer steps, sequences, K or drafters."
        )


def _toy(
    model: ModelKind,
    vocab: int,
    order: int | None,
    text: Path | None,
    setting: SamplingSetting,
    seed: int,
) -> tuple[ToyTarget, str]:
    import numpy as np

    from tuner.simulate.toy import toy_target

    tokens = None
    chosen = order if order is not None else 4 if model is ModelKind.NGRAM else 2
    if model is ModelKind.NGRAM:
        tokens, vocab, name = _text(text)
        title = f"{chosen + 1}-gram model of {name}"
    elif text is not None:
        raise InputError(f"--text is for --model ngram, not {model}.")
    else:
        title = {
            ModelKind.INDEPENDENT: "independent tokens",
            ModelKind.MARKOV: f"Markov table of order {chosen}",
            ModelKind.MLP: f"MLP over {chosen} tokens",
        }[model]
    title += f" · vocabulary {vocab}"
    if not setting.changes_nothing:
        title += f" · T {setting.temperature:g}"
        title += f" · top-k {setting.top_k}" if setting.top_k is not None else ""
        title += f" · top-p {setting.top_p:g}" if setting.top_p < 1.0 else ""
    toy = toy_target(
        model,
        vocab_size=vocab,
        order=chosen,
        setting=setting,
        rng=np.random.default_rng([seed, 1]),
        tokens=tokens,
    )
    return toy, title


def _text(path: Path | None) -> tuple[IntArray, int, str]:
    from tuner.simulate.ngram import text_tokens

    if path is None:
        from tuner.lessons.texts import shipped_tokens

        tokens, alphabet = shipped_tokens()
        return tokens, len(alphabet), "Shakespeare's Coriolanus"
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise InputError(f"--text: {path}: {error.strerror}.") from None
    if not raw:
        raise InputError(f"--text: {path} is empty.")
    if len(raw) > MAX_TEXT_BYTES:
        raise InputError(f"--text: {path} is larger than {MAX_TEXT_BYTES:,} bytes.")
    try:
        tokens, alphabet = text_tokens(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"--text: {path} is not UTF-8 text.") from None
    if not 2 <= len(alphabet) <= 1024:
        raise InputError(
            f"--text: {path} has {len(alphabet)} different characters; 2 to 1,024 are possible."
        )
    return tokens, len(alphabet), path.name


def _run(
    toy: ToyTarget,
    qualities: list[Quality],
    counts: list[int],
    c: float,
    batch: int,
    steps: int,
    seed: int,
) -> list[TrialRow]:
    import numpy as np

    from tuner.report.trial import TrialRow
    from tuner.simulate.trial import mean_distances, run_trial

    rows = []
    with progress_bar(len(qualities) * len(counts)) as report:
        for quality in qualities:
            # The same noise and the same stream for every quality: what differs is the magnitude.
            target, drafter = toy.pair(quality, np.random.default_rng([seed, 2]))
            distances = mean_distances(target, drafter, np.random.default_rng([seed, 4]))
            for n in counts:
                report(f"{quality.label}, K {n}")
                trial = run_trial(
                    target,
                    drafter,
                    num_speculative_tokens=n,
                    batch=batch,
                    steps=steps,
                    draft_cost_ratio=c,
                    rng=np.random.default_rng([seed, 3, n]),
                    given_acceptance=quality.acceptance_rate,
                    distances=distances,
                )
                rows.append(TrialRow(quality=quality, trial=trial))
    return rows


def _show_trees(
    toy: ToyTarget,
    title: str,
    quality: Quality,
    trees: list[str],
    batch: int,
    steps: int,
    seed: int,
) -> None:
    import numpy as np

    from tuner.report.tree_trial import render_trees, tree_document
    from tuner.simulate.tree_trial import compare_trees, read_plan

    plans = tuple(plan for text in trees for plan in read_plan(text))
    target, drafter = toy.pair(quality, np.random.default_rng([seed, 2]))
    with progress_bar(len(plans)) as report:
        rows = compare_trees(
            target, drafter, plans=plans, batch=batch, steps=steps, seed=seed, report=report
        )
    output = current_output()
    if output.json:
        output.emit_json(tree_document(title, rows, seed))
        return
    blocks = not output.console().options.ascii_only
    output.show(*render_trees(title, rows, width=screen_width(), blocks=blocks))


def _show(title: str, rows: list[TrialRow], seed: int) -> None:
    from tuner.report.trial import render_trial, render_trials, trial_document

    output = current_output()
    if output.json:
        output.emit_json(trial_document(title, rows, seed))
        return
    blocks = not output.console().options.ascii_only
    width = screen_width()
    if len(rows) == 1:
        output.show(*render_trial(title, rows[0], width=width, blocks=blocks))
    else:
        output.show(*render_trials(title, rows, width=width, blocks=blocks))
