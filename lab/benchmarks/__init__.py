"""Comparisons with other libraries, one file each.

Every module has a function `bench`, which ``python -m lab bench NAME`` runs. Timings are interleaved
and shown as ratios within one run, so that a slow spell of the machine affects all models alike.
"""
