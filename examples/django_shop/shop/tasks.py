"""Tasks of Django, which workkit runs."""

from django.db.models import F

from shop.models import Order
from workkit import job

try:
    from django.tasks import task
except ImportError:  # before Django 6.0
    from django_tasks import task


@task
@job(retries=3)
def send_receipt(order: int) -> str:
    Order.objects.filter(pk=order).update(receipts=F("receipts") + 1)
    return f"receipt of order {order}"


@task(priority=10)
async def greet(customer: str) -> str:
    return f"hello, {customer}; orders: {await Order.objects.filter(customer=customer).acount()}"
