"""`python -m thinkeval`: the command line, where the program is not on the path."""

from thinkeval.service.cli import run

if __name__ == "__main__":
    run()
