"""The time ahead, worked out: what is worth a remark, how long a herd waits, what a change of the clock does."""
