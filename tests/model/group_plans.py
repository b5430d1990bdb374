"""What is explored of groups: batches, and jobs that run after others; and the rules that are switched off."""

from __future__ import annotations

from tests.model.protocol import Budget, GroupSpec, JobSpec, Plan

ONE = JobSpec()
ONCE_MORE = JobSpec(retries=1)
RECURRING = JobSpec(recurs=True, ticks=2)
SKIPPING = JobSpec(recurs=True, ticks=2, overlap="skip")
UNIQUE = JobSpec(unique="u")
NEWER = JobSpec(unique="u", replaces=True)
LIMITED = JobSpec(keys=("k",))
PAUSED = JobSpec(keys=("k",), fn="f")
TWO = GroupSpec((("A", "B"),), then="T")
STEPS = GroupSpec((("A",), ("B",)), then="T")
ROWS = STEPS._replace(rows=True)
LATER = GroupSpec((("A", "B"),), then="T", is_batch=False, on_death="cancel")
ANYWAY = LATER._replace(on_death="run")
FILL, FOLLOW = ("fill", "G"), ("follow", "G")


def cast(names: str, **others: JobSpec) -> dict[str, JobSpec]:
    """Jobs that run once, and others."""
    return dict.fromkeys(names, ONE) | others


SMALL: dict[str, Plan] = {
    "batch": Plan(cast("ABT"), Budget(crash=1, fail=1), calls=(FILL,), groups={"G": TWO}, listeners=1),
    "batch of three": Plan(
        cast("ABCT"), Budget(fail=1), calls=(FILL,), groups={"G": TWO._replace(steps=(("A", "B", "C"),))}
    ),
    "batch, lost replies": Plan(cast("ABT"), Budget(lose=1), calls=(FILL,), groups={"G": TWO}, listeners=1),
    "batch, expired": Plan(cast("ABT"), Budget(expire=1), calls=(FILL,), groups={"G": TWO}, listeners=1),
    "batch, retries": Plan(
        cast("BT", A=ONCE_MORE), Budget(fail=2, crash=1), calls=(FILL,), groups={"G": TWO}, listeners=1
    ),
    "batch, poison": Plan(cast("AT"), Budget(crash=2), calls=(FILL,), groups={"G": TWO._replace(steps=(("A",),))}),
    "batch in steps": Plan(
        cast("ABT"), Budget(producer=1, lose=1), calls=(FILL, FILL), groups={"G": STEPS}, listeners=1
    ),
    "batch in steps, two listeners": Plan(cast("ABT"), calls=(FILL, FILL), groups={"G": STEPS}),
    "batch, nothing in it": Plan(cast("T"), Budget(producer=1), calls=(FILL,), groups={"G": TWO._replace(steps=((),))}),
    "batch with rows": Plan(
        cast("ABT"), Budget(producer=1, lose=1), calls=(FILL, FILL), groups={"G": ROWS}, listeners=1
    ),
    "batch with rows, two listeners": Plan(cast("ABT"), calls=(FILL, FILL), groups={"G": ROWS}),
    "batch with rows, first death": Plan(
        cast("ABT"), Budget(fail=1), calls=(FILL, FILL), groups={"G": ROWS._replace(on_death="cancel")}, listeners=1
    ),
    "batch with rows, cancelled": Plan(
        cast("ABT"), Budget(lose=1), calls=(FILL, ("give up", "G"), FILL), groups={"G": ROWS}, listeners=1
    ),
    "after a row": Plan(
        cast("ABTC"),
        calls=(FILL, ("follow", "H"), FILL),
        groups={"G": ROWS, "H": LATER._replace(steps=(("A",),), then="C")},
        listeners=1,
    ),
    "batch, member cancelled": Plan(cast("ABT"), calls=(FILL, ("cancel", "A"), FILL), groups={"G": STEPS}, listeners=1),
    "batch, member cancelled twice": Plan(
        cast("ABT"), Budget(crash=1), calls=(FILL, ("cancel", "A"), ("cancel", "A")), groups={"G": TWO}, listeners=1
    ),
    "batch, then cancelled": Plan(cast("ABT"), calls=(FILL, ("cancel", "T")), groups={"G": TWO}, listeners=1),
    "batch, cancelled": Plan(
        cast("ABT"), Budget(crash=1), calls=(FILL, ("give up", "G")), groups={"G": TWO}, listeners=1
    ),
    "batch in steps, cancelled": Plan(
        cast("ABT"), Budget(lose=1), calls=(FILL, ("give up", "G"), FILL), groups={"G": STEPS}, listeners=1
    ),
    "batch, first death": Plan(
        cast("ABT"), Budget(fail=1), calls=(FILL,), groups={"G": TWO._replace(on_death="cancel")}
    ),
    "batch, revived": Plan(
        cast("ABTS"),
        Budget(fail=1),
        calls=(FILL, ("revive", "A")),
        groups={"G": TWO._replace(success="S")},
        listeners=1,
    ),
    "batch, replaced": Plan(
        cast("T", A=UNIQUE, B=NEWER, C=ONE),
        calls=(FILL, ("add", "B")),
        groups={"G": TWO._replace(steps=(("A", "C"),))},
        listeners=1,
    ),
    "batch, added to": Plan(
        cast("ABT"),
        Budget(expire=1, lose=1),
        calls=(FILL,),
        groups={"G": GroupSpec((("A",),), "T", spawned={"B": "A"})},
    ),
    "batch, peer": Plan(cast("ABT"), calls=(FILL,), groups={"G": TWO}, peer=True, listeners=1),
    "batch, failover": Plan(cast("AT"), Budget(failover=1), calls=(FILL,), groups={"G": TWO._replace(steps=(("A",),))}),
    "after": Plan(cast("ABT"), Budget(fail=1, crash=1), calls=(FOLLOW,), groups={"G": LATER}, listeners=1),
    "after, run anyway": Plan(cast("ABT"), Budget(fail=2), calls=(FOLLOW,), groups={"G": ANYWAY}),
    "after, cancelled": Plan(
        cast("ABT"), Budget(crash=1), calls=(FOLLOW, ("cancel", "A")), groups={"G": LATER}, listeners=1
    ),
    "after, revived": Plan(
        cast("ABT"), Budget(fail=1), calls=(FOLLOW, ("revive", "A")), groups={"G": ANYWAY}, listeners=1
    ),
    "after, added again": Plan(
        cast("AT"),
        Budget(fail=1),
        calls=(("cancel", "A"), ("add", "A"), ("revive", "A"), FOLLOW),
        groups={"G": LATER._replace(steps=(("A",),))},
    ),
    "after the next run": Plan(
        cast("T", R=RECURRING),
        Budget(fail=1, crash=1),
        calls=(FOLLOW,),
        groups={"G": ANYWAY._replace(steps=(("R",),))},
        listeners=1,
    ),
    "after a run, job removed": Plan(
        cast("T", R=RECURRING), calls=(FOLLOW, ("cancel", "R")), groups={"G": ANYWAY._replace(steps=(("R",),))}
    ),
    "after a run that is left out": Plan(
        cast("T", R=SKIPPING), calls=(FOLLOW,), groups={"G": ANYWAY._replace(steps=(("R",),))}
    ),
    "after, peer": Plan(
        cast("AT"), calls=(FOLLOW,), groups={"G": ANYWAY._replace(steps=(("A",),))}, peer=True, listeners=1
    ),
    "batch in steps, replaced": Plan(
        cast("CT", A=UNIQUE, B=NEWER),
        calls=(FILL, ("add", "B"), FILL),
        groups={"G": STEPS._replace(steps=(("A",), ("C",)))},
        listeners=1,
    ),
    "batch, limited": Plan(cast("T", A=LIMITED, B=LIMITED), calls=(FILL, ("cancel", "B")), groups={"G": TWO}),
    "batch, paused": Plan(
        cast("T", A=PAUSED, B=ONE), calls=(("pause", "f"), FILL, ("resume", "f")), groups={"G": TWO}, listeners=1
    ),
    "batch, cancelled and revived": Plan(
        cast("ABT"), Budget(fail=1), calls=(FILL, ("give up", "G"), ("revive", "A")), groups={"G": TWO}, listeners=1
    ),
    "chain": Plan(
        cast("ABC"),
        Budget(fail=1, crash=1),
        calls=(("follow", "G"), ("follow", "H")),
        groups={"G": LATER._replace(steps=(("A",),), then="B"), "H": LATER._replace(steps=(("B",),), then="C")},
        listeners=1,
    ),
    "after a batch": Plan(
        cast("ABTC"),
        Budget(fail=1),
        calls=(FILL, ("follow", "H")),
        groups={"G": TWO, "H": LATER._replace(steps=(("T",),), then="C")},
        listeners=1,
    ),
}

