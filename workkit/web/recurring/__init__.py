"""What pages of recurring jobs work out, purely: rows, times to come, rules as sentences, the same call."""
