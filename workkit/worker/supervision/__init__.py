"""Several listener processes under one supervisor."""
