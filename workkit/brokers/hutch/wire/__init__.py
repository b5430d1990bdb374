"""The connection to a RabbitMQ: one thread for each, channels, what is declared, confirms and acknowledgements."""