LARGE: dict[str, Plan] = {
    "batch, all faults": Plan(
        cast("ABT"),
        Budget(crash=1, lose=1, fail=1, expire=1, producer=1),
        calls=(FILL, FILL),
        groups={"G": STEPS},
        listeners=1,
    ),
    "batch, first death, all faults": Plan(
        cast("ABT"), Budget(crash=1, lose=1, fail=1), calls=(FILL,), groups={"G": TWO._replace(on_death="cancel")}
    ),
    "batch of three, dying": Plan(
        cast("ABCT"), Budget(crash=1, fail=1), calls=(FILL,), groups={"G": TWO._replace(steps=(("A", "B", "C"),))}
    ),
    "after, all faults": Plan(cast("ABT"), Budget(crash=1, lose=1, fail=2), calls=(FOLLOW,), groups={"G": LATER}),
}

BUGS = [
    ("unsettled_done", "batch", "unsettled"),
    ("unsettled_dead", "batch", "unsettled"),
    ("unsettled_cancelled", "batch, cancelled", "unsettled"),
    ("unsettled_removed", "batch, member cancelled", "unsettled"),
    ("unsettled_replaced", "batch, replaced", "unsettled"),
    ("unsettled_missed", "after a run that is left out", "unsettled"),
    ("unsettled_removed", "after a run, job removed", "unsettled"),
    ("unsettled_done", "after the next run", "unsettled"),
    ("lost_waits", "batch, peer", "lost_or_stuck"),
    ("lost_waits", "after, peer", "lost_or_stuck"),
    ("held_is_lost", "batch", "unlisted"),
    ("fires_open", "batch, member cancelled", "early"),
    ("open_visible", "batch in steps", "open"),
    ("counted", "batch, revived", "early"),
    ("then_anew", "batch, revived", "twice"),
    ("made_again", "batch in steps", "double_add"),
    ("closed_unfinished", "batch, nothing in it", "lost_or_stuck"),
    ("released_once", "batch in steps", "lost_or_stuck"),
    ("rows_wait", "batch with rows", "lost_or_stuck"),
    ("rows_stay", "batch with rows", "referenced"),
    ("held_is_lost", "batch with rows", "unlisted"),
    ("cancelled_then_waits", "batch, cancelled", "lost_or_stuck"),
    ("death_ignored", "after", "wrong"),
    ("success_of_dead", "batch, revived", "success"),
    ("revive_outside", "batch, revived", "unlisted"),
    ("revive_outside", "after, revived", "early"),
    ("added_to_settled", "batch, added to", "late"),
    ("after_blind", "after", "unsettled"),
    ("ends_outlive", "after, added again", "wrong"),
    ("removed_settles_runs", "after a run, job removed", "early"),
]
