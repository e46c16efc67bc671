"""``python -m lab.speed``: what the runner starts its workers with."""

from lab.speed.command import main

if __name__ == "__main__":
    main()
