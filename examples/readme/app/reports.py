from app import s


@s.job
def digest() -> None:
    print("report written", flush=True)


@s.job
def nightly() -> None:
    print("nightly report written", flush=True)


@s.job
def bill() -> None:
    print("bills sent", flush=True)
