"""From a request to its answer: who may, a thread that asks, a look at a page, an act, and what is sent."""
