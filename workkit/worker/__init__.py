"""The listener: one loop that sends requests to brokers, threads that run functions, and one inbox between them."""
