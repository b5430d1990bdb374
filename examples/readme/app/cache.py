from app import s


@s.job
def clear() -> None:
    print("cache cleared", flush=True)
