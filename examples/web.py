"""Add from an asyncio program, and listen inside it: what a web service does.

python examples/web.py
"""

import asyncio
from pathlib import Path

from workkit import aio, schedule

s = schedule.create("web", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit", tz="Europe/Paris")


@s.job
async def welcome(email: str) -> None:
    """Pretend to send a mail, on the listener's event loop."""
    await asyncio.sleep(0)
    print(f"welcome, {email}", flush=True)


async def signup(email: str) -> dict[str, str]:
    """What an endpoint would do: answer at once, and leave the mail to a listener."""
    return {"job": (await welcome.asend(email)).id}


async def main() -> None:
    """Sign up one user, and wait until the mail has gone."""
    async with aio.listener(s, folder=Path(__file__).parent):
        print(await signup("tracy@domain.com"))
        while [job async for job in aio.jobs(s)]:
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main())
