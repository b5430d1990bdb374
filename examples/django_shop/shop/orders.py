"""What a view of the shop would call."""

from typing import Any

from django.db import transaction

from shop.jobs import remind, s
from shop.models import Order
from shop.tasks import send_receipt
from workkit.django import add_on_commit


class OutOfStock(Exception):
    pass


def place(customer: str, *, in_stock: bool = True) -> Any:
    """Store an order, with its task and its job: all three, or nothing. Return the result of the task."""
    with transaction.atomic():
        order = Order.objects.create(customer=customer)
        receipt = send_receipt.enqueue(order.pk)
        add_on_commit(s, remind, in_="1 second", args=[order.pk])
        if not in_stock:
            raise OutOfStock(customer)
    return receipt
