"""What is explored: small casts with small budgets of faults; and which of them must expose a seeded fault, as what."""

from __future__ import annotations

from tests.model import group_plans
from tests.model.protocol import Budget, JobSpec, Plan

ONE = JobSpec()
ONCE_MORE = JobSpec(retries=1)
RECURRING = JobSpec(recurs=True, ticks=2)
FOREIGN = JobSpec(foreign=True)
FOREIGN_RECURRING = JobSpec(recurs=True, ticks=2, foreign=True)
UNIQUE = JobSpec(unique="u", retries=1)
UNTIL_STARTED = JobSpec(unique="u", until_started=True)
NEWER = JobSpec(unique="u", replaces=True)
LIMITED = JobSpec(keys=("k",), retries=1)
PAUSED = JobSpec(keys=("k",), fn="f")
GENERAL = JobSpec(keys=("s",))
BOTH = JobSpec(keys=("k", "s"))
REGULAR = JobSpec(recurs=True, ticks=2, keys=("k",))
SKIPPING = JobSpec(recurs=True, ticks=2, overlap="skip", retries=1)
QUEUEING = JobSpec(recurs=True, ticks=3, overlap="queue")

SMALL: dict[str, Plan] = {
    "one-shot": Plan({"A": ONE}, Budget(crash=1, lose=1)),
    "one-shot, dying": Plan({"A": ONE}, Budget(expire=1, lose=1)),
    "added": Plan({"A": ONE}, Budget(crash=1, lose=2), calls=(("add", "A"),), listeners=1),
    "two one-shots": Plan({"A": ONE, "B": ONE}, Budget(expire=1, lose=1)),
    "recurring": Plan({"R": RECURRING}, Budget(lose=1, release=1), listeners=1),
    "recurring, dying": Plan({"R": RECURRING}, Budget(expire=1)),
    "recurring, failing": Plan({"R": RECURRING}, Budget(crash=1, fail=1)),
    "retries": Plan({"A": ONCE_MORE}, Budget(crash=1, fail=3), listeners=1),
    "poison": Plan({"A": ONE}, Budget(crash=3, release=1), listeners=1),
    "poison, retried": Plan({"A": ONCE_MORE}, Budget(crash=3, fail=1), listeners=1),
    "poison, recurring": Plan({"R": JobSpec(recurs=True)}, Budget(crash=3), listeners=1),
    "peer": Plan({"R": RECURRING}, Budget(crash=1, peer_crash=1), peer=True, listeners=1),
    "failover": Plan({"A": ONE}, Budget(failover=1), calls=(("add", "A"),)),
    "failover, recurring": Plan({"R": RECURRING}, Budget(failover=1), listeners=1),
    "cancelled": Plan({"A": ONE}, Budget(crash=1, release=1), calls=(("cancel", "A"), ("cancel", "A"))),
    "cancelled, added again": Plan(
        {"A": ONE}, Budget(crash=1), calls=(("add", "A"), ("cancel", "A"), ("add", "A")), listeners=1
    ),
    "cancelled, recurring": Plan({"R": RECURRING}, Budget(crash=1), calls=(("cancel", "R"), ("add", "R"))),
    "cancelled, by a peer again": Plan({"R": RECURRING}, calls=(("cancel", "R"), ("peer adds", "R"))),
    "revived": Plan({"A": ONE}, Budget(fail=1, lose=1), calls=(("revive", "A"),)),
    "revived, added again": Plan({"A": ONE}, Budget(fail=1), calls=(("add", "A"), ("add", "A"), ("revive", "A"))),
    "revived, recurring": Plan({"R": RECURRING}, Budget(fail=1, lose=1), calls=(("revive", "R"),), listeners=1),
    "revived, cancelled": Plan({"R": RECURRING}, Budget(fail=1), calls=(("cancel", "R"), ("revive", "R")), listeners=1),
    "unique": Plan(
        {"A": UNIQUE, "B": UNIQUE, "C": UNIQUE},
        calls=(("add", "A"), ("cancel", "A"), ("add", "B"), ("add", "C")),
    ),
    "unique until started": Plan(
        {"A": UNTIL_STARTED, "B": UNTIL_STARTED, "C": UNTIL_STARTED},
        calls=(("add", "A"), ("add", "B"), ("add", "C")),
    ),
    "unique, replaced": Plan({"A": UNIQUE, "B": NEWER}, Budget(crash=1), calls=(("add", "B"),)),
    "unique, replaced, again": Plan({"A": UNIQUE, "B": NEWER}, Budget(release=1, fail=1), calls=(("add", "B"),)),
    "unique, replaced twice": Plan(
        {"A": UNIQUE, "B": NEWER, "C": NEWER}, Budget(release=1), calls=(("add", "B"), ("add", "C"))
    ),
    "unique, replaced, paused": Plan(
        {"A": UNIQUE._replace(fn="f"), "B": NEWER}, calls=(("pause", "f"), ("add", "B"), ("resume", "f"))
    ),
    "unique, replaced, cancelled": Plan(
        {"A": UNIQUE, "B": NEWER, "C": NEWER}, calls=(("add", "B"), ("cancel", "B"), ("add", "C"))
    ),
    "unique, replaced, failover": Plan(
        {"A": UNIQUE, "B": NEWER}, Budget(failover=1), calls=(("add", "B"),), listeners=1
    ),
    "unique until started, replaced": Plan(
        {"A": UNTIL_STARTED, "B": UNTIL_STARTED._replace(replaces=True)},
        Budget(crash=1),
        calls=(("add", "B"),),
    ),
    "unique, revived, replaced": Plan(
        {"A": UNIQUE._replace(retries=0), "B": NEWER, "C": NEWER},
        Budget(fail=1),
        calls=(("add", "B"), ("revive", "A"), ("add", "C")),
    ),
    "unique, revived": Plan({"A": UNIQUE, "B": UNIQUE}, Budget(fail=1), calls=(("add", "B"), ("revive", "A"))),
}

