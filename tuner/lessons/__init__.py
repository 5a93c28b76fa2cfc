"""Runnable lessons: each computes its table and curve with the sampler and explains them."""
