"""RabbitMQ's management API: what the broker tells of itself beside AMQP. It changes nothing."""
