def clear() -> None:
    print("cache cleared", flush=True)
