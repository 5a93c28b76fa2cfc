"""A request in, a launch command out, for whichever engine it names."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from tuner.engines import llamacpp, sglang, vllm
from tuner.engines.quoting import shell_line
from tuner.engines.support import serves, serves_trees
from tuner.engines.versions import TITLES, resolve_version
from tuner.engines.words import warning
from tuner.errors import InputError, MissingDataError
from tuner.records.config import SpecConfig
from tuner.records.decision import EngineCommand
from tuner.records.emit import EmitRequest
from tuner.records.methods import Engine, Method
from tuner.records.sources import Warning_


class Adapter(Protocol):
    """What the module of an engine offers."""

    #: where a run of the client shows what was accepted
    ACCEPTANCE_APPEARS: str

    def server_argv(self, request: EmitRequest) -> tuple[list[str], tuple[Warning_, ...]]:
        """Return the server's arguments without speculation."""

    def speculative(
        self, request: EmitRequest
    ) -> tuple[list[str], dict[str, object], dict[str, str], tuple[Warning_, ...]]:
        """Return the speculative arguments, the mapping behind them, files, and warnings."""

    def bench_argv(self, request: EmitRequest) -> list[str]:
        """Return a client that measures the running server."""


ADAPTERS: dict[Engine, Adapter] = {
    Engine.VLLM: vllm,
    Engine.SGLANG: sglang,
    Engine.LLAMACPP: llamacpp,
}


#: code of what a client's command says about reading its results; nothing is wrong there
ACCEPTANCE_NOTE = "acceptance-appears"


def emit(request: EmitRequest) -> EngineCommand:
    """Return the launch command of one server.

    A tree of width 1 is written as the chain that it is. Method ``none``, or a draft length of 0
    without a schedule, gives the plain command.

    Raises
    ------
    MissingDataError
        The engine has no adapter, the version is too old, or the engine does not serve the method;
        ``serves`` says so beforehand.
    InputError
        The settings contradict each other or the engine's own checks.
    """
    version, warnings = resolve_version(request.engine, request.version)
    adapter = ADAPTERS[request.engine]
    request = _checked(request)
    argv, more = adapter.server_argv(request)
    warnings = (*warnings, *more)
    if _is_plain(request):
        return _command(request, version, argv, warnings)
    spec_argv, config, files, more = adapter.speculative(request)
    return _command(request, version, [*argv, *spec_argv], (*warnings, *more), config, files)


def emit_baseline(request: EmitRequest) -> EngineCommand:
    """Return the same server without speculation, to compare with."""
    return emit(replace(request, config=SpecConfig(method=Method.NONE), schedule=()))


def emit_bench(request: EmitRequest) -> EngineCommand:
    """Return a client command to run against the server, once plain and once with speculation.

    vLLM reads ``prompts.jsonl`` as lines of ``{"prompt": …}``, SGLang and llama.cpp as lines of
    ``{"messages": [...]}``. Random prompts would say nothing about acceptance. The last warning
    says where acceptance appears.
    """
    version, warnings = resolve_version(request.engine, request.version)
    adapter = ADAPTERS[request.engine]
    note = warning(ACCEPTANCE_NOTE, adapter.ACCEPTANCE_APPEARS)
    return _command(
        request, version, adapter.bench_argv(request), (*warnings, *_reduced(request), note)
    )


def _reduced(request: EmitRequest) -> tuple[Warning_, ...]:
    """Say which parts of the workload one run of the client leaves out."""
    told = list(request.reduced)
    if request.request_rate is not None and request.engine is Engine.LLAMACPP:
        told.append(
            f"{request.max_batch or 1} requests in flight in place of {request.request_rate:g} "
            "requests a second"
        )
    if not told:
        return ()
    message = f"one run of this client takes {', and '.join(told)}"
    return (warning("bench-reduced", message),)


def _is_plain(request: EmitRequest) -> bool:
    config = request.config
    drafts = [row.num_speculative_tokens for row in request.schedule if row.method is config.method]
    return config.method is Method.NONE or (
        config.tree is None and max([config.num_speculative_tokens, *drafts]) == 0
    )


def _checked(request: EmitRequest) -> EmitRequest:
    config = request.config
    support = serves(request.engine, request.version, config.method, parallel=request.parallel)
    if not support.ok:
        raise MissingDataError(f"{support.reason}: choose another method or engine.")
    if config.num_speculative_tokens < 0:
        raise InputError(
            f"num_speculative_tokens is {config.num_speculative_tokens}: it cannot be negative."
        )
    tree = config.tree
    if tree is None:
        return request
    if tree.topk == 1:
        chain = replace(config, tree=None, num_speculative_tokens=tree.num_steps)
        return replace(request, config=chain)
    if not serves_trees(request.engine, config.method):
        raise InputError(
            f"{TITLES[request.engine]} verifies no draft tree for {config.method.value}; "
            f"{tree} has a width of {tree.topk}."
        )
    return request


def _command(
    request: EmitRequest,
    version: str,
    argv: list[str],
    warnings: tuple[Warning_, ...],
    config: dict[str, object] | None = None,
    files: dict[str, str] | None = None,
) -> EngineCommand:
    return EngineCommand(
        engine=request.engine,
        version=version,
        argv=tuple(argv),
        shell=shell_line(argv),
        config=config or {},
        files=files or {},
        warnings=warnings,
    )
