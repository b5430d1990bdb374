"""A Redis beside RabbitMQ, for state that AMQP cannot share among listeners: slots, rates, pauses, unique keys,
crashes, and running jobs with their progress. Messages stay in RabbitMQ.
"""
