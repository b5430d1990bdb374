"""What is in the hands of threads: runs, and functions being looked up. Hands claims over, and takes back what no
thread has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from workkit.broker import Claim
from workkit.errors import CannotRun
from workkit.worker import report
from workkit.worker.executor import Attempt, Executor
from workkit.worker.lane import Lane
from workkit.worker.pool import Pool
from workkit.worker.running import Run


@dataclass(frozen=True, slots=True, eq=False)
class LookedUp:
    """A claim whose function was looked up in a thread (importing can take long); the answer is known from now on."""

    task: Task


Post = Callable[[Attempt | LookedUp], None]


@dataclass(slots=True, eq=False)
class Task:
    """One claim for a thread; with a `run` to execute it, without one to look its function up."""

    hands: Hands
    lane: Lane
    claim: Claim
    run: Run | None = None

    def __call__(self) -> None:
        """Do it, in a pool thread; never raises."""
        error = self.hands.refusal(self.claim)
        if self.run is None:
            self.hands.post(LookedUp(self))
            return
        if error is not None:
            self.hands.post(Attempt(run=self.run, error=error))
            return
        self.run.late_ms = max(0, self.lane.broker.now_ms() - self.claim.due_ms)
        report.started(self.run)
        # fault: starting
        attempt = self.hands.executor.run(self.run)
        # fault: returned
        self.hands.post(attempt)


@dataclass(slots=True, eq=False)
class Hands:
    """The threads of one listener. All but `Task.__call__` is for the loop's thread."""

    pool: Pool
    executor: Executor
    post: Post
    runs: dict[Run, Lane] = field(default_factory=dict)  # handed over, begun or not
    looking_up: int = 0

    @property
    def busy(self) -> int:
        """How many claims are in these hands."""
        return len(self.runs) + self.looking_up

    def knows(self, claim: Claim) -> bool:
        """Whether `refusal` answers at once."""
        return self.executor.registry.knows(claim.job.fn)

    def refusal(self, claim: Claim) -> CannotRun | None:
        """Why the function of a claim cannot be run here, or None."""
        return self.executor.registry.refusal(claim.job.fn)

    def execute(self, lane: Lane, claim: Claim) -> None:
        """Have a thread run it; its Attempt is posted."""
        run = Run(claim)
        self.runs[run] = lane
        self.pool.submit(Task(self, lane, claim, run))

    def look_up(self, lane: Lane, claim: Claim) -> None:
        """Have a thread look its function up; LookedUp is posted."""
        self.looking_up += 1
        self.pool.submit(Task(self, lane, claim))

    def taken_back(self, which: Callable[[Task], bool]) -> Iterable[Task]:
        """Take back tasks that no thread has begun."""
        taken = []
        for task in self.pool.withdraw():
            assert isinstance(task, Task)
            if not which(task):
                self.pool.submit(task)
                continue
            taken.append(task)
            if task.run is None:
                self.looking_up -= 1
            else:
                del self.runs[task.run]
        return taken

    def close(self) -> None:
        """Let the threads end, and stop the event loop."""
        self.pool.close()
        self.executor.close()
