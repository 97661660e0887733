"""A small process that outlives pytest: it runs pytest as its child and goes on where that died.

With `--results` the command line is run by a child of the process that was started. When the child dies, hangs
or breaks, the test that it was running is recorded, and a new child goes on with the rest.
"""

from harness.pytest_plugin.supervisor.start import supervise

__all__ = ["supervise"]
