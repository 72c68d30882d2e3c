#!/usr/bin/env python3
"""Polyplane's commands, in a clone. `manage.py help` lists them."""

from controlplane.commandline import main

if __name__ == "__main__":
    main()
