"""`python -m controlplane`: the command line, for processes that Polyplane starts itself."""

from controlplane.commandline import main

main()
