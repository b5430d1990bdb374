"""A Redis beside RabbitMQ: what AMQP cannot keep over all listeners. Slots, rates, pauses, unique keys, crashes, and
running jobs with their progress. No message is ever moved there.
"""
