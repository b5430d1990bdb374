def is_cancelled(order_id: int) -> bool:
    return order_id < 0
