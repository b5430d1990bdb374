"""Cron strings of other programs: crontab lines, the Clojure code, and which text is which."""
