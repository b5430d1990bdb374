"""The tests of the shop: hours pass in a moment. The fixture `wk` comes with workkit."""

from pathlib import Path

import pytest
import shop
from flask.testing import FlaskClient

from workkit import schedule, testing

pytestmark = pytest.mark.filterwarnings("ignore:shop.render has cpu=True")  # here it runs in the process of the test
s = shop.s


@pytest.fixture(autouse=True)
def web(wk: testing.Workkit, tmp_path: Path) -> FlaskClient:
    wk.travel("2026-03-27 10:00")
    return shop.create_app(f"{tmp_path}/shop.sqlite3").test_client()


def order(web: FlaskClient) -> str:
    web.post("/acme/ada/cart/tea")
    return str(web.post("/acme/ada/order").get_json()["number"])


def mails(wk: testing.Workkit) -> list[tuple[str, ...]]:
    return [(f"{run.at:%H:%M:%S}", *run.job.args) for run in wk.ran if run.fn == "shop.mail"]


def test_an_order_is_paid_and_thanked_for_and_has_an_invoice(wk: testing.Workkit, web: FlaskClient) -> None:
    number = order(web)
    assert web.post("/acme/ada/order").status_code == 409  # a double click
    wk.run_due()
    assert mails(wk) == [("10:00:00", "acme", "ada", "thank you for tea")]
    assert web.get(f"/acme/invoices/{number}").text == f"Invoice {number} for ada: tea"
    assert web.get(f"/other/invoices/{number}").status_code == 404


def test_the_bank_is_never_asked_again_when_its_answer_did_not_come(
    wk: testing.Workkit, web: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def charge(number: str) -> None:
        asked.append(number)
        raise ConnectionError("the bank does not answer")

    monkeypatch.setattr(shop, "charge", charge)
    number = order(web)
    wk.run_due(raise_errors=False)
    again = shop.pay.now(once_key=f"pay:{number}", once_for="90 days").send(number, "acme", "ada", "tea")
    wk.run_due()
    assert (again.new, again.ending, asked, mails(wk)) == (False, "dead", [number], [])


def test_a_cart_is_reminded_of_two_hours_after_its_last_item(wk: testing.Workkit, web: FlaskClient) -> None:
    web.post("/acme/bob/cart/tea")
    web.post("/acme/ada/cart/tea")
    wk.run_until("11:00")
    web.post("/acme/ada/cart/tea")
    web.post("/acme/bob/order")
    wk.run_until("23:00")
    assert mails(wk)[1:] == [("13:00:00", "acme", "ada", "your cart waits for you")]  # the first one thanks bob


def test_stock_is_synced_every_five_minutes(wk: testing.Workkit, web: FlaskClient) -> None:
    schedule.sync(s)  # as `listen --sync` does
    assert web.post("/acme/ada/cart/cake").status_code == 200
    assert [f"{run.at:%H:%M}" for run in wk.run_until("10:15")] == ["10:05", "10:10", "10:15"]
    assert web.post("/acme/ada/cart/cake").status_code == 409  # sold out


def test_the_mails_of_one_tenant_do_not_hold_up_those_of_another(wk: testing.Workkit) -> None:
    for tenant in ("acme", "acme", "acme", "small"):
        shop.mail.send(tenant, "ada", "hello")
    wk.run_until("10:01")
    assert [at for at, tenant, *_ in mails(wk) if tenant == "acme"] == ["10:00:00", "10:00:01", "10:00:02"]
    assert [at for at, tenant, *_ in mails(wk) if tenant == "small"] == ["10:00:00"]
