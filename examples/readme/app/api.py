import time


def run() -> None:
    time.sleep(0.5)  # a server would answer requests here
