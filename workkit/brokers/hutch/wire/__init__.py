"""The connection to a RabbitMQ: its thread, channels, declarations, confirms and acknowledgements."""