SMALL |= {
    "foreign": Plan({"F": FOREIGN}, Budget(crash=1, expire=1)),
    "foreign, recurring": Plan({"F": FOREIGN_RECURRING}, Budget(crash=1, expire=1, lose=1), listeners=1),
    "foreign, peer": Plan({"F": FOREIGN_RECURRING}, Budget(crash=2, peer_crash=1), peer=True, listeners=1),
    "foreign, failover": Plan({"F": FOREIGN_RECURRING}, Budget(failover=1, crash=1)),
    "foreign, beside ours": Plan({"F": FOREIGN, "R": RECURRING}, Budget(crash=1), capacity=2, listeners=1),
    "foreign, cancelled": Plan({"F": FOREIGN_RECURRING}, Budget(crash=1), calls=(("cancel", "F"), ("peer adds", "F"))),
    "crashes, peer": Plan({"R": RECURRING}, Budget(crash=2), peer=True, listeners=1),
}

SMALL |= {
    "limit": Plan({"A": LIMITED, "B": LIMITED}, Budget(expire=1)),
    "limit, again": Plan({"A": LIMITED, "B": LIMITED}, Budget(fail=1, release=1)),
    "limit of two": Plan(dict.fromkeys("ABC", LIMITED), limits=frozenset([("k", 2)]), capacity=3, listeners=1),
    "limits": Plan({"A": BOTH, "B": BOTH, "C": GENERAL}),
    "limit, added": Plan({j: JobSpec(keys=("s",), added=("k",)) for j in "ABC"}),
    "limit, recurring": Plan({"R": REGULAR, "A": LIMITED}, Budget(crash=1), listeners=1),
    "limit, cancelled": Plan({"R": REGULAR, "A": LIMITED}, calls=(("cancel", "R"), ("add", "R"))),
    "limit, revived": Plan({"R": REGULAR}, Budget(fail=1), calls=(("revive", "R"),)),
    "limit, failover": Plan({"A": LIMITED, "B": GENERAL._replace(added=("k",))}, Budget(failover=1)),
    "overlap, skipped": Plan({"R": SKIPPING}, Budget(fail=1, release=1)),
    "overlap, skipped, dying": Plan({"R": SKIPPING}, Budget(crash=1)),
    "overlap, revived": Plan({"R": SKIPPING._replace(retries=0)}, Budget(fail=1), calls=(("revive", "R"),)),
    "overlap, queued": Plan({"R": QUEUEING}, Budget(release=1)),
    "paused": Plan({"A": PAUSED, "B": PAUSED, "C": LIMITED}, calls=(("pause", "f"),)),
    "paused, resumed": Plan({"A": PAUSED, "R": REGULAR._replace(fn="f")}, calls=(("pause", "f"), ("resume", "f"))),
    "paused job": Plan({"R": SKIPPING}, Budget(crash=1), calls=(("pause", "R"), ("resume", "R")), listeners=1),
}

