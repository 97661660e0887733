"""Results as one page: self-contained, without a network, for eyes, keyboards and screen readers.

Every text passes jinja2's escaping and loses its control characters; a link is one only where it leads to http(s);
the page's policy runs its own script and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from harness.report.page_view import overview_of, section_view
from harness.report.section import Section
from harness.report.text import safe

if TYPE_CHECKING:
    import jinja2

__all__ = ["render_page", "render_template"]


def render_page(sections: Sequence[Section]) -> str:
    """Return the page of one or more bugs and targets."""
    views = [section_view(section, f"s{number}") for number, section in enumerate(sections)]
    bugs = ", ".join(dict.fromkeys(section.bug for section in sections))
    title = bugs if len(sections) == 1 else f"{len(sections)} reproducers"
    return render_template("page.html", title=title, sections=views, overview=overview_of(views))


def render_template(name: str, **values: Any) -> str:
    """Return a template's text, with the style and the script that every page has."""
    style, script = _asset("style.css"), _asset("script.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{_digest(style)}'; "
        f"script-src 'sha256-{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    environment = _environment()
    from markupsafe import Markup

    own: Mapping[str, Any] = {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704  # ours
    return environment.get_template(name).render(**own, **values)


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # only a page pays for it

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _harmless(value: object) -> object:
    # Markup is a str of ours, already escaped; making a plain str of it would escape it again.
    return safe(value) if type(value) is str else value


@cache
def _asset(name: str) -> str:
    return resources.files("harness.report").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
