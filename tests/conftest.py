"""Fixtures of the whole suite: real servers, a fresh schedule name, processes.

`server` gives each test one Redis and one Valkey in turn, shared by the session and emptied after each test;
`own_server` gives a durable one that the test may stop and kill. Only processes started here are ended, by pid.

With `-n` (pytest-xdist) each worker process is a session of its own, with its own servers. `tests/tiers.py` says which
tests are slow, which stay together, and of which only one runs at a time.
"""

from __future__ import annotations

import atexit
import gc
import os
import uuid
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, suppress
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import settings

from tests import rabbit, tiers
from tests.metronome import Metronome
from tests.processes import Processes
from tests.servers import PRODUCTS, Server, program

# The same examples in every CI run, fresh ones on a laptop, many with --hypothesis-profile=hunt.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("laptop", deadline=None)
settings.register_profile("hunt", max_examples=5000, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "laptop")


if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    # The tests start thousands of processes, and each would compile everything anew. The checkout stays clean anyway.
    os.environ["PYTHONPYCACHEPREFIX"] = compiled = mkdtemp(prefix="workkit-compiled-")
    atexit.register(rmtree, compiled, ignore_errors=True)

# These JVMs run for a few seconds. Better compilation would take longer than it saves.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have each worker process compile a share of the tests before it collects all: what one has compiled, the others
    only read.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != ["tests"]:  # a part is not worth it
        return
    number, files = int(worker["workerid"].removeprefix("gw")), sorted(tiers.TESTS.rglob("test_*.py"))
    for file in files[number :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # the collection tells it
            import_module(".".join(file.relative_to(tiers.TESTS.parent).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without the garbage collector, and keep from it what was collected: it lives as long as the run, and each
    look at so many objects takes half a second.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark the tests before pytest selects by marker, and order them after it has put those of one server side by side
    (see `tiers.py`).
    """
    tiers.mark(items)
    yield
    items[:] = tiers.ordered(items, is_shared=hasattr(config, "workerinput"))


@pytest.hookimpl(tryfirst=True)  # before pytest reads the marker
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give one server to a test in which the product plays no part, unless it says itself which."""
    said = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    for name in ("server", "own_server"):
        if name in metafunc.fixturenames and name not in said and (product := tiers.one_product(metafunc.definition)):
            metafunc.definition.add_marker(pytest.mark.parametrize(name, [product], indirect=True))


@pytest.hookimpl(optionalhook=True)  # so that a run with `-p no:xdist` works too
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> tiers.Scheduling:
    """Choose how a run with `-n` is shared out."""
    return tiers.Scheduling(config, log)


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    servers: dict[str, Server] = {}
    yield servers
    with ExitStack() as ends:
        for server in servers.values():
            ends.callback(server.close)


@pytest.fixture(scope="session", params=PRODUCTS)
def server(
    request: pytest.FixtureRequest, _shared: dict[str, Server], tmp_path_factory: pytest.TempPathFactory
) -> Server:
    """A server of the session, in memory only; not to be stopped."""
    product: str = request.param
    if product not in _shared:
        shared = Server(program(product), folder=tmp_path_factory.mktemp(product), is_durable=False)
        shared.start()
        _shared[product] = shared
    return _shared[product]


@pytest.fixture(params=PRODUCTS)
def own_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of this test alone, with its data on disk: to be stopped, started and killed."""
    folder = tmp_path_factory.mktemp(request.param)
    with closing(Server(program(request.param), folder=folder, is_durable=True)) as own:
        own.start()
        yield own


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rabbit.Shared]:
    """The RabbitMQ of the run, shared by its worker processes; not to be stopped."""
    folder = tmp_path_factory.getbasetemp()
    with rabbit.shared(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as urls:
        yield urls


@pytest.fixture(scope="session")
def amqp(rabbitmq: rabbit.Shared) -> str:
    """The URL of that RabbitMQ."""
    return rabbitmq.url


@pytest.fixture(scope="session")
def management(rabbitmq: rabbit.Shared) -> str:
    """The URL of its management API."""
    if not rabbitmq.management:
        pytest.skip("no management API: name it by WORKKIT_TEST_AMQP_MANAGEMENT")
    return rabbitmq.management


@pytest.fixture(scope="session")
def _spare_rabbit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rabbit.Rabbit]:
    with closing(rabbit.Rabbit(tmp_path_factory.mktemp("rabbit"))) as spare:
        yield spare


@pytest.fixture
def own_rabbit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[rabbit.Rabbit]:
    """A RabbitMQ that no other test uses meanwhile: to be stopped, started and killed.

    It takes seconds to start, so the next test of this worker gets the same, unless a parameter, its configuration,
    asks for another one.
    """
    if conf := getattr(request, "param", ""):
        with closing(rabbit.Rabbit(tmp_path_factory.mktemp("rabbit"), conf=conf)) as own:
            own.start()
            yield own
        return
    spare: rabbit.Rabbit = request.getfixturevalue("_spare_rabbit")
    if not spare.runs:
        spare.start()
    yield spare
    if spare.runs:
        spare.thaw()


@pytest.fixture
def name() -> str:
    """A schedule name that no other test has."""
    return f"test-{uuid.uuid4().hex[:10]}"


@pytest.fixture(autouse=True)
def clean(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty the shared server after each test that uses it."""
    used: Server | None = request.getfixturevalue("server") if "server" in request.fixturenames else None
    yield
    if used:
        client = used.client()
        client.flushall()
        assert client.dbsize() == 0, "something still writes to the shared server after the test"
        client.close()


@pytest.fixture
def machine() -> Iterator[Metronome]:
    """Tells by how much the machine held up this process during the test."""
    with closing(Metronome()) as ticking:
        yield ticking


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Starts scripts and the command line as real processes, in the test's own folder."""
    with closing(Processes(tmp_path)) as started:
        yield started
