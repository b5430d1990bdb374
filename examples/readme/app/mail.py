from app import s


@s.job
def poll() -> None:
    print("mail fetched", flush=True)


@s.job
def alarm() -> None:
    print("alarm sent", flush=True)
