"""The exact sampler: draft, verify, reject, resample, and the proofs that the law is kept."""
