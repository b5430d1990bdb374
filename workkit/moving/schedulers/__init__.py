"""Readers of other schedulers of Python programs: Celery beat, APScheduler and rq-scheduler."""