SMALL |= group_plans.SMALL

LARGE: dict[str, Plan] = group_plans.LARGE | {
    "foreign, all faults": Plan({"F": FOREIGN}, Budget(crash=2, expire=1, lose=1)),
    "foreign, recurring, all faults": Plan({"F": FOREIGN_RECURRING}, Budget(crash=2, expire=1, lose=1)),
    "foreign, peer, all faults": Plan(
        {"F": FOREIGN_RECURRING}, Budget(crash=1, expire=1, lose=1, peer_crash=1), peer=True
    ),
    "foreign, failover and crash": Plan({"F": FOREIGN}, Budget(failover=1, crash=1, lose=1)),
    "foreign among ours": Plan({"F": FOREIGN, "A": ONE, "R": RECURRING}, Budget(crash=1), capacity=3, listeners=1),
    "crashes, peer, expired": Plan({"A": ONE}, Budget(crash=2, expire=1), peer=True),
    "one-shot, all faults": Plan({"A": ONE}, Budget(crash=1, expire=1, lose=2), calls=(("add", "A"),)),
    "two one-shots, two lost": Plan({"A": ONE, "B": ONE}, Budget(expire=1, lose=2)),
    "batches of two": Plan({"A": ONE, "R": RECURRING}, Budget(crash=1, lose=1), capacity=2, listeners=1),
    "recurring, all faults": Plan({"R": RECURRING}, Budget(crash=1, expire=1, lose=1)),
    "recurring, released": Plan({"R": RECURRING}, Budget(crash=1, fail=1, release=1, lose=1)),
    "recurring and one-shot": Plan({"R": RECURRING, "A": ONCE_MORE}, Budget(crash=1, fail=1)),
    "three ticks": Plan({"R": JobSpec(recurs=True, ticks=3)}, Budget(crash=1, fail=1)),
    "peer, all faults": Plan({"R": RECURRING}, Budget(crash=1, expire=1, lose=1, peer_crash=1), peer=True),
    "poison among two": Plan({"A": ONE, "R": RECURRING}, Budget(crash=3), capacity=2, listeners=1),
    "failover and crash": Plan({"A": ONCE_MORE}, Budget(failover=1, crash=1, fail=1, lose=1), calls=(("add", "A"),)),
    "failover, batches": Plan({"A": ONE, "R": RECURRING}, Budget(failover=1, lose=1), capacity=2, listeners=1),
    "two failovers": Plan({"R": RECURRING}, Budget(failover=2, release=1)),
    "cancelled, recurring, all faults": Plan(
        {"R": RECURRING}, Budget(crash=1, lose=1, release=1), calls=(("cancel", "R"), ("add", "R"))
    ),
    "cancelled, failing": Plan({"A": ONCE_MORE}, Budget(fail=2, crash=1, release=1, lose=1), calls=(("cancel", "A"),)),
    "revived, dying": Plan({"R": RECURRING}, Budget(fail=2, crash=1, lose=1), calls=(("revive", "R"),)),
    "revived, cancelled, dying": Plan(
        {"R": RECURRING}, Budget(fail=1, crash=1), calls=(("cancel", "R"), ("revive", "R"), ("add", "R"))
    ),
    "limit, all faults": Plan({"A": LIMITED, "B": LIMITED}, Budget(expire=1, lose=1, fail=1)),
    "limit, recurring, all faults": Plan({"R": REGULAR, "A": LIMITED}, Budget(crash=1, fail=1, release=1)),
    "limit, recurring, failover": Plan({"R": REGULAR, "A": LIMITED}, Budget(failover=1)),
    "limits, dying": Plan({"A": BOTH, "B": BOTH, "C": GENERAL}, Budget(crash=1, release=1)),
    "limits, batches": Plan({"A": BOTH, "B": BOTH, "C": GENERAL}, Budget(release=1), capacity=2),
    "limit, added, dying": Plan({j: JobSpec(keys=("s",), added=("k",)) for j in "ABC"}, Budget(crash=1)),
    "limit, cancelled, dying": Plan(
        {"R": REGULAR, "A": LIMITED}, Budget(crash=1), calls=(("cancel", "R"), ("add", "R"))
    ),
    "limit, revived, dying": Plan(
        {"R": REGULAR, "A": LIMITED}, Budget(fail=2), calls=(("revive", "R"), ("revive", "A"))
    ),
    "overlap, skipped, all faults": Plan({"R": SKIPPING}, Budget(crash=1, fail=1, release=1)),
    "overlap, queued, dying": Plan({"R": QUEUEING}, Budget(crash=1, release=1, fail=1)),
    "overlap, cancelled": Plan({"R": QUEUEING}, Budget(crash=1), calls=(("cancel", "R"), ("add", "R"))),
    "paused, dying": Plan({"A": PAUSED, "B": PAUSED, "C": LIMITED}, Budget(crash=1), calls=(("pause", "f"),)),
    "paused, resumed, dying": Plan(
        {"A": PAUSED, "R": REGULAR._replace(fn="f")}, Budget(crash=1), calls=(("pause", "f"), ("resume", "f"))
    ),
    "paused job, cancelled": Plan(
        {"R": SKIPPING}, Budget(crash=1), calls=(("pause", "R"), ("cancel", "R"), ("add", "R"))
    ),
    "unique, replaced, all faults": Plan(
        {"A": UNIQUE, "B": NEWER, "C": NEWER}, Budget(crash=1, fail=1), calls=(("add", "B"), ("add", "C"))
    ),
    "unique, replaced, revived": Plan(
        {"A": UNIQUE, "B": NEWER}, Budget(fail=2, lose=1), calls=(("add", "B"), ("revive", "A"))
    ),
    "unique, replaced, paused, dying": Plan(
        {"A": UNIQUE._replace(fn="f"), "B": NEWER},
        Budget(crash=1),
        calls=(("pause", "f"), ("add", "B"), ("resume", "f")),
    ),
    "unique, replaced, job paused": Plan(
        {"A": UNIQUE, "B": NEWER, "C": NEWER},
        Budget(release=1, fail=1),
        calls=(("pause", "A"), ("add", "B"), ("resume", "A"), ("add", "C")),
    ),
    "unique, replaced, failover, two": Plan({"A": UNIQUE, "B": NEWER}, Budget(failover=1), calls=(("add", "B"),)),
    "unique, replaced, limited": Plan(
        {"A": UNIQUE._replace(keys=("k",)), "B": NEWER._replace(keys=("k",)), "C": LIMITED},
        Budget(crash=1),
        calls=(("add", "B"),),
    ),
    "unique, dying": Plan(
        {"A": UNIQUE, "B": UNIQUE, "C": UNIQUE},
        Budget(crash=1, lose=1, fail=1),
        calls=(("add", "A"), ("add", "B"), ("cancel", "A"), ("add", "C")),
    ),
}

