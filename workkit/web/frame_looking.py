"""One look at a page: the pulse, masked, and what the page makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final

from workkit.contract.inspector import Pulse
from workkit.web.cache import Served
from workkit.web.frame import Frame
from workkit.web.mask_veil import Veil
from workkit.web.page import Asked, Page, View
from workkit.web.pages.registry import PAGES
from workkit.web.works import Works

OLD_S: Final = 30.0  # what is older says so: the Timeline, the page that changes least, is written again so often


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """A page of a schedule with its names and parameters, and what of it may be seen."""

    served: Served
    page: Page
    names: Mapping[str, str]
    params: Mapping[str, str]
    veil: Veil
    zone: tzinfo
    works: Works

    def at(self, pulse: Pulse | None = None) -> tuple[Asked, View]:
        """Look, by a pulse that is known, or by a new one. It blocks. Raises WorkkitError."""
        pulse = pulse or self.served.inspector().pulse()
        self.served.deaths.note(pulse)
        pulse = self.veil.pulse(pulse)
        asked = Asked(
            served=self.served, pulse=pulse, veil=self.veil, zone=self.zone, names=self.names, params=self.params,
            pages=PAGES, works=self.works.of(self.served.name),
        )  # fmt: skip
        self.served.begin_look()
        view = self.page.look(asked)
        return replace(asked, age_s=self.served.oldest_s), view

    def keep(self, asked: Asked, view: View, frame: Frame) -> None:
        """Keep what was seen, to be shown while the server is away. What somebody has typed is not shown to others."""
        if self.page.takes_form or self.page.fragment:
            return
        self.served.keep(f"{self.page.name} {frame.role}", (asked.now, view))

    def framed(self, frame: Frame, asked: Asked) -> Frame:
        """Add to the frame what is known once the page was looked at."""
        checked = self.served.checkup.known()
        return replace(
            frame, title=self.page.title, page=self.page.within or self.page.name, now=asked.now,
            counts=asked.pulse.counts, findings=None if checked is None else len(checked.findings), works=asked.works,
            age_ms=asked.age_s * 1000 if asked.age_s > OLD_S else None, counted=self.served.rail.glance(),
        )  # fmt: skip
