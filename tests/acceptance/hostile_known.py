"""Values that are known: those that hurt once, one of each kind; and the jobs at which other values point. Pure."""

from __future__ import annotations

from functools import partial
from hashlib import sha1

from tests.acceptance import hostile_parts as parts
from tests.acceptance.hostile_texts import FN, IDS, JOBS, PAST, as_bytes
from tests.acceptance.hostile_values import HOUR_MS, Aim, Value


def standing(aim: Aim) -> list[Value]:
    """The jobs at which values point, so that commands find them: some wait in S:next, some for another attempt."""
    later, made = str(aim.now_ms + HOUR_MS), []
    for place, (id, data) in enumerate(JOBS.items()):
        item = b'{"id":"%b"}' % id.encode()
        made += [Value(name="jobs", kind="hash", member=id.encode(), value=data, if_new=True)]
        if place % 3:
            made += [Value(name="next", kind="zset", member=item, score=later, if_new=True)]
        else:
            made += [Value(name="again", kind="zset", member=b"o %d 1 0 - %b" % (PAST, item), score=later, if_new=True)]
    return made


def named(aim: Aim) -> list[Value]:
    """The values of which it is known that they hurt once, one of each kind; every storm begins with them."""
    hour, rules = b"%d" % (aim.now_ms // HOUR_MS), parts.many_rules(20_000)
    base = {"args": "[0]", "cron": '"* 1 1 * 0 0 0"', "job": f'"{FN}"'}
    huge = (
        {**base, "local": rules, "zone": '"Europe/Paris"'},
        {**base, "cron": '"' + "*," * 500_000 + '"'},
        {**base, "opts": "{" + ",".join(f'"{n}":{n}' for n in range(20_000)) + "}"},
        {**base, "until": "9" * 4000, "from": "-1"},
        {**base, "args": "[" * 900 + "]" * 900},
    )
    made = []
    for data in map(parts.written, huge):
        id_ = sha1(data).hexdigest().encode()
        made += [Value(name="jobs", kind="hash", member=id_, value=data)]
        made += [Value(name="next", kind="zset", member=b'{"id":"%b"}' % id_, score="9e12")]
    running = partial(Value, name="running", kind="hash", of="hostile:1:00000000000a")
    items = (b'{"id":"\\ud800"}', b'{"id":""}', b'{"id":null}', b"", b"\0")
    long = b"1" + b"0" * 20
    texts = (b"r %b 0 0 - " % long, b"r 5 %b 0 - " % long, b"o 1e300 0 0 - ", b"r -1e300 3 9 - ")
    made += [Value(name="next", kind="zset", member=one, score=score) for one in items for score in ("1", "-1e300")]
    made += [Value(name="again", kind="zset", member=text + items[0], score="1") for text in texts]
    made += [
        Value(name="again", kind="zset", member=text + b'{"id":"%b"}' % IDS[n].encode(), score=("1", "-1e300")[n % 2])
        for n, text in enumerate(texts)
    ]
    made += [running(member=b"1." + one, value=one) for one in (*items, *texts)]
    made += [running(member=b"", value=b""), running(member=b"2.x", value=long)]
    made += [Value(name="control", kind="hash", member=b"limit", value=b"-1")]
    made += [Value(name="control", kind="hash", member=b"turn_ms", value=value) for value in (b"-1", b"nan")]
    made += [Value(name="control", kind="hash", member=b"paused:schedule", value=value) for value in (b"\xc1", b"")]
    for key in (*aim.limits, "over:hostile", "schedule"):
        short = (as_bytes(key) + b"\0", as_bytes(key) + b"\0" + b"0" * 16, as_bytes(key) + b"\0" + b"0" * 16 + b"\0a")
        made += [Value(name="waiting", kind="zset", member=one) for one in short]
    for what in (b"done", b"dead", b"retried", b"corrupt", b"missing", b"cancelled"):
        made += [Value(name="stats", kind="hash", member=what + b":" + hour, value=b"9" * 30)]
    made += [Value(name="names", kind="hash", member=b"\xff", value=b" - \xff")]
    made += [Value(name="listeners", kind="zset", member=b"\xff\xfe", score="-inf")]
    made += [Value(name="listeners", kind="zset", member=b"hostile:2:00000000000b", score="inf")]
    made += [Value(name="dead", kind="zset", member=b"nothing", score="inf")]
    return made
