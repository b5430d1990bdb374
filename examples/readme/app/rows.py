from pathlib import Path


def read(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def save(row: str) -> None:
    print(f"saved {row}", flush=True)
