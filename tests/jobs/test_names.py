"""Function to stored name and back, and what is refused with which sentence."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from tests import handlers
from workkit.errors import InvalidFunction
from workkit.jobs.names import Name, clojure, read_name, shown, stored_name


def outer() -> Callable[[], None]:
    def send() -> None: ...

    return send


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (handlers.note, "#'tests.handlers/note"),
        (handlers.note_async, "#'tests.handlers/note_async"),
        (handlers.Mailer.send, "#'tests.handlers/Mailer.send"),
        ("app.cache:clear", "#'app.cache/clear"),
        ("app.cache:Cache.clear", "#'app.cache/Cache.clear"),
        ("#'app.cache/clear", "#'app.cache/clear"),
        ("#'your-app.cache/clear", "#'your-app.cache/clear"),
        ("(var your-app.cache/clear)", "#'your-app.cache/clear"),
        ("#'ns/x?!*+-<>=", "#'ns/x?!*+-<>="),
        (clojure("(fn [] (println 1))"), "(fn [] (println 1))"),
    ],
)
def test_a_function_is_stored_as_a_var(fn: Any, name: str) -> None:
    assert stored_name(fn) == name


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda: None, r"fn=<lambda> \(test_names.py:\d+\) has no name that a listener could import. "
         r"Write a module-level def and pass its data in args=\[...\]."),
        (outer(), r"fn=outer.<locals>.send \(test_names.py:\d+\) is defined inside a function. "
         r"Use a module-level function and pass what it needs in args=\[...\]."),
        (handlers.Mailer().bound, r"fn=Mailer.bound is bound to an object, and objects do not travel. "
         r"Use a module-level function and pass what it needs in args=\[...\]."),
        (functools.partial(handlers.note, 1), "fn=.* is a partial, not a function."),
        (print, "fn=print is a builtin, not a function."),
        (handlers.Mailer, "fn=Mailer is a type, not a function."),
        (handlers._secret, r"fn=_secret \(handlers.py:\d+\): _secret begins with _"),
        (None, "fn=None is a NoneType, not a function."),
        ("app.cache.clear", 'fn=\'app.cache.clear\' does not name a function. Write "app.cache:clear".'),
        ("(fn [] 1)", r"write clojure\('\(fn \[\] 1\)'\)"),
        ("app cache", "does not name a function"),
        ("#'a/b/c d", "does not name a function"),
        ("", "does not name a function"),
    ],
)  # fmt: skip
def test_what_no_listener_could_find_is_refused(fn: Any, message: str) -> None:
    with pytest.raises(InvalidFunction, match=message):
        stored_name(fn)


@pytest.mark.parametrize(
    ("job", "name"),
    [
        ("#'a.b/c", Name("a.b", "c")), ("'a.b/c", Name("a.b", "c")), ("(var a-b/c-d)", Name("a-b", "c-d")),
        ("(quote a/b)", Name("a", "b")), ("(resolve 'a/b)", Name("a", "b")), ("(resolve (quote a/b))", Name("a", "b")),
        ("(clojure.core/resolve (quote a/b))", Name("a", "b")), ("a.b:c.d", Name("a.b", "c.d")),
        (" #'a/b ", Name("a", "b")), ("#'clojure.core//", Name("clojure.core", "/")),
        ("(fn [] 42)", None), (":name", None), ("println", None), ("", None), ("#'a", None), ("(resolve a/b)", None),
        ("#=(java.lang.Runtime/getRuntime)", None), ("a.b/c", None),
    ],
)  # fmt: skip
def test_a_stored_form_is_read_as_a_name_or_left_to_clojure(job: str, name: Name | None) -> None:
    assert read_name(job) == name


def test_a_name_is_shown_as_people_write_it() -> None:
    assert shown("#'app.cache/clear") == "app.cache.clear"
    assert shown("#'your-app.cache/clear") == "your-app.cache/clear"
    assert shown("(fn [] 42)") == "(fn [] 42)"
