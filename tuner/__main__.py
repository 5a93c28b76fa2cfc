"""``python -m tuner`` is the same program as ``specdec-tune``."""

from tuner.cli.app import main

if __name__ == "__main__":
    main()
