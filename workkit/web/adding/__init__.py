"""Bringing a job in, or changing it, from the browser: what is typed is answered before anything is saved."""
