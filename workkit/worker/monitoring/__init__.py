"""What monitors outside see of a listener: metrics for Prometheus, spans of runs, pings of named jobs."""
