"""``python -m hardwood``: the command line."""

from hardwood.cli import main

if __name__ == "__main__":
    main()
