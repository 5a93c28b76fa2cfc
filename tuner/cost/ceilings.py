"""What a device can do at most: measured ceilings where known, stated fallbacks elsewhere."""

from __future__ import annotations

from tuner.frozen import dataclass
from tuner.records.hardware import Accelerator, DeviceKind, Hardware

#: measured best matmul ÷ datasheet peak, median of the 12 devices of data/gpus.csv for which both
#: are known (stas00/ml-engineering, MAMF tables: MI300X 0.51 … A100-SXM 0.87)
MEASURED_SHARE = 0.78

#: bfloat16 FLOP for each byte of memory bandwidth where no peak is known, by kind. Assumed from
#: public figures of typical members, near the measured share of the catalog's medians (data-center
#: GPUs 208 × 0.78, consumer GPUs 129 × 0.78, integrated 164 × 0.78, Apple 34 × 0.78; TPU 241 whole;
#: the one NPU has 453); a two-channel desktop CPU with AVX2 gives about 10. It matters for devices
#: given by numbers without bf16_tflops: prefill, large batches, and wide verification.
FALLBACK_FLOP_PER_BYTE: dict[DeviceKind, float] = {
    DeviceKind.DATACENTER_GPU: 150.0,
    DeviceKind.CONSUMER_GPU: 80.0,
    DeviceKind.APPLE: 30.0,
    DeviceKind.INTEGRATED: 150.0,
    DeviceKind.TPU: 240.0,
    DeviceKind.NPU: 150.0,
    DeviceKind.CPU: 10.0,
}

#: peak of a narrower format in units of bfloat16 where the device has no entry of its own: no gain
#: (assumed: kernels widen to bfloat16 where the device lacks the format; it matters as above)
_SPEED_BY_FORMAT = {"bfloat16": 1.0, "fp8": 1.0, "int8": 1.0, "fp4": 1.0}

#: bytes per second between devices where none is stated: PCIe 4.0 ×16, one direction, about 80 %
#: of the 31.5 GB/s of 16 lanes at 16 GT/s (assumed). It matters for tensor parallelism over devices
#: without a link in the catalog.
PCIE4_BYTES_PER_S = 25e9
#: … and on boards that come with links of their own, both directions: TPU v5e's ICI, the slowest
#: (its documentation), Ascend 910B's HCCS and MI300X's Infinity Fabric (392 and 896 GB/s in public
#: figures, assumed). Data-center GPUs with less bandwidth than the second table are single cards.
BOARD_LINKS: dict[DeviceKind, float] = {
    DeviceKind.TPU: 400e9,
    DeviceKind.NPU: 390e9,
    DeviceKind.DATACENTER_GPU: 800e9,
}
_BOARD_BANDWIDTH: dict[DeviceKind, float] = {DeviceKind.DATACENTER_GPU: 2.5e12}
#: bytes per second that host memory gives for experts kept there (assumed: two channels of DDR5)
HOST_BANDWIDTH_BYTES_PER_S = 60e9
#: time of one small all-reduce on top of its bytes: NVLink class, and over PCIe (assumed)
FAST_LINK_LATENCY_S = 8e-6
SLOW_LINK_LATENCY_S = 25e-6
#: links from here on have the latency of NVLink (both directions added; the slowest data-center
#: bridge of data/gpus.csv, A30, has 200 GB/s, the consumer bridge of RTX 3090 has 112)
_FAST_LINK_BYTES_PER_S = 200e9
#: devices that one switch joins (HGX boards; racks of GB200 and GB300), and the network beyond it:
#: a 400 Gb/s adapter for each device, both directions
BOARD_DEVICES, RACK_DEVICES = 8, 72
NETWORK_BYTES_PER_S = 100e9


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Rates of one device and its links, and its memory, SI units."""

    memory_bytes: float
    bandwidth_bytes_per_s: float
    matmul_flops_per_s: float
    bf16_flops_per_s: float
    link_bytes_per_s: float
    link_latency_s: float
    host_bandwidth_bytes_per_s: float = HOST_BANDWIDTH_BYTES_PER_S


def device_ceilings(hardware: Hardware, compute: str) -> Ceilings:
    """Return the ceilings of ``hardware`` for arithmetic in ``compute``."""
    accelerator = hardware.accelerator
    bf16 = _bf16_ceiling(accelerator)
    link = accelerator.interconnect_bytes_per_s or _usual_link(accelerator)
    joined = RACK_DEVICES if accelerator.name.startswith("GB") else BOARD_DEVICES
    if hardware.parallel.tensor > joined:
        link = min(link, NETWORK_BYTES_PER_S)
    is_fast = link >= _FAST_LINK_BYTES_PER_S
    return Ceilings(
        memory_bytes=accelerator.memory_bytes,
        bandwidth_bytes_per_s=accelerator.bandwidth_bytes_per_s,
        matmul_flops_per_s=bf16 * _format_gain(accelerator, compute),
        bf16_flops_per_s=bf16,
        link_bytes_per_s=link / 2.0,  # datasheets add both directions
        link_latency_s=FAST_LINK_LATENCY_S if is_fast else SLOW_LINK_LATENCY_S,
    )


def _usual_link(accelerator: Accelerator) -> float:
    kind = accelerator.kind
    on_board = accelerator.bandwidth_bytes_per_s >= _BOARD_BANDWIDTH.get(kind, 0.0)
    return BOARD_LINKS[kind] if kind in BOARD_LINKS and on_board else PCIE4_BYTES_PER_S


def _bf16_ceiling(accelerator: Accelerator) -> float:
    measured = accelerator.measured_bf16_flops_per_s
    if measured is not None:
        return measured
    peak = accelerator.peak_flops_per_s.get("bfloat16")
    if peak is not None:
        return peak * MEASURED_SHARE
    return accelerator.bandwidth_bytes_per_s * FALLBACK_FLOP_PER_BYTE[accelerator.kind]


def _format_gain(accelerator: Accelerator, compute: str) -> float:
    """Speed of ``compute`` against bfloat16; 1 where the device computes it in bfloat16."""
    base = accelerator.peak_flops_per_s.get("bfloat16")
    peak = accelerator.peak_flops_per_s.get(compute)
    if base is None or peak is None:
        return _SPEED_BY_FORMAT.get(compute, 1.0)
    return max(1.0, peak / base)
