def is_busy() -> bool:
    return False
