from app import s


@s.job
def activate(email: str) -> None:
    print(f"{email} is active", flush=True)


@s.job
def digest() -> None:
    print("digest sent", flush=True)
