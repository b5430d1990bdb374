"""Convert between the domain and the bytes: a new job to a payload, a stored payload to a job, an instant to ms, and
the functions that a listener knows to `S:functions`.

Only this file converts aware datetimes to epoch milliseconds and back. `workkit.wire` decides which bytes are written.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from typing import Any, Final

from workkit import wire
from workkit.brokers.native.entry import ITEM, item_id
from workkit.brokers.redis_server.control import pack, read_packed
from workkit.contract.admin import Arguments
from workkit.contract.listener import Claim
from workkit.contract.producer import LARGE_BYTES, NewJob, check_size
from workkit.errors import CorruptRecord, OtherDialect, TriggerError
from workkit.jobs.arguments import KnownFunction, Parameter
from workkit.jobs.consumers import LIMITS, LONGEST_DOC, LONGEST_NAME, LONGEST_TEXT, MOST, MOST_PARAMETERS
from workkit.jobs.job import Job
from workkit.jobs.meta import stored_meta
from workkit.jobs.options import OPTIONS
from workkit.jobs.run_options import UNSAID
from workkit.jobs.terms import PLAIN, USUAL, instant_of, of_member, stored_opts
from workkit.triggers import Trigger
from workkit.triggers.dialect import Dialect, from_cron, from_fields
from workkit.triggers.trigger import once

FIELDS = 7  # fields of a cron string in either dialect
_OF_RECURRENCE = frozenset(option.member for option in OPTIONS if option.recurring)  # members of `opts`
_OF_TIME = ("local", "zone", "interval", "from", "until")  # members of a payload that with `cron` are its time


@dataclass(slots=True, eq=False)
class Stored:
    """One new job as `add` sends it: its bytes, their id, and a second variant if an equal job may exist.

    With a unique key or debounce, the second variant is stored, and the first one only identifies the content.
    `variant`: the nonce that makes the second variant from the first, or the whole text of the second; "" if there is
    none. `over`: the job that it replaces.
    """

    id: str
    payload: bytes
    variant: str = ""
    over: Job | None = None

    @property
    def second(self) -> bytes:
        """The bytes of the second variant; empty if there is none."""
        whole = self.variant[:1] in ("", "{")
        return self.variant.encode("ascii") if whole else wire.with_nonce(self.payload, self.variant)

    @property
    def second_id(self) -> str:
        """The id of the second variant; empty if there is none."""
        return wire.job_id(self.second) if self.variant else ""


@dataclass(frozen=True, slots=True)
class Codec:
    """How one schedule writes and reads payloads: its name and its cron dialect."""

    schedule: str
    dialect: str = "published"

    def encode(self, job: NewJob, *, now_ms: int, nonce: str) -> Stored:
        """Write the bytes of a new job.

        Raises InvalidArguments if JSON cannot carry its arguments, or they are too large; CronError if the dialect
        cannot express its time.
        """
        terms, entrance, trigger = job.terms, job.entrance, job.trigger
        if (
            terms.batch is not None and job.identity is not None and trigger is None and self.dialect == "published"
            and entrance is USUAL and terms is of_member(terms.batch) and job.options is UNSAID
            and not (job.kwargs or job.meta)
        ):  # a row of a batch with nothing else: its number makes it a job of its own  # fmt: skip
            cron = cron_of_second(now_ms // 1000)
            data = wire.plain_payload(cron, job.fn, job.args, row=job.identity, batch=terms.batch)
            _check(data, job)
            return Stored(wire.job_id(data), data)
        fields: dict[str, Any] = {}
        is_fresh = False  # whether an equal job or a predecessor may exist: then it needs bytes of its own
        if entrance is not USUAL or terms is not PLAIN:
            is_fresh = entrance.many or terms.unique_key is not None or entrance.debounce_ms is not None
            if entrance.debounce_ms:
                # The server decides when it is due. To a foreign peer, a later second in its cron is a second run.
                trigger = None
        if trigger is None and self.dialect == "published":
            cron = cron_of_second(now_ms // 1000)
        else:
            fields = self._time(trigger, now_ms)
            cron = fields.pop("cron")
        if terms.batch is not None:
            fields["batch"] = f"{job.identity or '-'} {terms.batch}"
        if job.kwargs:
            fields["kwargs"] = job.kwargs
        if job.meta:
            fields["meta"] = job.meta
        if job.options is not UNSAID:
            fields["opts"] = dict(sorted({**job.options.fields(), **terms.stored()}.items()))
        elif terms is not PLAIN and (opts := terms.stored()):
            fields["opts"] = opts
        if job.identity is not None and (terms.batch is not None or terms.then_of is not None):
            nonce = job.identity.rpartition(".")[2]  # the payload names the batch already
        elif job.identity is not None:
            nonce = sha1(job.identity.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        elif not (job.queued or is_fresh or terms.batch):
            nonce = ""
        if fields:
            data, variant = wire._payloads(cron=cron, job=job.fn, args=job.args, extra=fields, nonce=nonce)
        else:
            data, variant = wire.plain_payload(cron, job.fn, job.args), nonce
        _check(data, job)
        stored = Stored(wire.job_id(data), data, variant)
        if job.identity is not None and not is_fresh:
            return Stored(stored.second_id, stored.second)
        return stored

    def at_another_time(self, payload: bytes, job: NewJob, *, over: Job, now_ms: int, nonce: str) -> Stored:
        """Write a stored payload again with the time of `job`, which replaces `over`. All other members stay, known or
        unknown, and so does the nonce. Raises CorruptRecord, CronError.
        """
        read = wire.read_payload(payload)
        kept = {name: value for name, value in read.extra.items() if name not in _OF_TIME}
        own, time = kept.pop("nonce", None), self._time(job.trigger, now_ms)
        cron = time.pop("cron")

        def written(**more: Any) -> bytes:
            return wire.payload(cron=cron, job=read.job, args=read.args, extra={**kept, **time, **more})

        if own is not None and job.terms.name is None and job.terms.unique_key is None:
            first, second = written(nonce=own), written(nonce=nonce)
        else:
            first, second = written(), written(nonce=nonce if own is None else own)
        return Stored(wire.job_id(first), first, second.decode("ascii"), over)

    def with_other_arguments(
        self, payload: bytes, args: Arguments, *, whole: bool, now_ms: int, nonce: str
    ) -> tuple[str, bytes]:
        """Write a stored payload again with other arguments, for one run now; return its id and its bytes. `whole`:
        they are all arguments; else the others stay. All members but those of its times stay, known or unknown. Raises
        CorruptRecord, InvalidArguments.
        """
        read = wire.read_payload(payload)
        kept = {name: value for name, value in read.extra.items() if name not in (*_OF_TIME, "kwargs", "opts")}
        opts = {name: value for name, value in read.extra.get("opts", {}).items() if name not in _OF_RECURRENCE}
        is_named = isinstance(args, Mapping)
        kwargs = args if is_named else None if whole else read.extra.get("kwargs")
        more = {name: value for name, value in (("kwargs", kwargs), ("opts", opts)) if value}
        given = () if is_named and whole else read.args if is_named else args
        return self._once(read.job, given, now_ms=now_ms, extra={**kept, **more, "nonce": nonce})

    def follower(
        self, fn: str, args: Sequence[Any], *, dead_id: str, meta: Mapping[str, str] | None, now_ms: int
    ) -> tuple[str, bytes]:
        """Write the job that follows a dead one, due now; return its id and its bytes."""
        extra = {"follows": dead_id, "nonce": secrets.token_hex(8), **({"meta": meta} if meta else {})}
        return self._once(fn, args, now_ms=now_ms, extra=extra)

    def _once(self, fn: str, args: Any, *, now_ms: int, extra: Mapping[str, Any]) -> tuple[str, bytes]:
        time = self._time(None, now_ms)
        cron = time.pop("cron")
        payload = wire.payload(cron=cron, job=fn, args=list(args), extra={**extra, **time})
        return wire.job_id(payload), payload

    def _time(self, trigger: Trigger | None, now_ms: int) -> dict[str, Any]:
        if self.dialect == "cuckoo":
            from workkit.triggers.cuckoo import clojure_order

            second = datetime.fromtimestamp(now_ms // 1000, UTC)
            return clojure_order(trigger or once(second)).fields()
        return trigger.fields() if trigger else {"cron": cron_of_second(now_ms // 1000)}

    def decode(self, id: str, payload: bytes, **known: Any) -> Job:
        """Read a stored payload as a job. `known`: fields that no payload has, such as the state and the due time.
        Raises CorruptRecord.
        """
        if (plain := wire.read_plain_payload(payload)) is not None:
            cron, fn, args, batch = plain
            try:
                trigger = from_cron(cron, dialect=self.dialect)
            except TriggerError:
                pass  # the whole payload tells more
            else:
                if batch is not None:
                    known["terms"] = of_member(batch)
                return Job(id=id, schedule=self.schedule, fn=fn, args=tuple(args), trigger=trigger, **known)
        read = wire.read_payload(payload)
        kwargs = read.extra.get("kwargs")
        if kwargs is not None and not isinstance(kwargs, dict):
            raise CorruptRecord(f"payload: kwargs is {kwargs!r}, not an object", given=payload)
        trigger = self._trigger(read)
        if "meta" in read.extra:
            known["meta"] = stored_meta(read.extra["meta"])
        if "opts" in read.extra:
            known["options"], known["terms"] = stored_opts(read.extra["opts"])
            known["name"] = known["terms"].name
        if (batch := wire.batch_of(read.extra.get("batch"))) is not None:
            known["terms"] = replace(known["terms"], batch=batch) if "opts" in read.extra else of_member(batch)
        return Job(id=id, schedule=self.schedule, fn=read.job, args=read.args, kwargs=kwargs, trigger=trigger, **known)

    def describe(self, claim: Claim) -> Job:
        """Read the whole job of a claim."""
        try:
            job = self.decode(claim.id, claim.receipt.payload or b"")
        except CorruptRecord:
            job = Job(id=claim.id, schedule=self.schedule, fn=claim.fn)
        return at_due(job, claim.due_ms, state="running", attempt=claim.attempt)

    def _trigger(self, read: wire.Payload) -> Trigger:
        fields: Mapping[str, Any] = {**read.extra, "cron": read.cron} if read.extra else {"cron": read.cron}
        try:
            return from_fields(fields, dialect=self.dialect)
        except TriggerError as error:
            other: Dialect = "cuckoo" if self.dialect == "published" else "published"
            if len(read.cron.split()) == FIELDS and _is_readable(fields, other):
                raise OtherDialect(
                    f'its cron "{read.cron}" has its fields in the order of the dialect {other}.', given=read.cron
                ) from error
            raise CorruptRecord(f"payload: {error}", given=read.cron) from error


def _check(data: bytes, job: NewJob) -> None:
    """Refuse a payload that is too large, and warn of a large one. Raises InvalidArguments."""
    size, most = len(data), job.most_bytes
    if size > LARGE_BYTES or (most is not None and size > most):
        check_size(data, fn=job.fn, most=most, given=job.args)


def _is_readable(fields: Mapping[str, Any], dialect: Dialect) -> bool:
    try:
        from_fields(fields, dialect=dialect)
    except TriggerError:
        return False
    return True


@lru_cache(maxsize=8)
def cron_of_second(second: int) -> str:
    """Write the cron string of one epoch second, with every field fixed. `add_now` stores it."""
    t = datetime.fromtimestamp(second, UTC)
    return f"{t.year} {t.month} {t.day} * {t.hour} {t.minute} {t.second}"


def is_follower(payload: bytes | None) -> bool:
    """Say whether a stored job follows a dead one. Nothing follows such a job, or it might follow itself for ever."""
    try:
        return "follows" in wire.read_payload(payload or b"").extra
    except CorruptRecord:
        return False


def is_once(job: Job) -> bool:
    """Say whether a job runs only once. Listeners search for no next run of such a job."""
    return job.trigger is not None and not job.trigger.recurs


def home_of(job: NewJob) -> str | None:
    """Find the text that chooses the shard of a job: its name, else its lasting key, its unique key, or its window."""
    return job.terms.name or job.terms.once_key or job.terms.unique_key or job.entrance.window_key


def at_due(job: Job, due_ms: int, **changes: Any) -> Job:
    """Return a job with its due time, and further fields."""
    return replace(job, due=instant_of(due_ms), **changes)


def id_text(item: bytes) -> str:
    """Read the id in a queue item as a text; empty if there is none."""
    if found := ITEM.fullmatch(item):
        return found[1].decode()
    return (item_id(item) or b"").decode("utf-8", "replace")


LONGEST: Final = 200_000  # bytes of the functions that one listener publishes
OF, IS = "of:", "is:"  # fields: of a listener -> a digest; of a digest -> the functions


def functions_text(functions: Sequence[KnownFunction]) -> tuple[str, bytes]:
    """Pack functions, as many as there is room for, and compute the digest of the packed text."""
    packed, room = [], LONGEST
    for known in functions:
        one = pack(_packed(known))
        room -= len(one)
        if room < 0:
            break
        packed.append(_packed(known))
    text = pack(packed)
    return sha1(text, usedforsecurity=False).hexdigest(), text


def read_text(packed: bytes | None) -> list[KnownFunction]:
    """Read the functions that a listener publishes. Other programs may have written it, so unreadable entries are left
    out.
    """
    if packed is None or len(packed) > 2 * LONGEST:
        return []
    found = read_packed(packed)
    return [known for one in found[:MOST] if (known := _read(one)) is not None] if isinstance(found, list) else []


def merged(told: Iterable[tuple[Sequence[KnownFunction], int]]) -> dict[str, KnownFunction]:
    """Merge the functions that several programs publish, each with its number of listeners. The first description of a
    name holds.
    """
    found: dict[str, KnownFunction] = {}
    for functions, listeners in told:
        for known in functions:
            before = found.get(known.fn)
            count = listeners + (before.listeners if before else 0)
            found[known.fn] = replace(before or known, listeners=count)
    return found


MOST_GENERATIONS = 9e15  # as in lua/parts/plans.lua


def is_plan_field(field: bytes, value: bytes) -> bool:
    """Say whether a field of `S:plans` can be read. The part `plans` of the scripts has the same rule."""
    if field.startswith(b"job:"):
        return b" " in value
    match read_packed(value):
        case [int() | float() as generation, bytes() | str(), bytes() | str(), int() | float(), _, list()]:
            return field.startswith(b"plan:") and generation % 1 == 0 and 0 <= generation <= MOST_GENERATIONS
    return False


def _packed(known: KnownFunction) -> list[Any]:
    parameters = [[one.name, one.kind, one.annotation, one.default] for one in known.parameters]
    return [known.fn, parameters, known.doc, dict(known.limits)]


def _read(said: Any) -> KnownFunction | None:
    match said:
        case [str(fn), list(parameters), str(doc), dict(limits), *_] if fn and len(fn) <= LONGEST_NAME:
            return KnownFunction(
                fn=fn,
                parameters=tuple(one for raw in parameters[:MOST_PARAMETERS] if (one := _parameter(raw)) is not None),
                doc=doc[:LONGEST_DOC],
                limits={name: limits[name] for name in LIMITS if _is_limit(limits.get(name))},
            )
    return None


def _is_limit(said: Any) -> bool:
    """Say whether a value is a number, or a number for each class of keys."""
    numbers = said.values() if type(said) is dict and all(type(part) is str for part in said) else [said]
    return all(type(number) in (int, float) for number in numbers)


def _parameter(said: Any) -> Parameter | None:
    match said:
        case [str(name), str(kind), str(annotation), default, *_] if default is None or isinstance(default, str):
            return Parameter(
                name=name[:LONGEST_TEXT],
                kind=kind[:LONGEST_TEXT],
                annotation=annotation[:LONGEST_TEXT],
                default=None if default is None else default[:LONGEST_TEXT],
            )
    return None
