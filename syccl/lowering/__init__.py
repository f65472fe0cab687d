"""From schedule to program."""
