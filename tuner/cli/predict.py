"""``specdec-tune predict``: numbers for configurations that the user names."""

from __future__ import annotations

from typing import Annotated

import typer

from tuner.cli.options import CostModelName, EngineName, EngineVersion, ProfilePath, SetValues
from tuner.cli.output import current_output, screen_width
from tuner.records.methods import CostBackend
from tuner.records.workload import MOST_TEMPERATURE


def predict(
    profile: ProfilePath,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="METHOD", help="Such as eagle3; repeatable."),
    ] = None,
    k: Annotated[
        list[str] | None,
        typer.Option("--k", metavar="K", help="Draft length, or a range 1:8; repeatable."),
    ] = None,
    tree: Annotated[
        list[str] | None,
        typer.Option("--tree", metavar="STEPS/TOPK/TOKENS", help="SGLang's numbers; repeatable."),
    ] = None,
    batch: Annotated[
        list[float] | None,
        typer.Option("--batch", metavar="B", min=1, help="Sequences decoded together; repeatable."),
    ] = None,
    temperature: Annotated[
        list[float] | None,
        typer.Option("--temperature", metavar="T", min=0, max=MOST_TEMPERATURE, help="Repeatable."),
    ] = None,
    engine: EngineName = None,
    engine_version: EngineVersion = None,
    set_: SetValues = None,
    cost_model: CostModelName = CostBackend.BUILTIN,
) -> None:
    """Numbers for configurations that you name; no choice is made."""
    from tuner.advise.knowledge import shipped_knowledge
    from tuner.advise.predict import Question
    from tuner.advise.predict import predict as answer
    from tuner.cli.configurations import draft_lengths, methods, trees
    from tuner.cli.reading import read

    output = current_output()
    question = Question(
        methods=methods(method or ()),
        num_speculative_tokens=draft_lengths(k or ()),
        trees=trees(tree or ()),
        batches=tuple(batch or ()),
        temperatures=tuple(temperature or ()),
    )
    found = answer(
        read(profile, set_, engine, engine_version), question, shipped_knowledge(cost_model)
    )
    if output.json:
        from tuner.report.export import prediction_document

        output.emit_json(prediction_document([found]))
    else:
        from tuner.report.prediction import render_predictions

        output.show(*render_predictions(found, width=screen_width(), quiet=output.quiet))
