"""specdec-tune: what to run for speculative decoding, computed from workload and evidence."""

__version__ = "0.1.0"
