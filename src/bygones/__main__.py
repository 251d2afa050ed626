"""`python -m bygones` is the command line."""

from bygones.cli.program import main

main()
