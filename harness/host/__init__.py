"""The child process: runs one scenario at a time on a target and shows every step. Standard library and torch."""
