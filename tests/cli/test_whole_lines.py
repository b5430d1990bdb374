"""What jobs print while a listener logs: every line is whole, and one write."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from tests.processes import FOREIGN, ROOT
from tests.servers import Server
from workkit import schedule
from workkit.cli.commands.processes import WholeLines, whole_lines

TALKER = """
import sys
import time


def talk(number):
    for _ in range(20):
        print("job", number, "has", "many", "words")
        print("job", number, "warns", file=sys.stderr)
        time.sleep(0)
"""


class Writes(io.StringIO):
    """A stream that remembers each write."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def write(self, text: str, /) -> int:
        self.texts.append(text)
        return len(text)


def test_the_lines_of_jobs_and_of_the_log_are_whole_and_one_write_each(
    server: Server, name: str, tmp_path: Path
) -> None:
    (tmp_path / "talker.py").write_text(TALKER)
    s = schedule.create(name, redis=server.url)
    for number in range(10):
        schedule.add_now(s, "talker:talk", args=[number])
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # one message for each write
    env = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    with ours:
        with theirs:
            command = [sys.executable, "-m", "workkit", "listen", name, "--burst", "-v", "--redis", server.url]
            child = subprocess.Popen(
                command,
                cwd=tmp_path,
                stdout=theirs.fileno(),
                stderr=theirs.fileno(),
                env={**env, "PYTHONPATH": str(ROOT)},
            )
        try:
            ours.settimeout(60)
            written = []
            while message := ours.recv(65536):
                written.append(message.decode())
            assert child.wait(30) == 0
        finally:
            child.kill()
    assert [text for text in written if not text.endswith("\n") or text.count("\n") != 1] == []
    for number in range(10):
        assert written.count(f"job {number} has many words\n") == 20
        assert written.count(f"job {number} warns\n") == 20
    assert sum("done  " in text for text in written) == 10


def test_threads_do_not_cut_lines() -> None:
    writes = Writes()
    stream = WholeLines(writes)
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        stream.write("other ")
        begun.set()
        assert ended.wait(10)
        stream.write("thread\n")

    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(10)
    print("this", "thread", file=stream)
    assert writes.texts == ["this thread\n"]
    ended.set()
    thread.join()
    stream.write("how far: 10 %")
    stream.flush()
    stream.writelines(["a\nb", "c\n"])
    assert writes.texts[1:] == ["other thread\n", "how far: 10 %", "a\n", "bc\n"]


def test_what_has_no_end_is_written_when_the_listener_stops() -> None:
    before, writes = sys.stdout, Writes()
    sys.stdout = writes
    try:
        with whole_lines():
            print("no end", end="")
            assert writes.texts == []
        assert (writes.texts, sys.stdout) == (["no end"], writes)
    finally:
        sys.stdout = before
