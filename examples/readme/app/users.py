def activate(email: str) -> None:
    print(f"{email} is active", flush=True)


def digest() -> None:
    print("digest sent", flush=True)
