"""The layouts of hutch and wppurking/event: a schedule is an exchange on RabbitMQ, a function is a routing key."""
