"""`python -m trnbench` is the `trnbench` command."""

from trnbench.cli.main import main

if __name__ == "__main__":
    main()
