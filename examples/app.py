"""One file that defines a function, adds it, and listens.

python examples/app.py                             adds and listens, on the private server of this folder
cd examples; workkit listen examples --embedded    beside it: runs the same functions
"""

from pathlib import Path

from workkit import schedule

s = schedule.create("examples", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.job
def greet(name: str) -> None:
    """Say hello."""
    print(f"hello, {name}", flush=True)


if __name__ == "__main__":
    greet.send("now")
    greet.in_("2 seconds").send("in two seconds")
    greet.every("weekday at 9am", tz="Europe/Paris").send("on a weekday")
    schedule.listen(s)
