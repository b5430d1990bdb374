"""Write the tables of docs/scale.md from docs/scale/measured.json: `python -m docs.scale`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from docs.scale.job import job_tables
from docs.scale.model import errors, fit
from docs.scale.points import read_points, read_section
from docs.scale.tables import tables

PAGE: Final = Path(__file__).parent.parent / "scale.md"
PLACE: Final = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def written(text: str) -> str:
    """Give the page with the tables that the points make. Raises KeyError for a table that there is not."""
    points, idle = read_points()
    model = fit(points, idle)
    made = tables(model, points) | job_tables(read_section("job"), read_section("peers"), model)
    return PLACE.sub(lambda found: f"{found[1]}\n{made[found[2]]}\n\n{found[4]}", text)


def main() -> int:
    """Write the page, and say how far the model is from what was measured."""
    points, idle = read_points()
    worst = max(errors(fit(points, idle), points).values(), key=abs)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.name}: the model is off by {worst:+.0%} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
