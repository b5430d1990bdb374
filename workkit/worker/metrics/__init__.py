"""What runs of a listener add up to, and how Prometheus reads it."""
