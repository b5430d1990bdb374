def poll() -> None:
    print("mail fetched", flush=True)


def alarm() -> None:
    print("alarm sent", flush=True)
