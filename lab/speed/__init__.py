"""Forests side by side with those of other libraries.

``hardwood bench`` and ``benchmarks/forest.py`` run it. Every measurement is a *job*: one peer, one
data set, one noise rate, one round. The *worker* does one job in a process of its own and prints
what it measured; the *runner* starts the workers in turns; the *report* takes medians and writes a
table and a figure.
"""
