"""``python -m hardwood.benchmark``: what the runner starts its workers with."""

from hardwood.benchmark.command import main

if __name__ == "__main__":
    main()
