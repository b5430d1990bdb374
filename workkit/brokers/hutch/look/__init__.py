"""Reading an exchange: dead messages, what is due, queues, consumers. The working path does not use it."""
