"""The small application of README.md: what its blocks import. They run in this folder, from top to bottom."""

from workkit import schedule

s = schedule.create("app-tasks")  # on the server that WORKKIT_REDIS_URL names
