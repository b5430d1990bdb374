"""What is masked of a job, and that no page, JSON or answer has it for anybody."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import handlers
from tests.processes import until
from tests.web.conftest import Browser, Open
from workkit import schedule
from workkit.contract.history import PastRun, call_of
from workkit.contract.mask import MASKED, Mask, hidden_paths, mask
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure
from workkit.schedule import Schedule
from workkit.text.masked_text import MASK
from workkit.web.auth import Local
from workkit.web.mask import veil_of

MASKS = mask()
SECRETS = """
password Passwd pass db_pass SECRET client_secret token accessToken api_key api-key apikey X-Api-Key authorization
oauth card cardNumber iban ssn cookie Set-Cookie
"""


def job(*args: Any, error: str | None = None, **kwargs: Any) -> Job:
    failure = Failure(type="OSError", message=error, traceback=f"  raise OSError({error!r})") if error else None
    return Job(
        id="5" * 40, schedule="t", fn="#'app.x/f", args=args, kwargs=kwargs or None, error=error, failure=failure
    )


@pytest.mark.parametrize(
    "key",
    SECRETS.split(),
)
def test_a_key_that_says_it_is_a_secret_has_its_value_masked(key: str) -> None:
    assert MASKS.value({key: "x", "n": 1}) == {key: MASK, "n": 1}


@pytest.mark.parametrize("key", ["user", "n", "api", "key", "customer", "to", ""])
def test_other_keys_show_their_value(key: str) -> None:
    assert MASKS.value({key: "x"}) == {key: "x"}


@pytest.mark.parametrize("value", ["x", "", 7, None, True, ["a"], {"a": 1}, 1.5])
def test_all_of_a_value_is_masked_whatever_it_is(value: object) -> None:
    assert MASKS.value({"a": [{"token": value}]}) == {"a": [{"token": MASK}]}


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (
            {"headers": [["Authorization", "Bearer x"], ["Host", "y"]]},
            {"headers": [["Authorization", MASK], ["Host", "y"]]},
        ),
        ({"name": "API_KEY", "value": "x"}, {"name": "API_KEY", "value": MASK}),
        ({"name": "HOME", "value": "/root"}, {"name": "HOME", "value": "/root"}),
        (["mysql", "--password", "x", "-v"], ["mysql", "--password", MASK, "-v"]),
        (["--password=x"], [f"--password={MASK}"]),
        ('{"password": "x"}', '{"password": ' + MASK + "}"),
        ({"x" * 300: 1}, {"x" * 300: MASK}),
        ({7: "a"}, {7: "a"}),
    ],
)
def test_pairs_are_found_in_other_forms(value: object, seen: object) -> None:
    assert MASKS.value(value) == seen


def test_positional_arguments_are_masked_by_their_parameter() -> None:
    assert MASKS.arguments([7, "x", "y"], {"token": "z", "n": 1}, ["export_id", "password"]) == (
        (7, MASK, "y"),
        {"token": MASK, "n": 1},
    )
    assert MASKS.arguments([7, "x"], None) == ((7, "x"), {})


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "value",
    [
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_test_abc123", "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "xoxb-1234-5678-abcdef", "AKIAIOSFODNN7EXAMPLE", JWT, PEM, PEM[:40], "4111111111111111", 4111111111111111,
        "4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005", "3782 822463 10005", "6011000990139424",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "b2f1c9d47e6a4f83a1d05c7e9b8f6a21d3e4c5b6a7f80911",
        "Zx8-kQ2_vN5tR7yW1mB4cD6fG9hJ0kL3pS", "d3b07384d113edec49eaa6238ad5ff00a1b2c3d4e5f60718293a4b5c6d7e8f90",
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_is_masked_where_nothing_names_it(value: str | int) -> None:
    for args in ([value], [[value, "x"]]):
        assert str(value) not in str(MASKS.arguments(args, None))
    assert MASKS.arguments([value], None)[0] == (MASK,)


@pytest.mark.parametrize(
    "value",
    [
        "550e8400-e29b-41d4-a716-446655440000", "550E8400E29B41D4A716446655440000",
        "order-550e8400-e29b-41d4-a716-446655440000",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709", "5" * 40, "ann@example.com", "4111111111111112", 1764148565000,
        "1764148565000", 1764148565000123, "2026-11-26T09:16:05.123456+00:00",
        "report-2026-11-26T09-16-05Z-part-0001-of-0020",
        "/usr/local/lib/python3.12/site-packages/workkit/web/mask.py", "monthly-report-for-the-finance-department-2026",
        "calculateMonthlyRevenueForAllRegisteredCustomers", "s3://bucket/exports/2026/11/26/customers-europe-west.csv",
        "https://example.com/a/very/long/path/that/has/no/secret/in/it?page=2",
        "00000000000000000000000000000000000001",
        "sketch", "ask_live_questions", "AKIA", "eyJ", "sk_live_", "1Z999AA10123456784", "GB82WEST12345698765432",
        3.1415926535897931, "customer_0000000123_invoice_0000004567_final",
        "SELECT * FROM orders_of_the_year_2026_and_later",
        -4111111111111111, "user_01ARZ3NDEKTSV4RRFFQ69G5FAV", True, None, 42,
    ],
)  # fmt: skip
def test_plain_ids_and_names_are_shown(value: object) -> None:
    assert MASKS.arguments([value], None) == ((value,), {})
    assert MASKS.arguments([[value]], None) == (([value],), {})


def test_a_random_value_is_shown_under_a_name_that_is_no_secret() -> None:
    digest = "d3b07384d113edec49eaa6238ad5ff00a1b2c3d4e5f60718293a4b5c6d7e8f90"
    assert MASKS.arguments([digest], {"sha256": digest}, ["digest"]) == ((digest,), {"sha256": digest})
    assert MASKS.arguments(["a", digest], None, ["digest"]) == (("a", MASK), {})


def test_what_looks_like_a_secret_is_masked_in_texts_and_under_any_name() -> None:
    assert MASKS.text(f"charge with sk_live_4eC39HqLyjWD failed, key {PEM}; {JWT}") == (
        f"charge with {MASK} failed, key {MASK}; {MASK}"
    )
    assert MASKS.arguments([], {"note": "paid with 4111 1111 1111 1111."})[1] == {"note": f"paid with {MASK}."}
    seen = MASKS.job(job(4111111111111111, error="no charge of 4111111111111111"), ["customer"])
    assert (seen.args, seen.error) == ((MASK,), f"no charge of {MASK}")


def test_a_call_is_written_in_pieces() -> None:
    parts = MASKS.call_parts(job(7, token="x"))
    assert parts == [("app.x.f", "fn"), ("(", "arg"), ("7", "arg"), (", token=", "arg"), (MASK, "mask"), (")", "arg")]
    assert "".join(text for text, _ in MASKS.call_parts(job("a" * 1000))) == "app.x.f(" + '"' + "a" * 190 + "…"
    assert "".join(text for text, _ in MASKS.call_parts(job("\u202e"))) == 'app.x.f("\\u202e")'


def test_a_masked_argument_does_not_show_in_the_error() -> None:
    seen = MASKS.job(job("hunter2", token="tok-9", error="login of hunter2 with tok-9 failed, card=4111"), ["password"])
    assert seen.args == (MASK,)
    assert seen.kwargs == {"token": MASK}
    assert seen.error == f"login of {MASK} with {MASK} failed, card={MASK}"
    assert seen.failure is not None
    for text in (seen.failure.message, seen.failure.traceback, repr(seen)):
        assert not any(secret in text for secret in ("hunter2", "tok-9", "4111"))


def test_the_arguments_of_a_past_run_are_masked_and_do_not_show_in_its_error() -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    ran = PastRun(id="5", name=None, fn="f", due=at, ended=at, ending="dead", error="ValueError: hunter2 is short")
    ran = replace(ran, call='[["hunter", {"password": "hunter2"}], {"token": 12345}]')
    seen = MASKS.run(ran)
    assert call_of(seen) == (("hunter", {"password": MASK}), {"token": MASK})
    assert seen.error == f"ValueError: {MASK} is short"
    assert MASKS.run(replace(ran, call="[[")).call == ""
    hidden = mask(everything=True).run(ran)
    assert (call_of(hidden), hidden.error) == (((MASK,), None), f"ValueError: {MASK}")
    assert call_of(mask(everything=True).run(replace(ran, call="[[]]"))) == ((), None)


def test_the_masked_arguments_of_its_job_do_not_show_in_the_error_of_a_run_without_arguments() -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    ran = PastRun(id="5", name=None, fn="f", due=at, ended=at, ending="dead", error="ValueError: hunter2 is short")
    veil = replace(veil_of(), parameters=lambda fn, count: ["password"][:count])
    assert veil.run(ran, of=job("hunter2")).error == f"ValueError: {MASK} is short"


def test_check_ins_are_masked() -> None:
    running = Job(id="5" * 40, schedule="t", fn="f", progress="sent with token=abc")
    assert MASKS.job(running).progress == f"sent with token={MASK}"
    assert MASKS.job(Job(id="5" * 40, schedule="t", fn="f", progress=(1.0, 2.0))).progress == (1.0, 2.0)


def test_more_expressions_are_added() -> None:
    more = mask("^pin$", "customer")
    assert more.value({"pin": 1, "spin": 2, "customer_ref": 3, "token": 4}) == {
        "pin": MASK,
        "spin": 2,
        "customer_ref": MASK,
        "token": MASK,
    }
    assert more.text("pin=1234 spin=2") == f"pin={MASK} spin=2"


def test_an_expression_that_is_none_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidOptions, match=r'mask="a\(b" is not a regular expression: missing \)') as refused:
        mask("a(b")
    assert (refused.value.given, refused.value.position, refused.value.where) == ("a(b", 1, "mask")


def test_a_function_decides() -> None:
    def decide(name: str, value: object) -> bool | None:
        if name == "token":
            return False
        return True if value == 42 else None

    decided = mask(decide=decide)
    assert decided.value({"token": "x", "n": 42, "password": "y"}) == {"token": "x", "n": MASK, "password": MASK}


def test_what_a_function_cannot_judge_is_masked() -> None:
    def decide(name: str, value: object) -> bool:
        raise RuntimeError(name)

    assert mask(decide=decide).value({"n": 1}) == {"n": MASK}


def test_all_arguments_may_be_masked() -> None:
    everything = mask(everything=True)
    seen = everything.job(job("ann@example.com", 7, to="bob@example.com", error="no mail to bob@example.com"))
    assert (seen.args, seen.kwargs) == ((MASK,), None)
    assert seen.error == f"no mail to {MASK}"
    assert everything.arguments([], None) == ((), {})


def test_metadata_is_masked_by_its_names() -> None:
    told = replace(job(1), meta={"request": "9f2c", "token": "secret"})
    assert MASKS.job(told).meta == {"request": "9f2c", "token": MASK}
    assert "secret" not in str(mask(everything=True).job(told).meta)
    assert MASKS.job(job(1)).meta is None


def test_what_lies_deep_or_comes_late_is_masked() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep, 1, 2]
    assert "x" not in str(_flat(MASKS.value(deep)))
    many = MASKS.value(list(range(30_000)))
    assert many[0] == 0
    assert many[-1] is MASKED


def _flat(value: Any) -> list[Any]:
    found, left = [], [value]
    while left:
        one = left.pop()
        left += one if isinstance(one, list) else []
        found += [] if isinstance(one, list) else [one]
    return found


@pytest.mark.parametrize("digits", [12, 13, 16, 19, 20, 5_000])
def test_a_number_is_masked_as_a_possible_card_if_it_has_as_many_digits(digits: int) -> None:
    numbers = (4 * 10 ** (digits - 1) + n for n in range(10))  # one of ten has a correct check digit
    assert [MASKS.value(n) for n in numbers].count(MASKED) == (1 if 13 <= digits <= 19 else 0)


def test_a_value_that_cannot_be_written_is_no_error() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert MASKS.value({"a": Broken()}) == {"a": "?"}
    assert MASKS.call_parts(job(Broken()))[2][0] == '"?"'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_any_value_keeps_its_shape(value: Any) -> None:
    seen = MASKS.value(value)
    assert seen is MASKED or isinstance(seen, str) or type(seen) is type(value)
    if isinstance(value, dict):
        assert list(seen) == list(value)
    assert MASKS.value(seen) == seen


@given(VALUES, st.sampled_from(["token", "Password", "credit_card"]))
def test_no_secret_is_shown_wherever_it_is_nested(value: Any, key: str) -> None:
    nested = [{"a": value, key: "s3cr3t"}, {"b": [{key: ["s3cr3t"]}]}]
    assert "s3cr3t" not in str(MASKS.value(nested))
    assert "s3cr3t" not in str(MASKS.call_parts(job(nested, b=nested)))


def test_masks_are_values() -> None:
    assert mask("pin") == Mask(more=("pin",))


def test_hidden_values_are_named_as_the_act_that_shows_them_names_them() -> None:
    args = ("a", {"pin/code~": 1, "token": "x", "in": [{"password": "y"}, "password=z"]})
    masked = mask("pin").job(Job(id="0" * 40, schedule="s", fn="f", args=args, kwargs={"secret": {"a": 1}, "b": 2}))
    assert hidden_paths(masked) == [
        "args/1/pin~1code~0", "args/1/token", "args/1/in/0/password", "args/1/in/1", "kwargs/secret",
    ]  # fmt: skip
    assert hidden_paths(masked, most=2) == ["args/1/pin~1code~0", "args/1/token"]


HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.web.test_mask"], "folder": None}


def tell(**_: Any) -> None:
    from workkit import current_job

    current_job().checkin("password=hunter2")
    handlers.wait_for_gate()


def test_secrets_of_arguments_check_ins_and_reasons_are_hidden(opened: Open, s: Schedule) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    schedule.add_now(s, tell, kwargs={"password": "hunter2", "n": "open sesame"})
    schedule.add(s, handlers.note, args=({"api_key": "hunter2"},), in_="1 hour", name="nightly")
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            schedule.pause(s, reason="token=hunter2")
            plain, custom = opened(s), opened(s, mask=lambda name, value: True if name == "n" else None)
            viewer = opened(s, way=Local(role="viewer"), mask_all=True)
            until(lambda: "password=" in plain.get(f"/s/{s.name}/").text, what="the check-in")
            for path in (f"/s/{s.name}/", f"/s/{s.name}/listeners", f"/s/{s.name}.json", f"/s/{s.name}/listeners.json"):
                assert "hunter2" not in plain.get(path).text
                assert "open sesame" not in viewer.get(path).text
            assert "open sesame" in plain.get(f"/s/{s.name}/").text
            assert "open sesame" not in custom.get(f"/s/{s.name}/").text
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_what_a_change_replaced_is_hidden_on_the_page_of_its_job_too(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="hour", name="nightly")
    schedule.pause(s, "nightly", reason="token=hunter2")
    schedule.pause(s, "nightly", reason="another")
    for path in ("jobs/nightly", "jobs/nightly.json", "changes", "changes.json", "changes.jsonl"):
        told = browser.get(f"/s/{s.name}/{path}").text
        assert "another" in told
        assert "hunter2" not in told
