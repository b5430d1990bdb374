"""A scrape of `/metrics`, read by the parser of prometheus-client."""

from __future__ import annotations

import urllib.request

from tests.optional import needed

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]  # name and labels -> value


def scrape(url: str) -> Samples:
    """Read the samples of a page."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        return samples(answer.read().decode())


def samples(text: str) -> Samples:
    """Read the samples of a text, each of which may be there once."""
    parser = needed("prometheus_client.parser")
    found = [sample for family in parser.text_string_to_metric_families(text) for sample in family.samples]
    by_key = {(one.name, frozenset(one.labels.items())): one.value for one in found}
    assert len(by_key) == len(found), "a sample is there twice"
    return by_key


def total(found: Samples, name: str, **labels: str) -> float:
    """Sum the samples of a name that have these labels, and perhaps others."""
    wanted = set(labels.items())
    return sum(number for (key, has), number in found.items() if key == name and wanted <= has)


def value(url: str, name: str, **labels: str) -> float:
    """Sum them on a page."""
    return total(scrape(url), name, **labels)