BUGS: list[tuple[str, str, str]] = [
    ("claim_no_record", "one-shot", "referenced"),
    ("no_claim_seq", "one-shot, dying", "lost_or_stuck"),
    ("empty_no_seq", "two one-shots", "step"),
    ("no_settle_seq", "one-shot, dying", "stale_false"),
    ("no_producer_seq", "added", "double_add"),
    ("no_fence_claim", "one-shot, dying", "lost_or_stuck"),
    ("stale_settle", "one-shot, dying", "double_end"),
    ("record_apart", "one-shot", "record"),
    ("record_refused", "one-shot, dying", "record"),
    ("record_repeated", "one-shot, dying", "record"),
    ("result_apart", "one-shot", "result"),
    ("result_refused", "one-shot, dying", "result"),
    ("result_repeated", "one-shot, dying", "result"),
    ("result_of_attempt", "retries", "result"),
    ("gap_taken", "failover", "lost_or_stuck"),
    ("reap_deletes", "two one-shots", "stale_false"),
    ("claim_drops_missing", "cancelled, recurring", "open"),
    ("rearm_after", "recurring", "chain"),
    ("handback_to_next", "recurring, dying", "open"),
    ("final_drop_naive", "recurring, failing", "lost_or_stuck"),
    ("final_drop_by_next", "recurring, failing", "lost_or_stuck"),
    ("extra_in_next", "peer", "open"),
    ("decided_stale", "recurring", "open"),
    ("missing_drops_payload", "cancelled, recurring", "ended"),
    ("next_in_the_past", "cancelled, recurring", "double_run"),
    ("poison_never_counts", "poison", "poison"),
    ("reap_resets_crashes", "poison", "poison"),
    ("release_forgets_crashes", "poison", "poison"),
    ("foreign_hidden", "foreign", "foreign"),
    ("foreign_hidden", "foreign, failover", "foreign"),
    ("crashes_of_a_job", "crashes, peer", "condemned"),
    ("attempt_forgotten", "retries", "attempts"),
    ("reap_resets_attempts", "retries", "attempts"),
    ("cancel_deletes_held_payload", "cancelled, added again", "referenced"),
    ("cancel_leaves_mark", "cancelled", "lost_or_stuck"),
    ("cancel_mark_survives_readd", "cancelled, recurring", "lost_or_stuck"),
    ("mark_kills_readded", "cancelled, by a peer again", "ended"),
    ("resync_keeps_unheld", "failover", "lost_or_stuck"),
    ("resync_trusts_listener", "failover, recurring", "chain"),
    ("resync_keeps_missing", "unique, replaced, failover", "referenced"),
    ("revive_without_slot", "revived, recurring", "open"),
    ("revive_twice", "revived", "double_run"),
    ("revive_over_known", "revived, added again", "referenced"),
    ("revive_keeps_mark", "revived, cancelled", "lost_or_stuck"),
    ("unique_ignored", "unique", "unique"),
    ("unique_outlives_job", "unique", "unique"),
    ("unique_freed_blindly", "unique until started", "unique"),
    ("replaced_runs_beside", "unique, replaced", "limit"),
    ("retry_forgets_slot", "unique, replaced, again", "slots"),
    ("replaced_runs", "unique, replaced", "replaced"),
    ("parked_counts_as_begun", "unique, replaced twice", "replaced"),
    ("replaced_keeps_mark", "unique, replaced, cancelled", "lost_or_stuck"),
    ("replace_ignores_slot", "unique, replaced", "referenced"),
    ("release_frees_overlap", "overlap, skipped", "between"),
    ("reap_frees_slot", "limit", "slots"),
    ("slot_freed_by_stale_settle", "limit", "slots"),
    ("release_keeps_slot", "limit, again", "slots"),
    ("settle_without_promotion", "limit", "parked"),
    ("promote_without_slot", "limit", "slots"),
    ("park_unchecked", "limit", "parked"),
    ("later_slot_kept", "limit, added", "lost_or_stuck"),
    ("cancel_grants_slot", "limit, cancelled", "slots"),
    ("revive_grants_slot", "limit, revived", "slots"),
    ("missed_not_closed", "overlap, revived", "open"),
    ("pause_keeps_slot", "paused", "lost_or_stuck"),
    ("resume_once", "paused, resumed", "parked"),
    *group_plans.BUGS,
]
