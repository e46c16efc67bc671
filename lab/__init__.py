"""The laboratory: the paper's experiments and the benchmarks."""
