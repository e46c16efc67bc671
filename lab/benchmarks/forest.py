"""Forests against those of every other library that is installed.

    python benchmarks/forest.py --output docs/benchmarks/forest.md

It is what ``hardwood bench`` runs; `lab.speed` does the work. ``--help`` lists the
arguments.
"""

from lab.speed.command import main

if __name__ == "__main__":
    main(program="python benchmarks/forest.py")
