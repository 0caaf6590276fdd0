"""`python -m trnbench` is the `trnbench` command."""

from trnbench.program import main

if __name__ == "__main__":
    main()
