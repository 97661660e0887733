"""What a browser and a screen reader would make of a page, as far as that can be told without one."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "input"}


@dataclass
class Element:
    """A start tag with its attributes and all text below it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""


class Reading(HTMLParser):
    """Collects elements; `open_tags` is empty when every element was closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.open_tags: list[Element] = []
        self.misnested: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag not in _VOID:
            self.open_tags.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags or self.open_tags[-1].tag != tag:
            self.misnested.append(tag)
        else:
            self.open_tags.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open_tags:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        """Return all elements of a tag."""
        return [element for element in self.elements if element.tag == tag]


@dataclass
class Reads:
    """Where a page would load or lead to."""

    loads: list[str] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)


def reads_of(page: Reading) -> Reads:
    """Return every address in the page."""
    found = Reads()
    for element in page.elements:
        for name, value in element.attributes.items():
            if name == "href" and element.tag == "a":
                found.leads.append(value or "")
            elif name in ("src", "href", "srcset", "data", "action", "poster"):
                found.loads.append(value or "")
    return found
