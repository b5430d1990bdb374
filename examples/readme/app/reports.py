def digest() -> None:
    print("report written", flush=True)


def nightly() -> None:
    print("nightly report written", flush=True)


def bill() -> None:
    print("bills sent", flush=True)
