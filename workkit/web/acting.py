"""Answers the request of an act. Each act is carried out once for its number, and logged."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workkit.contract.admin import Author
from workkit.contract.record import compact
from workkit.errors import Invalid, WorkkitError
from workkit.verbs.opening import acting, author_of
from workkit.web.actions.action import UNDO, Doing, Order, Result, Results
from workkit.web.actions.perform import ACTS, act_of, carry_out_all, read_order
from workkit.web.auth import Role, Who, may
from workkit.web.cache import Served
from workkit.web.page import Frame
from workkit.web.request import Entrance, own_path
from workkit.web.response import Asking, Refused, html, json_answer, result_record, result_status
from workkit.web.words import job_path, url_path, with_parameter
from workkit.web.works import Works

LOGGER: Final = logging.getLogger("workkit.web")
WHOLE: Final = "job or schedule"  # both kinds of act show a refusal in the form where the user typed
VERBS: Final = (*ACTS, UNDO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Answers acts."""

    asking: Asking
    results: Results
    works: Works
    entrance: Entrance

    async def answer(self, request: Request, served: Served, frame: Frame, who: Who, *, is_body: bool) -> Response:
        """Carry out the act of a request, once for its number. Raises Refused, WorkkitError."""
        verb, role = request.path_params["verb"], who.role(served.name)
        if verb not in VERBS or role is None:
            raise Refused(404, f'There is no act "{verb}".', fields={"accepted": ", ".join(VERBS)})
        _check_role(role, ACTS[verb].role if verb in ACTS else "operator")
        fields = await self.entrance.form(request, who=who, is_body=is_body)
        order = None if verb == UNDO else read_order(verb, fields)
        if isinstance(order, str):
            raise Refused(400, order)
        orders = self._undoing(who, fields) if order is None else (order,)
        for one in orders:
            _check_role(role, act_of(one).role)
        number = str(fields.get("number", [""])[-1])
        if number and not self.results.is_new(who.session, number):
            return _did(request, frame, fields, number, self.results.result(who.session, number))
        if number and order is not None:
            orders = (replace(order, form=f"{who.name} {number}"),)
        number = number or secrets.token_hex(8)
        author = _author(request, who, role)
        log = partial(_log, replace(author, by=who.name), verb, served.name, orders)
        try:
            result = await self.asking.of(served, partial(self._carried_out, served, orders, role, frame.zone, author))
        except WorkkitError as error:
            log(error)
            if request.state.is_json or not isinstance(error, Invalid) or act_of(orders[0]).needs != WHOLE:
                self.results.keep(who.session, number, None)
                raise
            result = Result(done=(), lines=(), refused=((served.name, error),), asked=orders[0])
            self.results.keep(who.session, number, result)
            return _did(request, frame, fields, number, result)
        shown, result = result.shown, replace(result, shown=None)
        if result.refused and not result.done:
            result = replace(result, asked=orders[0])
        self.results.keep(who.session, number, result)
        if verb == UNDO and not result.refused:
            self.results.undone(who.session, str(fields.get("of", [""])[-1]))
        log(result)
        if shown is not None and request.state.is_json:
            return json_answer(request, result_record(result, number) | {"shown": shown})
        if shown is not None:
            back = own_path(str(fields.get("back", [""])[-1]), root=frame.root)
            values = {"frame": replace(frame, title="Shown"), "line": result.line, "shown": shown, "back": back}
            return html(request, "shown.html", values)
        return _did(request, frame, fields, number, result)

    def _carried_out(self, served: Served, orders: Sequence[Order], role: Role, zone: tzinfo, author: Author) -> Result:
        served.learn()
        doing = Doing(
            served=served, role=role, now=datetime.now(UTC), zone=zone, works=self.works,
            veil=replace(self.entrance.settings.veil, parameters=served.signatures.names),
        )  # fmt: skip
        with acting(author if author.by else replace(author, by=author_of(None).by)):
            return carry_out_all(doing, orders)

    def _undoing(self, who: Who, fields: Mapping[str, Any]) -> tuple[Order, ...]:
        """Return the acts that undo one of this session."""
        result = self.results.result(who.session, str(fields.get("of", [""])[-1]))
        if result is None or not result.undo:
            raise Refused(409, "This can no longer be undone.")
        return result.undo


def _check_role(role: Role, needed: Role) -> None:
    if not may(role, needed):
        raise Refused(403, f"Your role is {role}; this needs {needed}.")


def _did(request: Request, frame: Frame, fields: Mapping[str, Any], number: str, result: Result | None) -> Response:
    if request.state.is_json:
        return json_answer(request, result_record(result, number), status=result_status(result))
    back = own_path(str(fields.get("back", [""])[-1]), root=frame.root)
    if result is not None and result.leads_to:
        back = frame.base + url_path(job_path(result.leads_to))
    return RedirectResponse(with_parameter(back, "did", number), 303)


def _author(request: Request, who: Who, role: Role) -> Author:
    """Return the author of an act. Without a name it is the user who runs this program."""
    name = who.name if who.via in ("login", "proxy", "token") else ""
    return Author(by=name, via="web", role=role, address=request.client.host if request.client else None)


def _log(author: Author, verb: str, schedule: str, orders: Sequence[Order], outcome: Result | WorkkitError) -> None:
    """Log an act that was carried out, or refused as a whole: a JSON object, without masked texts."""
    record: dict[str, Any] = {
        "who": author.by,
        "role": author.role,
        "address": author.address,
        "schedule": schedule,
        "verb": verb,
        "which": [which for order in orders for which in order.which],
    }
    if isinstance(outcome, Result):
        record |= {"done": list(outcome.done), "refused": [which for which, _ in outcome.refused]}
        is_done = not outcome.refused
    else:
        record |= {"done": [], "error": type(outcome).__name__}
        is_done = False
    LOGGER.log(logging.INFO if is_done else logging.WARNING, "%s", compact(record))
