"""The verbs: create a schedule, add jobs to it, look at them, take them out, listen.

The one place where times, functions, brokers and listeners meet. `create` does no I/O; the first verb that needs the
server connects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack
from zoneinfo import ZoneInfo

from workkit import tracing
from workkit.contract.inspector import Counts, Missed
from workkit.contract.layout import PLAIN_LAYOUTS
from workkit.contract.listener import ListenerInfo
from workkit.contract.producer import Added
from workkit.contract.tally import Tally
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.call import FunctionCall
from workkit.jobs.job import STATES, Job, JobState, matches
from workkit.jobs.names import Fn, shown
from workkit.jobs.option_readers import option_error
from workkit.jobs.option_types import AddOptions, ForwardOptions, ListenOptions
from workkit.verbs.addition import addition
from workkit.verbs.bulk import BadRow, add_rows
from workkit.verbs.control import (
    check_dead,
    check_one,
    check_run,
    check_skip,
    pause_until,
    paused_target,
    target,
    unseen,
)  # fmt: skip
from workkit.verbs.dead import chosen, discard_dead, pause_ms, retry_dead
from workkit.verbs.error_place import located
from workkit.verbs.new_job import as_job
from workkit.verbs.opening import (
    Schedule,
    check_schedule,
    described_schedule,
    forwarding_ends,
    listening_brokers,
    producer_of,
)
from workkit.verbs.partly_added import PartlyAdded
from workkit.verbs.plan import Plan, carry_out, compare, read_plan

if TYPE_CHECKING:
    import redis as redis_client

    from workkit.worker.listener import Listener

__all__ = [
    "Schedule", "add", "add_many", "add_now", "cancel", "counts", "create", "dead", "discard", "drain", "forward",
    "forwarder", "job", "jobs", "listen", "listener", "listeners", "missed", "pause", "resume", "retry", "run", "skip",
    "sync",
]  # fmt: skip

Which = str | Job


def create(
    name: str,
    *,
    redis: str | redis_client.Redis | redis_client.RedisCluster | None = None,
    tz: str | ZoneInfo | None = None,
    dialect: str | None = None,
    shards: int = 1,
    limit: int | None = None,
    rate: str | None = None,
    layout: str | None = None,
    amqp: str | None = None,
    namespace: str | None = None,
    management: str | None = None,
) -> Schedule:
    """Name a schedule. No I/O.

    `redis` is a URL or a client whose connection settings are used; else WORKKIT_REDIS_URL, REDIS_URL, then
    redis://127.0.0.1:6379/. `tz` is the zone in which words are read (else WORKKIT_TZ, then UTC). `dialect` "cuckoo"
    shares a schedule with the Clojure code that stores crons second first (else WORKKIT_DIALECT, then "published").
    `shards` (1 to 64) spreads it over so many slots of a cluster, each an ordinary schedule; every program must give
    the same number. `limit` (how many jobs may run at once, over all listeners) and `rate` ("100/minute") are kept on
    the server from the first verb on, for every listener; the last program to set them wins. `layout` "gocraft" makes
    it a namespace that pools of the Go library gocraft/work share (else WORKKIT_LAYOUT, then "native"); "hutch" and
    "event" make it an exchange of RabbitMQ, shared with the Ruby library hutch and the Go library wppurking/event. Then
    `amqp` is the URL of the RabbitMQ (else WORKKIT_AMQP_URL, then amqp://guest:guest@127.0.0.1:5672/), and `namespace`
    is what stands before the names of its queues (else WORKKIT_NAMESPACE, then NAME.workkit): listeners with the same
    one share their messages. `redis`, where it is given here, is then a Redis beside the RabbitMQ, which keeps limits,
    rates, unique keys, pauses and progress. `management` is the URL of RabbitMQ's management API, which the doctor and
    the verbs that look ask where it answers (else WORKKIT_AMQP_MANAGEMENT_URL, then the host and login of `amqp` with
    port 15672, with TLS 15671). Raises InvalidSchedule, InvalidOptions, TriggerError.
    """
    return described_schedule(
        name, redis=redis, tz=tz, dialect=dialect, shards=shards, limit=limit, rate=rate, layout=layout,
        amqp=amqp, namespace=namespace, management=management,
    )  # fmt: skip


def add(
    s: Schedule,
    fn: Fn | None = None,
    *,
    call: FunctionCall | None = None,
    when: str | None = None,
    at: str | datetime | None = None,
    in_: str | timedelta | None = None,
    every: str | timedelta | None = None,
    cron: str | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[AddOptions],
) -> Job:
    """Add a job: `fn` with `args` and `kwargs`, or `call`, at exactly one of `when`, `at`, `in_`, `every`, `cron`.
    Adding the same job again changes nothing.

    `when` takes words or a cron string, and the text says whether the job recurs; `at` and `in_` are one instant,
    `every` recurs, `cron` is a cron string. An interval that divides its unit is aligned to the clock, any other is
    counted from 1970, or from `start`.

    `options`, each with its default: tz=None (a zone), start=None, end=None (bounds of a recurrence); name=None (the
    job under it is replaced); unique=True, unique_key=None, unique_until="done" ("started"), on_conflict="keep"
    ("replace"), throttle=None, debounce=None (durations; of additions within one the first runs, or the last);
    overlap="allow" ("skip", "queue", "cancel"), catch_up="once" ("all", "skip"), catch_up_within=None, count=None,
    spread=None; priority=0 (to 3); ping=None (the URL of a monitor); and of its runs retries=0, backoff="exponential",
    base="5s", cap="1h", jitter=True, timeout=None. What each means: `workkit.jobs.options.OPTIONS`; the rules:
    spec/features.md.

    Returns the job; `new` is False where it was there already. Warns (WorkkitWarning) where the time is likely a
    mistake. Raises an `Invalid` for an argument with an invalid value, ServerUnreachable or ServerRefused for the
    server.
    """
    times = {"when": when, "at": at, "in_": in_, "every": every, "cron": cron}
    return _added(s, {"fn": fn, "args": args, "kwargs": kwargs, "call": call, **times, **options}, verb="add")


def add_now(
    s: Schedule,
    fn: Fn | None = None,
    *,
    call: FunctionCall | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[AddOptions],
) -> Job:
    """Add a job to run at once: `fn` with `args` and `kwargs`, or `call`. Every call is a run of its own, equal or not.

    `options` are those of `add`, without those that only a recurring job can have. With debounce the job runs when that
    time is over.
    """
    return _added(s, {"fn": fn, "args": args, "kwargs": kwargs, "call": call, **options}, verb="add_now")


def _added(s: Schedule, given: Mapping[str, Any], *, verb: str) -> Job:
    check_schedule(s)
    new = addition(given, s=s, now_ms=lambda: producer_of(s).now_ms(), verb=verb)
    with tracing.adding(s.name, fn=shown(new.fn)) as span:
        new.trace = tracing.context_of(span)
        found = producer_of(s).add([new])[0]
        tracing.added(span, found.id)
    return as_job(new, schedule=s.name, added=found)


def add_many(s: Schedule, rows: Iterable[Mapping[str, object]]) -> Tally:
    """Add a job for each row, which holds `add`'s keywords, `fn` or `call` among them. Streams, in batches of 500.

    A bad row raises with its number, and which rows before it are added. Adding these again changes nothing where a row
    has a name or a unique key, or a time that stays the same; rows with `in_`, or at "now", are added once more. On
    RabbitMQ each row is confirmed by itself: the error names those that are not added, `error.refused` has them (from
    0).
    """
    try:
        return add_rows(rows, s=s, broker=producer_of(s))
    except BadRow as bad:
        raise located(bad.error, f"row {bad.number:,}", then=f" {bad.done}.") from bad.error.__cause__
    except PartlyAdded as partly:
        raise partly.worded(lambda number: f"row {number:,}") from partly.error.__cause__


def sync(s: Schedule, plan: Mapping[str, Mapping[str, object]], *, prune: bool = False, dry_run: bool = False) -> Plan:
    """Make named jobs equal to a plan: name -> `add`'s keywords, `fn` or `call` among them. Returns what was added,
    changed, removed and left.

    `prune`: named recurring jobs that are not in the plan are cancelled. `dry_run`: nothing is written. Every entry is
    read first; the first bad one raises with the job's name, and nothing is written.
    """
    broker = producer_of(s)
    now_ms = broker.now_ms()
    wanted = read_plan(plan, s=s, now_ms=lambda: now_ms)
    contents = dict(zip(wanted, broker.contents(list(wanted.values())), strict=True))
    after = {
        name: as_job(new, schedule=s.name, added=Added(id=contents[name], due_ms=new.due_ms, new=True))
        for name, new in wanted.items()
    }
    found = compare(after, contents=contents, standing=broker.inspector.named(), prune=prune)
    if not dry_run:
        carry_out(found, wanted, broker=broker)
    return found


def job(s: Schedule, which: Which) -> Job:
    """One job, by name, id, the beginning of an id (6 or more digits), or a Job. Raises NotFound."""
    if not isinstance(which, str | Job):
        trouble, remedy = "is neither a name, an id nor a Job", "Write an id as text."
        raise InvalidOptions.about(repr(which), trouble, remedy, where="which", given=which)
    return producer_of(s).inspector.job(which.id if isinstance(which, Job) else which)


def _changeable(s: Schedule, which: Which) -> Job:
    """Find a job that waits or runs. Raises NotFound; Unsupported where the layout cannot see such jobs."""
    try:
        return job(s, which)
    except NotFound as error:
        if reasons := producer_of(s).inspector.unlisted():
            raise unseen(str(error.given), reasons.values()) from error
        raise


def jobs(s: Schedule, *, state: JobState | None = None, where: str | None = None) -> Iterator[Job]:
    """Read the jobs in pages: running ones, then waiting ones, soonest first, then dead ones.

    `where` keeps those whose function, arguments, name or error contain the text. Raises Unsupported for a state that
    the layout cannot list; in the layouts of RabbitMQ that leaves `state` "due" and "dead".
    """
    if state is not None and state not in STATES:
        raise option_error("state", state, "is not a state", f"Accepted: {', '.join(STATES)}.")
    for found in producer_of(s).inspector.jobs(state=state):
        if where is None or matches(found, where):
            yield found


def counts(s: Schedule) -> Counts:
    """Count the jobs in each state."""
    return producer_of(s).inspector.counts()


def listeners(s: Schedule) -> list[ListenerInfo]:
    """List the listeners, with the jobs that each runs."""
    return producer_of(s).inspector.listeners()


def cancel(s: Schedule, which: Which, *, missing_ok: bool = False) -> Job:
    """Take a job out. Waiting: it is gone. Running: it is flagged, and its state is "cancelling". Recurring: it never
    runs again.

    Raises NotFound, unless `missing_ok`.
    """
    try:
        return producer_of(s).admin.cancel(_changeable(s, which))
    except NotFound:
        if not missing_ok:
            raise
        if isinstance(which, Job):
            return which
        return Job(id=which, schedule=s.name, fn="?")


def pause(
    s: Schedule,
    which: Which | None = None,
    *,
    fn: Fn | None = None,
    reason: str | None = None,
    until: str | datetime | None = None,
) -> None:
    """Start nothing more of one job, of a function, or of the whole schedule; running jobs continue.

    It lasts until `resume`, or `until` an instant (words, or an aware datetime). Raises NotFound, an `Invalid`.
    """
    check_one(which, fn)
    broker = producer_of(s)
    said = pause_until(reason, until, tz=s.tz, now_ms=broker.now_ms())
    found = None if which is None else check_dead(_changeable(s, which))
    broker.admin.pause(target(found, fn, plain=s.layout in PLAIN_LAYOUTS), said)


def resume(s: Schedule, which: Which | None = None, *, fn: Fn | None = None) -> None:
    """The inverse of `pause`; harmless where nothing is paused. A recurring job comes back at its next time, what else
    was due meanwhile runs late. Raises NotFound.
    """
    check_one(which, fn)
    broker = producer_of(s)
    broker.admin.resume(paused_target(broker.inspector, which, fn, plain=s.layout in PLAIN_LAYOUTS))


def skip(s: Schedule, which: Which) -> Job:
    """Leave out the next run of a recurring job; it is returned as it waits then. Raises NotFound, InvalidOptions."""
    return producer_of(s).admin.skip(check_skip(_changeable(s, which)))


def run(s: Schedule, which: Which) -> Job:
    """Run a job once now; a recurring one keeps its times beside that. Raises NotFound, InvalidOptions."""
    broker = producer_of(s)
    return broker.admin.run(check_run(_changeable(s, which), broker.inspector.control()))


def missed(s: Schedule) -> Iterator[Missed]:
    """Runs that did not take place, the last one first; about 10,000 are kept."""
    return producer_of(s).inspector.missed()


def dead(s: Schedule, which: Which | None = None, *, where: str | None = None) -> list[Job]:
    """Find dead jobs, latest first; `which` and `where` choose as in `retry`. Raises NotFound."""
    return chosen(producer_of(s).inspector, schedule=s.name, which=which, where=where)


def retry(
    s: Schedule,
    which: Which | None = None,
    *,
    where: str | None = None,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    rate: str | None = None,
) -> int:
    """Put dead jobs back; their attempts count from the start. Returns how many.

    `which` is a name, an id, the beginning of one, or a Job; `where` keeps those whose function, arguments or error
    contain the text; neither means all. `args` makes a new job of one: a list replaces
    the positional arguments, a dictionary those given by name. `rate` ("100/minute", "3/10s")
    spreads them. Raises NotFound, InvalidOptions, InvalidArguments; CorruptRecord where the record of the named job
    cannot be read.
    """
    pause_ms(rate)
    found = dead(s, which, where=where)
    return retry_dead(producer_of(s).admin, found, args=args, rate=rate, one=which is not None)


def discard(s: Schedule, which: Which | None = None, *, where: str | None = None) -> int:
    """Forget dead jobs, chosen as in `retry`. Returns how many there were. Raises NotFound."""
    return discard_dead(producer_of(s).admin, dead(s, which, where=where))


def listen(s: Schedule | Sequence[Schedule] | Mapping[Schedule, int], **how: Unpack[ListenOptions]) -> Tally:
    """Run due jobs here until SIGINT or SIGTERM: finish what runs within the deadline, give back the rest.

    `s` is one schedule, several, or a mapping to weights. `how`: threads=10, imports=(), folder=Path.cwd() (None: only
    imports), jobs=None (in the layouts gocraft, hutch and event, the job names to serve: "send_email:10"),
    consumers=None (functions under job names, without a mark: {"orders.created": "app.orders:on_created"}),
    deadline="25s", strict=False (schedules strictly in order), burst=False (only what is due now),
    listener_timeout="10s" (others take over from a listener without heartbeat for so long), health_port=None (a port,
    or "ADDRESS:PORT", for /livez, /readyz and /metrics). Raises ServerUnreachable where the server cannot be reached at
    the start; later it waits. What it has to report goes to the standard logger `workkit`: a dead job is one ERROR. A
    loop that does nothing for three times listener_timeout ends the process with status 70.
    """
    from workkit.verbs.listening import until_stopped

    return until_stopped(lambda: listener(s, **how), verb="listen")


def listener(s: Schedule | Sequence[Schedule] | Mapping[Schedule, int], **how: Unpack[ListenOptions]) -> Listener:
    """The same, not yet started: ``.start() .stop(deadline) .quiet() .resume() .wait()``; ``with`` starts and stops."""
    from workkit.verbs.listening import listener_of

    return listener_of(s, how)


def forward(s: Schedule, *, to: Schedule, **how: Unpack[ForwardOptions]) -> Tally:
    """Publish each due job of `s` to the schedule `to`, of any layout, until SIGINT or SIGTERM. Its function need not
    exist here.

    A job of `s` has ended once `to` has acknowledged it: at least once, and once while no process and no server dies.
    While `to` cannot be reached, or is full, its jobs wait. One that the layout of `to` refuses is dead in `s`, with
    the reason. `how`: deadline="25s", burst=False (only what is due now), listener_timeout="10s", health_port=None, as
    in `listen`. Raises InvalidSchedule; ServerUnreachable where a server cannot be reached at the start.
    """
    from workkit.verbs.listening import until_stopped

    return until_stopped(lambda: forwarder(s, to=to, **how), verb="forward")


def forwarder(s: Schedule, *, to: Schedule, **how: Unpack[ForwardOptions]) -> Listener:
    """The same as `forward`, not yet started, as `listener` is: ``with`` starts and stops it in a thread of its own."""
    from workkit.verbs.listening import forwarder_of

    return forwarder_of(s, to, how)


def drain(
    s: Schedule,
    *,
    to: Schedule | None = None,
    now: datetime | None = None,
    limit: int | None = None,
    raise_errors: bool = True,
    **how: Unpack[ListenOptions],
) -> Tally:
    """Run what is due, here and one by one, until nothing is; for tests and one-off runs.

    `now` pretends that time passes until then, as if a listener was there: each occurrence of a recurring job, and each
    further attempt, runs at its own time. `to`: jobs are published there, as by `forward`. `limit` ends after so many
    runs. An error of a handler is recorded, then raised, also if another attempt follows; with `raise_errors` False it
    is only counted, as `failed` or `retried`.
    """
    from workkit.verbs.listen_options import read_how
    from workkit.worker.drain import drain_brokers

    if now is not None and now.tzinfo is None:
        raise option_error("now", now, "has no zone", "Use datetime.now(UTC).")
    read, timeout_ms = read_how(how)
    now_ms = None if now is None else round(now.timestamp() * 1000)
    other = None
    if to is None:
        brokers = listening_brokers(s, timeout_ms=timeout_ms)
    else:
        brokers, other = forwarding_ends(s, to, timeout_ms=timeout_ms)
    return drain_brokers(brokers, how=read, now_ms=now_ms, limit=limit, raise_errors=raise_errors, to=other)
