"""The `harness` command. Groups are imported only when called, so that list work never pays for the rest."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn

import click

from harness.errors import ExitCode, HarnessError, LaunchError

__all__ = ["main"]

# What `git bisect run` understands: 125 skips a commit, 128 and above stop the search.
BISECT_CODES = {2: 128, 3: 125, 4: 125}

# command -> (module, attribute): the one table of what exists
_COMMANDS: dict[str, str] = {
    "bisect": "harness.cli.bisect:bisect",
    "bugs": "harness.cli.repro:bugs",
    "devices": "harness.cli.devices:devices",
    "explore": "harness.cli.explore:explore",
    "lists": "harness.cli.lists:lists",
    "matrix": "harness.cli.matrix:matrix",
    "minimise": "harness.cli.minimise:minimise",
    "replay": "harness.cli.replay:replay",
    "report": "harness.cli.report:report",
    "repro": "harness.cli.repro:repro",
    "results": "harness.cli.results:results",
    "targets": "harness.cli.targets:targets",
    "waives": "harness.cli.waives:waives",
}


class _LazyGroup(click.Group):
    """A click group that imports a command's module at its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        target = _COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="specdec-harness")
def _cli() -> None:
    """Regression tests and reproducers for the DFlash and DSpark workers."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Every error a person can cause ends in one line and its documented code."""
    words = sys.argv[1:] if arguments is None else arguments
    codes = BISECT_CODES if words[:1] == ["repro"] and "--bisect" in words else {}
    try:
        # Without standalone mode click hands an exit code back instead of leaving by itself.
        code = _cli.main(args=arguments, prog_name="harness", standalone_mode=False)
        sys.stdout.flush()
    except click.Abort:
        _leave("interrupted", 130)
    except click.ClickException as error:
        _leave(error.format_message(), ExitCode.USAGE, codes)
    except HarnessError as error:
        if "--verbose" in words and isinstance(error, LaunchError):
            click.echo(error.log.rstrip(), err=True)
        _leave(str(error), error.exit_code, codes)
    except BrokenPipeError:
        # The reader (`head`, `less`) has left: nobody to tell. Closing stdout again must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if os.environ.get("HARNESS_TRACEBACK"):
            raise
        detail = f"{type(error).__name__}: {error}".splitlines()[0]
        _leave(f"internal error: {detail} (set HARNESS_TRACEBACK=1 to see where)", ExitCode.INTERNAL, codes)
    sys.exit(code if isinstance(code, int) else 0)


def _leave(message: str, code: int, codes: Mapping[int, int] = MappingProxyType({})) -> NoReturn:
    click.echo(f"harness: {message}", err=True)
    sys.exit(codes.get(int(code), int(code)))
