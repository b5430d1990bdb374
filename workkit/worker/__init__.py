"""The listener: one loop that talks to brokers, threads that run functions, one inbox between them."""
