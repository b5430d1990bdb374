def rebuild(number: int) -> None:
    print(f"index {number} rebuilt", flush=True)
