"""The laboratory: the paper's experiments and the benchmarks. It is not installed with hardwood.

``python -m lab`` at the root of a checkout runs everything. `lab.store` keeps results, `lab.runner`
performs runs, `lab.tables` lays out tables; `lab.paper` and `lab.benchmarks` say what to run.
"""
