"""What somebody looks at: a page, its parameters, and all else on which its HTML depends. Two who look at the same
share it, so nothing in it is of one of them: no name, no token, no number of a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from workkit.contract.inspector import Pulse
from workkit.errors import ServerUnreachable, WorkkitError
from workkit.web.address import url_path
from workkit.web.frame import Frame, Looking
from workkit.web.live.pieces import Pieces, pieces_of
from workkit.web.render import render, static_version
from workkit.web.response import refusal_of
from workkit.web.users import Role, Who

Key = tuple[object, ...]
OWN: Final = ("page", "version", "did")
"""Parameters that are the stream's, or of one viewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One page as one kind of viewer sees it."""

    looking: Looking
    frame: Frame

    @property
    def key(self) -> Key:
        """What two viewers must have in common to share it."""
        frame, look = self.frame, self.looking
        asked = (tuple(sorted(look.names.items())), tuple(sorted(look.params.items())))
        return look.page.name, *asked, frame.role, frame.zone_name, frame.theme, frame.root

    def draw(self, pulse: Pulse) -> Pieces:
        """Look at the page and write its pieces; what it refuses is a page too. It blocks. Raises ServerUnreachable."""
        look = self.looking
        try:
            asked, view = look.at(pulse)
        except ServerUnreachable:
            raise
        except WorkkitError as error:
            frame = replace(self.frame, title=look.page.title, page=look.page.name)
            return pieces_of(render("error.html", {"frame": frame, "refused": refusal_of(error)}))
        look.keep(asked, view, self.frame)
        return pieces_of(render(look.page.template, {"frame": look.framed(self.frame, asked), "view": view}))


def shared(frame: Frame, role: Role, *, path: str, params: Mapping[str, str]) -> Frame:
    """Make the frame of a sight from that of one viewer."""
    anybody = Who(name="", roles=role, via="local", session="")
    query = f"?{urlencode(params)}" if params else ""
    return replace(
        frame, who=anybody, role=role, token="", feed="", is_shared=True, here=f"{frame.base}{url_path(path)}{query}"
    )  # fmt: skip


def live_address(frame: Frame, path: str, params: Mapping[str, str]) -> str:
    """Name the stream of a page: that of its schedule, with the page, its parameters, and our version."""
    known = {name: value for name, value in params.items() if name not in OWN}
    return f"{frame.base}live?{urlencode({'page': path, 'version': static_version(), **known})}"
