"""The layouts of hutch and wppurking/event: a schedule is an exchange on RabbitMQ, a function is a routing key."""

DEFAULT_URL = "amqp://guest:guest@127.0.0.1:5672/"
