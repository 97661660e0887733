"""All benchmarks of this machine, one after the other."""

from __future__ import annotations

from benchmarks import main_job, startup

startup.main(9)
main_job.main(3)
