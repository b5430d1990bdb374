"""The functions of this application that listeners run. Put yours in its place."""


def greet(name: str) -> None:
    print(f"hello, {name}", flush=True)
