"""One file that defines a function, adds it, and listens.

python examples/app.py                             adds and listens, on the private server of this folder
cd examples; workkit listen examples --embedded    beside it: runs the same functions
"""

from pathlib import Path

from workkit import schedule

s = schedule.create("examples", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


def greet(name: str) -> None:
    """Say hello."""
    print(f"hello, {name}", flush=True)


if __name__ == "__main__":
    schedule.add_now(s, greet, args=["now"])
    schedule.add(s, in_="2 seconds", fn=greet, args=["in two seconds"])
    schedule.add(s, every="weekday at 9am", tz="Europe/Paris", fn=greet, args=["on a weekday"])
    schedule.listen(s)
