"""Calls that type checkers refuse. Behind each: a part of the error of mypy ~ a part of the error of pyright."""

from __future__ import annotations

from datetime import date

from workkit import schedule

s = schedule.create("app-tasks")


@s.job(retries=5, timeout="2m")
def export(day: date, *, full: bool = False) -> int:
    return 3


@s.job
async def load(n: int) -> str:
    return str(n)


@s.job
def two(a: int, b: int) -> None: ...


export.send()  # Missing positional argument "day" ~ Argument missing for parameter "day"
export.send("2027-03-01")  # incompatible type "str"; expected "date" ~ cannot be assigned to parameter "day"
export.send(date(2027, 3, 1), fulll=True)  # Unexpected keyword argument "fulll" ~ No parameter named "fulll"
export.send(date(2027, 3, 1), True)  # Too many positional arguments ~ Expected 1 positional argument
export.send(date(2027, 3, 1), priority=3)  # Unexpected keyword argument "priority" ~ No parameter named "priority"
export.send(date(2027, 3, 1), at="7pm")  # Unexpected keyword argument "at" ~ No parameter named "at"
export.send(args=[date(2027, 3, 1)])  # Unexpected keyword argument "args" ~ No parameter named "args"
export.delay(date(2027, 3, 1), countdown=5)  # argument "countdown" ~ No parameter named "countdown"
export(5)  # incompatible type "int"; expected "date" ~ cannot be assigned to parameter "day"
export.now(full=True)  # Unexpected keyword argument "full" ~ No parameter named "full"
export.now("7pm")  # incompatible type "str"|Too many positional ~ Expected 0 positional arguments
export.at("7pm tomorrow", priorty=3)  # Unexpected keyword argument "priorty" ~ No parameter named "priorty"
export.at("7pm tomorrow", full=True)  # Unexpected keyword argument "full" ~ No parameter named "full"
export.at("7pm tomorrow", retries="x")  # Argument "retries" .* incompatible ~ parameter "retries"
export.at("7pm tomorrow", limit=2)  # Unexpected keyword argument "limit" ~ No parameter named "limit"
export.at()  # Too few arguments ~ Expected 1 more positional argument
export.at("7pm", date(2027, 3, 1))  # Too many positional arguments ~ Expected 1 positional argument
export.at("7pm", args=[1])  # Unexpected keyword argument "args" ~ No parameter named "args"
export.at("7pm", every="day")  # Unexpected keyword argument "every" ~ No parameter named "every"
export.at("7pm").send()  # Missing positional argument "day" ~ Argument missing for parameter "day"
export.at("7pm").at("8pm")  # has no attribute "at" ~ Cannot access attribute "at"
export.at("7pm")(date(2027, 3, 1))  # not callable ~ not callable|__call__
export.in_(5)  # incompatible type "int" ~ cannot be assigned to parameter "in_"
export.every("day", overlap="wait")  # Argument "overlap" ~ parameter "overlap"
export.cron(5)  # incompatible type "int" ~ cannot be assigned to parameter "cron"
export.when(5)  # incompatible type "int" ~ cannot be assigned to parameter "when"
export.map(["2027-03-01"])  # expected "date" ~ cannot be assigned to parameter "values"
two.map([1])  # Invalid self argument ~ Cannot access attribute "map"
export.many(5)  # incompatible type "int" ~ cannot be assigned to parameter "rows"
load.send("x")  # incompatible type "str"; expected "int" ~ cannot be assigned to parameter "n"
text: str = export.send(date(2027, 3, 1)).result("30s")  # has type "int", variable has type "str" ~ "int" is not
n: int = load.send(3).result()  # has type "str", variable has type "int" ~ "str" is not
export.send(date(2027, 3, 1)).result(30)  # incompatible type "int" ~ cannot be assigned to parameter "wait"
s.bind(export).send()  # Missing positional argument "day" ~ Argument missing for parameter "day"
s.bind(5)  # No overload variant ~ No overloads for "bind"|cannot be assigned to parameter
s.configure(rediss="x")  # Unexpected keyword argument "rediss" ~ No parameter named "rediss"
export.apply_async((1,))  # has no attribute "apply_async" ~ Cannot access attribute "apply_async"


@s.job(retrys=5)  # Unexpected keyword argument "retrys" ~ No overloads for "job"
def one() -> None: ...


async def main() -> None:
    await export.asend()  # Missing positional argument "day" ~ Argument missing for parameter "day"
    x: str = await (await export.asend(date(2027, 3, 1))).aresult()  # has type "int" ~ "int" is not assignable
    print(x, await load("x"))  # incompatible type "str" ~ cannot be assigned to parameter "n"
