"""specdec-tune: what to run for speculative decoding, computed from a workload and from evidence."""

__version__ = "0.1.0"
