"""A web shop with Flask: mails, invoices, stock, abandoned carts, and payments that are made at most once.

pip install '/path/to/workkit[embedded]' flask pytest
cd examples/shop; flask --app shop run                          takes orders
cd examples/shop; flask --app shop workkit listen --sync        runs the jobs, in another terminal
cd examples/shop; python -m pytest                              tests it, with a clock that the tests move

curl -X POST http://127.0.0.1:5000/acme/ada/cart/tea            puts tea into the cart of ada, at the tenant acme
curl -X POST http://127.0.0.1:5000/acme/ada/order               orders it; GET /acme/invoices/NUMBER is its invoice
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

from flask import Flask, abort, current_app

from workkit import schedule
from workkit.errors import NotFound, ResultPending
from workkit.flask import Workkit

HERE = Path(__file__).parent.resolve()
TABLES = (
    "stock (item PRIMARY KEY, pieces)",
    "items (tenant, customer, item, number)",  # without a number they are in the cart
)
s = schedule.create("shop", redis=f"embedded://{HERE}/.workkit")
extension = Workkit(schedule=s)


def create_app(database: str = f"{HERE}/shop.sqlite3") -> Flask:
    app = Flask(__name__)
    app.config["DATABASE"] = database
    extension.init_app(app)
    with app.app_context():
        for table in TABLES:
            sql(f"CREATE TABLE IF NOT EXISTS {table}")

    @app.post("/<tenant>/<customer>/cart/<item>")
    def put(tenant: str, customer: str, item: str) -> str:
        if sql("SELECT 1 FROM stock WHERE item = ? AND pieces = 0", item):
            abort(409, f"{item} is sold out")
        sql("INSERT INTO items VALUES (?, ?, ?, NULL)", tenant, customer, item)
        key = f"cart/{tenant}/{customer}"  # each item puts the reminder off, to two hours after the last one
        remind.now(unique_key=key, debounce="2 hours", debounce_most="1 day").send(tenant, customer)
        return "in your cart"

    @app.post("/<tenant>/<customer>/order")
    def order(tenant: str, customer: str) -> dict[str, str]:
        number, cart = uuid4().hex, "tenant = ? AND customer = ? AND number IS NULL"
        ordered = sql(f"UPDATE items SET number = ? WHERE {cart} RETURNING item", number, tenant, customer)
        if not ordered:
            abort(409, "your cart is empty")  # also at the second one of a double click
        once = pay.now(once_key=f"pay:{number}", once_for="90 days")  # however often this is sent, it is one job
        once.send(number, tenant, customer, ", ".join(item for (item,) in ordered))
        return {"number": number}

    @app.get("/<tenant>/invoices/<number>")
    def invoice(tenant: str, number: str) -> Any:
        try:
            return schedule.result(s, f"invoice/{tenant}/{number}", wait=None)
        except ResultPending:
            return "your invoice is being made", 202
        except NotFound:
            abort(404)

    return app


@s.every("5 minutes", name="stock", overlap="skip", catch_up="skip")
def sync_stock() -> None:
    for item, pieces in warehouse().items():
        sql("INSERT OR REPLACE INTO stock VALUES (?, ?)", item, pieces)


@s.job
def remind(tenant: str, customer: str) -> None:
    """Remind of a cart, if it was not ordered meanwhile."""
    if sql("SELECT 1 FROM items WHERE tenant = ? AND customer = ? AND number IS NULL", tenant, customer):
        mail.send(tenant, customer, "your cart waits for you")


@s.job(timeout="1 minute", crashes=0)  # where it may have run, it is not begun again
def pay(number: str, tenant: str, customer: str, items: str) -> None:
    """Ask the bank at most once, as long as Redis keeps its data. Without an answer the job is dead, and you decide."""
    charge(number)
    mail.send(tenant, customer, f"thank you for {items}")
    render.now(name=f"invoice/{tenant}/{number}").send(number, customer, items)


@s.job(cpu=True, keep="30 days")  # in a worker process: drawing a PDF would hold up all other jobs of this one
def render(number: str, customer: str, items: str) -> str:
    return f"Invoice {number} for {customer}: {items}"


@s.job(limit=2, rate="60/minute", limit_key="tenant", retries=5)  # no tenant holds up the mails of another
def mail(tenant: str, customer: str, text: str) -> None:
    print(f"{tenant} to {customer}: {text}", flush=True)  # yours sends it


def charge(number: str) -> None:
    """Pretend to ask the bank for the money."""


def warehouse() -> dict[str, int]:
    """Pretend to ask the warehouse how many pieces it has."""
    return {"tea": 12, "cake": 0}


def sql(text: str, *values: object) -> list[Any]:
    """Run one statement, as a transaction of its own. Requests and jobs both have the context of the application."""
    with closing(sqlite3.connect(current_app.config["DATABASE"], timeout=30)) as db, db:
        return db.execute(text, values).fetchall()
