"""fulmar_tools.py - the commands of the wheel: oshrun, oshcc, oshc++ and oshinfo of the installation in the package, which it does not
import."""
import os
import sys


def main():
    """Become the program of the installation with this command's name."""
    name = os.path.basename(sys.argv[0])
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fulmar", "prefix", "bin", name)
    os.execv(program, [program, *sys.argv[1:]])
