"""A request that acts: who may, what it asks for, carried out once, recorded, and answered."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workkit.contract.changes import Author
from workkit.errors import Invalid, WorkkitError
from workkit.web.acts.act import Doing, Order, Result
from workkit.web.acts.carry_out import carry_out_all, read_order
from workkit.web.acts.deeds import Deeds
from workkit.web.acts.registry import ACTS
from workkit.web.acts.trail import tell
from workkit.web.acts.verbs import Verbs
from workkit.web.address import with_parameter
from workkit.web.answering.answer import Refused, html, json_answer, result_record, result_status
from workkit.web.answering.asking import Asking
from workkit.web.answering.entrance import Entrance, own_path
from workkit.web.background.works import Works
from workkit.web.door.role import Role, Who, may
from workkit.web.frame import Frame
from workkit.web.served import Served

UNDO: Final = "undo"
WHOLE: Final = "job or schedule"  # what is refused for the whole schedule is told where it was typed, as for a job
VERBS: Final = (*(verb for verb, act in ACTS.items() if act.stage == "form"), UNDO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Answers acts."""

    asking: Asking
    deeds: Deeds
    works: Works
    entrance: Entrance

    async def answer(self, request: Request, served: Served, frame: Frame, who: Who, *, is_body: bool) -> Response:
        """Carry out the act of a request, once for its number. Raises Refused, WorkkitError."""
        verb, role = request.path_params["verb"], who.role(served.name)
        if verb not in VERBS or served.verbs is None or role is None:
            raise Refused(404, f'There is no act "{verb}".', fields={"accepted": ", ".join(VERBS)})
        _check_role(role, verb)
        fields = await self.entrance.form(request, who=who, is_body=is_body)
        order = None if verb == UNDO else read_order(verb, fields)
        if isinstance(order, str):
            raise Refused(400, order)
        orders = self._undoing(who, fields) if order is None else (order,)
        for one in orders:
            _check_role(role, one.verb)
        number = str(fields.get("number", [""])[-1])
        if number and not self.deeds.is_new(who.session, number):
            return _did(request, frame, fields, number, self.deeds.result(who.session, number))
        number = number or secrets.token_hex(8)
        author = _author(request, who, role)
        told = partial(tell, replace(author, by=who.name), verb, served.name, orders)
        try:
            result = await self.asking.of(
                served, partial(self._carried_out, served, served.verbs, orders, role, frame.zone, author)
            )
        except WorkkitError as error:
            told(error)
            if request.state.is_json or not isinstance(error, Invalid) or ACTS[orders[0].verb].needs != WHOLE:
                self.deeds.keep(who.session, number, None)
                raise
            result = Result(done=(), lines=(), refused=((served.name, error),), asked=orders[0])
            self.deeds.keep(who.session, number, result)
            return _did(request, frame, fields, number, result)
        shown, result = result.shown, replace(result, shown=None)
        if result.refused and not result.done:
            result = replace(result, asked=orders[0])
        self.deeds.keep(who.session, number, result)
        if verb == UNDO and not result.refused:
            self.deeds.undone(who.session, str(fields.get("of", [""])[-1]))
        told(result)
        if shown is not None and request.state.is_json:
            return json_answer(request, result_record(result, number) | {"shown": shown})
        if shown is not None:
            back = own_path(str(fields.get("back", [""])[-1]), root=frame.root)
            values = {"frame": replace(frame, title="Shown"), "line": result.line, "shown": shown, "back": back}
            return html(request, "shown.html", values)
        return _did(request, frame, fields, number, result)

    def _carried_out(
        self, served: Served, verbs: Verbs, orders: Sequence[Order], role: Role, zone: tzinfo, author: Author
    ) -> Result:
        doing = Doing(
            schedule=served.name, verbs=verbs, inspector=served.inspector(), checkup=served.checkup, role=role,
            now=datetime.now(UTC), zone=zone, graves=served.dead(self.entrance.settings.veil), works=self.works,
            veil=self.entrance.settings.veil,
        )  # fmt: skip
        with verbs.acting(author):
            return carry_out_all(doing, orders)

    def _undoing(self, who: Who, fields: Mapping[str, Any]) -> tuple[Order, ...]:
        """Find the acts that undo one of this session."""
        result = self.deeds.result(who.session, str(fields.get("of", [""])[-1]))
        if result is None or not result.undo:
            raise Refused(409, "This can no longer be undone.")
        return result.undo


def _check_role(role: Role, verb: str) -> None:
    needed = ACTS[verb].role if verb in ACTS else "operator"
    if not may(role, needed):
        raise Refused(403, f"Your role is {role}; this needs {needed}.")


def _did(request: Request, frame: Frame, fields: Mapping[str, Any], number: str, result: Result | None) -> Response:
    if request.state.is_json:
        return json_answer(request, result_record(result, number), status=result_status(result))
    back = own_path(str(fields.get("back", [""])[-1]), root=frame.root)
    return RedirectResponse(with_parameter(back, "did", number), 303)


def _author(request: Request, who: Who, role: Role) -> Author:
    """Say who acts. Without a name it is who runs this program."""
    name = who.name if who.via in ("login", "proxy", "token") else ""
    return Author(by=name, via="web", role=role, address=request.client.host if request.client else None)
