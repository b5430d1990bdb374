from django.db import models


class Order(models.Model):
    customer = models.CharField(max_length=100)
    receipts = models.IntegerField(default=0)
    reminders = models.IntegerField(default=0)


class Summary(models.Model):
    """What one run of the recurring job saw."""

    due = models.DateTimeField()
    orders = models.IntegerField()
