"""Benchmarks: what the product reaches on measurements, and how fast it is."""
