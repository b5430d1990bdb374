"""Jobs of workkit: a listener finds them here. The decorated one is planned, and `listen --sync` makes it so."""

from django.db.models import F

from shop.models import Order, Summary
from workkit import current_job
from workkit.django import default_schedule

s = default_schedule()


@s.every("second", name="summary")
def summary() -> None:
    Summary.objects.create(due=current_job().due, orders=Order.objects.count())


def remind(order: int) -> None:
    Order.objects.filter(pk=order).update(reminders=F("reminders") + 1)
