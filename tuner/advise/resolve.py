"""Profile → situation: look names up, fill defaults in, and say which."""

from __future__ import annotations

from tuner.advise.situation import Situation
from tuner.catalog import drafters_for, find_accelerator, find_model
from tuner.catalog.shapes import shape_from_config, shape_from_gguf, shape_from_sizes
from tuner.cost.dtypes import weight_format
from tuner.engines import TITLES, resolve_version
from tuner.errors import InputError, MissingDataError, Where
from tuner.records.cost import CostSetup
from tuner.records.hardware import Accelerator, DeviceKind, Hardware, Parallel
from tuner.records.methods import Method
from tuner.records.model import Drafter, ModelShape
from tuner.records.sources import Assumption, AssumptionKind, Grade, Source, Warning_
from tuner.records.workload import DrafterSpec, HardwareSpec, Profile, TargetSpec
from tuner.units import gigabytes, terabytes_per_s, teraflops

#: Device assumed when a profile names none: the most measured one in the data that ships.
DEFAULT_DEVICE = "H100-SXM"
#: Share of device memory that weights may take before another device is added (assumed).
DEFAULT_WEIGHT_SHARE = 0.6
DEFAULT_COUNTS = (1, 2, 4, 8)

#: kind of an unnamed device by its least bandwidth in TB/s (assumed)
_KIND_BY_BANDWIDTH = (
    (1.5, DeviceKind.DATACENTER_GPU),
    (0.2, DeviceKind.CONSUMER_GPU),
    (0.07, DeviceKind.INTEGRATED),
)


def resolve(profile: Profile) -> Situation:
    """Look up target, devices, engine and drafters of a profile.

    Raises
    ------
    MissingDataError
        A target, device or engine version that is not known.
    InputError
        Neither a target nor both α and c.
    """
    assumptions: list[Assumption] = []
    warnings: list[Warning_] = []
    engine = profile.engine.name
    version, newer = resolve_version(engine, profile.engine.version)
    warnings += newer
    if profile.engine.version is None:
        assumptions.append(
            _default(
                "engine", f"{TITLES[engine]} {version}", "the newest release that is known here"
            )
        )
    setup = None
    drafters: tuple[Drafter, ...] = ()
    if profile.target is not None:
        target = _target(profile.target)
        dtype = profile.dtype or target.native_dtype
        if profile.dtype is None:
            assumptions.append(_default("dtype", dtype, "the checkpoint's own"))
        kv_dtype = profile.kv_dtype or ("bfloat16" if dtype != "float32" else "float32")
        setup = CostSetup(
            target=target,
            hardware=_hardware(profile, target, dtype, assumptions),
            dtype=dtype,
            kv_dtype=kv_dtype,
            engine=engine,
            engine_version=version,
        )
        if target.source is not None and target.source.grade is Grade.ASSUMED:
            assumptions.append(_default("target shape", target.model_id, target.source.reference))
        drafters = _drafters(profile, target)
    elif not (profile.overrides.acceptance_rate and profile.overrides.draft_cost_ratio):
        raise InputError(
            "a target is needed (or overrides.acceptance_rate with overrides.draft_cost_ratio): "
            "name a model, {config: …}, {gguf: …} or {params_b: …}.",
            where=Where(file=profile.path, key="target"),
        )
    workload = profile.workload
    return Situation(
        profile=profile,
        setup=setup,
        engine=engine,
        engine_version=version,
        drafters=drafters,
        context_tokens=workload.prompt_tokens + workload.output_tokens / 2.0,
        assumptions=(*assumptions, *_workload_defaults(profile)),
        warnings=tuple(warnings),
    )


def _target(spec: TargetSpec) -> ModelShape:
    if spec.model_id is not None:
        return find_model(spec.model_id)
    if spec.config_path is not None:
        return shape_from_config(spec.config_path)
    if spec.gguf_path is not None:
        return shape_from_gguf(spec.gguf_path)
    if spec.params_b is None:
        raise InputError("the target has neither a name nor sizes.", where=Where(key="target"))
    return shape_from_sizes(
        params_b=spec.params_b,
        active_params_b=spec.active_params_b,
        mtp_layers=spec.mtp_layers or 0,
    )


def _accelerator(spec: HardwareSpec) -> Accelerator:
    """A named device, or one described by numbers; numbers beside a name replace the catalog's."""
    if spec.gpu is not None:
        return find_accelerator(spec.gpu)
    if spec.memory_gb is None or spec.bandwidth_tb_s is None:
        raise InputError(
            "a device without a name needs memory_gb and bandwidth_tb_s (bf16_tflops helps).",
            where=Where(key="hardware"),
        )
    peak = {} if spec.bf16_tflops is None else {"bfloat16": teraflops(spec.bf16_tflops)}
    return Accelerator(
        name=f"device with {spec.memory_gb:g} GB at {spec.bandwidth_tb_s:g} TB/s",
        vendor="unknown",
        kind=_kind_of(spec.bandwidth_tb_s),
        memory_bytes=gigabytes(spec.memory_gb),
        bandwidth_bytes_per_s=terabytes_per_s(spec.bandwidth_tb_s),
        peak_flops_per_s=peak,
        source=Source(reference="the profile", grade=Grade.REPORTED),
    )


