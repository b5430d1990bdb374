"""``manage.py order ada``: place an order, and wait for its receipt."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from shop.orders import OutOfStock, place


class Command(BaseCommand):
    help = "Place an order"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("customer")
        parser.add_argument("--sold-out", action="store_true")

    def handle(self, *_: Any, customer: str, sold_out: bool, **__: Any) -> None:
        try:
            receipt = place(customer, in_stock=not sold_out)
        except OutOfStock:
            self.stdout.write("sold out: nothing was stored, and no job was added")
            return
        while not receipt.is_finished:
            time.sleep(0.1)
            receipt.refresh()
        self.stdout.write(f"{receipt.status}: {receipt.return_value}, by {receipt.worker_ids[-1]}")
