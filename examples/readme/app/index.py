from app import s


@s.job
def rebuild(number: int) -> None:
    print(f"index {number} rebuilt", flush=True)
