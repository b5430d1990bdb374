"""Live pages: one hub, a channel for each schedule, a stream for each visible page."""
