"""``specdec-tune init``: write a profile from options, or from questions on a terminal."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from tuner.cli.files import check_out_file, write_file
from tuner.cli.options import EngineVersion, SetValues
from tuner.cli.output import current_output
from tuner.errors import InputError, MissingDataError, Problem, ProfileError, TunerError
from tuner.profile.nodes import Kind, Node
from tuner.profile.overlay import lay_over, set_value, target_node, text_node
from tuner.profile.read import validate
from tuner.profile.template import render_profile
from tuner.records.methods import Engine

EngineName = Annotated[Engine | None, typer.Option("--engine", help="Engine that serves.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite a file that exists; accept names that are not known."),
]
Target = Annotated[
    str | None, typer.Option(metavar="MODEL", help="Model id, config.json, or a .gguf file.")
]
Gpu = Annotated[str | None, typer.Option(metavar="NAME", help="Device, like H100-SXM.")]
Count = Annotated[str | None, typer.Option(metavar="N", help="How many devices.")]
Dtype = Annotated[str | None, typer.Option(metavar="TYPE", help="Weight format.")]
TaskMix = Annotated[
    str | None, typer.Option(metavar="TASK", help="chat, code, … or '{chat: 0.7, code: 0.3}'.")
]
Temperature = Annotated[str | None, typer.Option(metavar="T", help="Temperature, or a mix.")]
Batch = Annotated[
    str | None, typer.Option(metavar="N", help="Sequences decoded together, or a mix.")
]
Concurrency = Annotated[
    str | None, typer.Option(metavar="N", help="Requests in flight, instead of --batch.")
]
Prompt = Annotated[str | None, typer.Option(metavar="N", help="Prompt length, tokens.")]
Answer = Annotated[str | None, typer.Option(metavar="N", help="Answer length, tokens.")]
Objective = Annotated[str | None, typer.Option(metavar="WORD", help="latency, throughput or cost.")]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="What to call it.")]
OutputFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="File to write (default: NAME.yaml; - prints).")
]


def init(
    target: Target = None,
    gpu: Gpu = None,
    count: Count = None,
    engine: EngineName = None,
    engine_version: EngineVersion = None,
    dtype: Dtype = None,
    task: TaskMix = None,
    temperature: Temperature = None,
    batch: Batch = None,
    concurrency: Concurrency = None,
    prompt_tokens: Prompt = None,
    output_tokens: Answer = None,
    objective: Objective = None,
    set_: SetValues = None,
    name: Name = None,
    output: OutputFile = None,
    force: Force = False,
) -> None:
    """Write a profile: from questions on a terminal, from options otherwise."""
    given = {
        "target": target,
        "hardware.gpu": gpu,
        "hardware.count": count,
        "engine.name": engine.value if engine else None,
        "engine.version": engine_version,
        "dtype": dtype,
        "workload.task": task,
        "workload.temperature": temperature,
        "workload.batch": batch,
        "workload.concurrency": concurrency,
        "workload.prompt_tokens": prompt_tokens,
        "workload.output_tokens": output_tokens,
        "objective": objective,
    }
    root = _tree({key: value for key, value in given.items() if value is not None}, set_ or [])
    if "target" not in root.entries and "overrides" not in root.entries:
        _ask(root)
    title = name or suggested_name(root)
    set_value(root, "name", text_node(title))
    file = _place(output or f"{title}.yaml", force)
    _check(root, title, force)
    _write(file, render_profile(root), title)


def _ask(root: Node) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError("--target is needed where no questions can be asked.")
    from tuner.cli.questions import ask_missing

    ask_missing(root)


#: keys whose value is text as it stands; the others are read as YAML, so that a mix is possible
TEXT_KEYS = frozenset(
    ("target", "hardware.gpu", "engine.name", "engine.version", "dtype", "objective")
)


def _tree(given: dict[str, str], sets: list[str]) -> Node:
    root = Node(Kind.MAPPING, None, None)
    for key, value in given.items():
        if key in TEXT_KEYS:
            set_value(root, key, target_node(value) if key == "target" else text_node(value))
        else:
            lay_over(root, [f"{key}={value}"])
    lay_over(root, sets)
    return root


def suggested_name(root: Node) -> str:
    """Return a name made of the task and the model, fit for a file."""
    entry = root.entries.get("target")
    model = entry[1] if entry else None
    if model is not None and model.kind is Kind.TEXT:
        words = model.text.rstrip("/").rsplit("/", 1)[-1]
    else:
        words = "profile"
    task = "mix"
    workload = root.entries.get("workload")
    inner = workload[1].entries.get("task") if workload else None
    if inner is None or inner[1].kind is Kind.TEXT:
        task = inner[1].text if inner else "chat"
    safe = "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in f"{task}-{words}")
    return safe.strip(".-").lower()[:80] or "profile"


def _place(file: str, force: bool) -> str | None:
    """Return the file to write, None for standard output."""
    if file == "-":
        return None
    path = check_out_file("--output", file)
    if path.exists() and not force:
        raise InputError(f"--output: {file} exists; --force overwrites it.")
    return str(path)


def _check(root: Node, title: str, force: bool) -> None:
    """Refuse what a profile could not say, naming the option rather than a line.

    A name that no command could look up is refused too, unless it is forced.
    """
    try:
        profile = validate(root, path=None, name=title)
    except ProfileError as error:
        raise ProfileError([_at_option(problem) for problem in error.problems]) from None
    from tuner.advise.resolve import resolve

    try:
        resolve(profile)
    except TunerError as error:
        message = " ".join(error.lines())
        if not force:
            raise MissingDataError(
                f"{message} Nothing was written; --force writes it all the same."
            ) from None
        current_output().warn(message)


def _at_option(problem: Problem) -> Problem:
    return replace(problem, where=replace(problem.where, file=None, line=None))


def _write(file: str | None, text: str, title: str) -> None:
    shown = current_output()
    if file is not None:
        from pathlib import Path

        write_file("--output", Path(file), [text.encode()])
    if shown.json:
        shown.emit_json({"schema_version": 1, "file": file, "name": title, "text": text})
    elif file is None:
        shown.text(text)
    else:
        from shlex import quote

        shown.text(f"{file} is written. Next: specdec-tune recommend {quote(file)}")
