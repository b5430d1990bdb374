"""Two services on an exchange of RabbitMQ, which they may share with Ruby programs that use hutch. Each has a namespace
of its own, so each gets every order: billing charges it and sends an invoice a second later, audit notes it.

python examples/hutch_events.py audit [amqp://URL of a RabbitMQ [EXCHANGE]], and in another terminal
python examples/hutch_events.py billing [amqp://URL of a RabbitMQ [EXCHANGE]]
"""

import sys
import time
from typing import Any

from workkit import Discard, current_job, job, schedule

usual = ("billing", "amqp://guest:guest@127.0.0.1:5672/", "hutch")
service, url, exchange = (*sys.argv[1:], *usual[len(sys.argv) - 1 :])
s = schedule.create(exchange, amqp=url, layout="hutch", namespace=f"{exchange}-{service}")
done: list[int] = []

if service == "audit":

    @job("orders.created")
    def note(order: dict[str, Any]) -> None:
        """Handle what Python, Ruby or Go has published."""
        print(f"order {order['id']} noted", flush=True)
        done.append(order["id"])

else:

    @job("orders.created", retries=3, backoff="constant", base="1s")
    def charge(order: dict[str, Any]) -> None:
        """Handle it too. An order that fails comes back to this service alone."""
        if order["amount"] <= 0:
            print(f"order {order['id']} is free", flush=True)
            raise Discard("nothing to charge")
        if order["id"] == 1 and current_job().attempt == 0:
            raise ConnectionError("the bank does not answer")
        print(f"order {order['id']} charged in attempt {current_job().attempt + 1}", flush=True)
        schedule.add(s, "invoices.due", in_="1 second", args=[{"order": order["id"]}])

    @job("invoices.due")
    def send(invoice: dict[str, Any]) -> None:
        """Handle what was delayed: RabbitMQ has kept it."""
        print(f"invoice for order {invoice['order']}", flush=True)
        done.append(invoice["order"])


if __name__ == "__main__":
    with schedule.listener(s, folder=None, threads=4):
        print(f"{service} listens", flush=True)
        if service == "billing":
            for id, amount in enumerate((30, 20, 0), start=1):
                schedule.add_now(s, "orders.created", args=[{"id": id, "amount": amount}])
        while len(done) < (2 if service == "billing" else 3):
            time.sleep(0.05)
