"""The time ahead, worked out: when triggers fire, what is worth a remark, how long a herd waits."""
