"""Devices and how a model is laid out over them."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from tuner.frozen import dataclass
from tuner.records.sources import Source


class DeviceKind(StrEnum):
    """Classes of device that behave alike when verifying several tokens."""

    DATACENTER_GPU = "datacenter_gpu"
    CONSUMER_GPU = "consumer_gpu"
    APPLE = "apple"
    INTEGRATED = "integrated"
    TPU = "tpu"
    NPU = "npu"
    CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One device. Missing figures are None, never zero."""

    name: str
    vendor: str
    kind: DeviceKind
    #: device memory in bytes (decimal GB × 10^9)
    memory_bytes: float
    #: peak memory bandwidth, bytes per second
    bandwidth_bytes_per_s: float
    #: dense peak by dtype ("bfloat16", "fp8", "int8", "fp4"), FLOP/s
    peak_flops_per_s: dict[str, float] = field(default_factory=dict, hash=False)
    #: best matmul actually measured in bfloat16, FLOP/s
    measured_bf16_flops_per_s: float | None = None
    #: device-to-device bandwidth, bytes per second
    interconnect_bytes_per_s: float | None = None
    architecture: str | None = None
    power_w: float | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """How the target is split."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What the target runs on."""

    accelerator: Accelerator
    count: int = 1
    parallel: Parallel = field(default_factory=Parallel)
    #: share of expert weights kept in host memory, 0…1
    cpu_expert_share: float = 0.0
