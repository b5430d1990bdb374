"""A scrape of `/metrics`, read by the parser of prometheus-client."""

from __future__ import annotations

import urllib.request

from tests.optional import needed


def scrape(url: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Read the samples of a page: name and labels -> value."""
    parser = needed("prometheus_client.parser")
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        text = answer.read().decode()
    samples = [sample for family in parser.text_string_to_metric_families(text) for sample in family.samples]
    found = {(one.name, frozenset(one.labels.items())): one.value for one in samples}
    assert len(found) == len(samples), "a sample is there twice"
    return found


def value(url: str, name: str, **labels: str) -> float:
    """Sum the samples of a name that have these labels, and perhaps others."""
    wanted = set(labels.items())
    return sum(number for (key, has), number in scrape(url).items() if key == name and wanted <= has)