def _kind_of(bandwidth_tb_s: float) -> DeviceKind:
    """What a device of this bandwidth usually is: host memory ends near .1, GDDR near 1.8 TB/s."""
    for least, kind in _KIND_BY_BANDWIDTH:
        if bandwidth_tb_s >= least:
            return kind
    return DeviceKind.CPU


def _hardware(
    profile: Profile, target: ModelShape, dtype: str, assumptions: list[Assumption]
) -> Hardware:
    spec = profile.hardware
    if spec is None:
        device = find_accelerator(DEFAULT_DEVICE)
        count = _default_count(target, dtype, device)
        assumptions.append(
            _default("hardware", f"{count}× {device.name}", "no device in the profile")
        )
    else:
        device, count = _accelerator(spec), spec.count
        if not {"hardware.gpu", "hardware.memory_gb"} & profile.given:
            assumptions.append(_default("hardware", device.name, "no device in the profile"))
    layout = profile.parallel
    tensor = layout.tensor or max(count // (layout.pipeline * layout.data), 1)
    return Hardware(
        accelerator=device,
        count=count,
        parallel=Parallel(
            tensor=tensor, pipeline=layout.pipeline, data=layout.data, expert=layout.expert
        ),
    )


def _default_count(target: ModelShape, dtype: str, device: Accelerator) -> int:
    weights = target.total_params * weight_format(dtype).bytes_per_weight
    for count in DEFAULT_COUNTS:
        if weights <= DEFAULT_WEIGHT_SHARE * count * device.memory_bytes:
            return count
    return DEFAULT_COUNTS[-1]


def _drafters(profile: Profile, target: ModelShape) -> tuple[Drafter, ...]:
    own = profile.drafter
    known = known_drafters(target)
    wanted = profile.candidates.drafters
    if wanted is not None:
        known = tuple(drafter for drafter in known if drafter.path_or_id in wanted)
        missing = set(wanted) - {drafter.path_or_id for drafter in known}
        if missing:
            raise MissingDataError(
                f"{', '.join(sorted(missing))} is not a known drafter of {target.model_id}: "
                "describe it under drafter (path_or_id, method, params_b).",
                where=Where(file=profile.path, key="candidates.drafters"),
            )
    if own is None:
        return known
    # The user's drafter stands for its method; published ones of the same kind do not compete.
    others = tuple(drafter for drafter in known if drafter.method is not own.method)
    return (_own_drafter(own, target, known), *others)


def known_drafters(target: ModelShape) -> tuple[Drafter, ...]:
    """Return the published drafters of a target and the layers that it was trained with."""
    known = drafters_for(target.model_id)
    if target.mtp_layers and not any(drafter.method is Method.MTP for drafter in known):
        return (*known, _built_in_mtp(target))
    return known


def _built_in_mtp(target: ModelShape) -> Drafter:
    """The layers that come with a checkpoint the catalog does not list."""
    return Drafter(
        path_or_id=None,
        method=Method.MTP,
        target_id=target.model_id,
        n_layers=1,
        trained_depth=target.mtp_layers,
        source=target.source,
    )


def _own_drafter(spec: DrafterSpec, target: ModelShape, known: tuple[Drafter, ...]) -> Drafter:
    """The user's drafter, completed from the catalog where it is a known one."""
    listed = next((d for d in known if d.path_or_id == spec.path_or_id), None)
    shape = None
    if spec.method is Method.DRAFT_MODEL:
        try:
            shape = find_model(spec.path_or_id)
        except MissingDataError:
            shape = None
    params = None if spec.params_b is None else spec.params_b * 1e9
    if params is None:
        params = shape.total_params if shape else (listed.params if listed else None)
    if params is None and spec.method is Method.DRAFT_MODEL:
        raise MissingDataError(
            f"the size of {spec.path_or_id} is not known: give drafter.params_b.",
            where=Where(key="drafter.params_b"),
        )
    return Drafter(
        path_or_id=spec.path_or_id,
        method=spec.method,
        target_id=target.model_id,
        params=params,
        n_layers=listed.n_layers if listed else None,
        vocab_size=listed.vocab_size if listed else None,
        dtype=spec.dtype,
        tensor_parallel=spec.tensor_parallel,
        max_context=spec.max_context or (listed.max_context if listed else None),
        trained_depth=listed.trained_depth if listed else None,
        shape=shape,
        source=Source(reference="the profile", grade=Grade.REPORTED),
    )


#: What a workload is taken to be where the profile is silent: key, how to print it, why.
_WORKLOAD_DEFAULTS = (
    ("workload.task", "task", "the most common use"),
    ("workload.temperature", "temperature", "the default of OpenAI-compatible servers"),
    ("workload.batch", "batch", "one sequence at a time"),
    ("workload.prompt_tokens", "prompt_tokens", "assumed"),
    ("workload.output_tokens", "output_tokens", "assumed"),
)


def _workload_defaults(profile: Profile) -> list[Assumption]:
    found = []
    for key, attribute, why in _WORKLOAD_DEFAULTS:
        sized_otherwise = attribute == "batch" and profile.workload.batch is None
        if key in profile.given or sized_otherwise:
            continue
        found.append(_default(attribute, _plain(getattr(profile.workload, attribute)), why))
    return found


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(
            f"{item:g}" if isinstance(item, float) else str(item) for item, _share in value
        )
    return str(value)


def _default(what: str, value: str, why: str) -> Assumption:
    return Assumption(what=what, value=value, kind=AssumptionKind.DEFAULT, source=why)
