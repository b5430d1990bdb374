"""What Clojure's own reader makes of names: the program that asks it, and the table of names it is asked about."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from itertools import product

# A name is taken where #'NAME is the var NAME, and where each half is a name by itself: else nothing can define it.
PROGRAM = """(do
(require 'clojure.edn)
(defn read-one [text]
  (try (binding [*read-eval* false] (read-string text)) (catch Throwable _ ::nothing)))
(defn half? [text]
  (let [found (read-one text)]
    (and (or (nil? found) (boolean? found) (and (symbol? found) (nil? (namespace found))))
         (= text (pr-str found)))))
(defn name? [text]
  (let [form (read-one (str "#'" text))]
    (boolean
      (and (seq? form) (= 2 (count form)) (= 'var (first form)) (symbol? (second form))
           (namespace (second form)) (= text (str (second form)))
           (half? (namespace (second form))) (half? (name (second form)))))))
(doseq [line (line-seq (java.io.BufferedReader. *in*))]
  (println (name? (clojure.edn/read-string line)))))
"""

HALVES = [
    "a", "a.b", "your-app", "A", "+", "-", "*", "/", "+'", "x'", "it's", "'x", "x''", "x#", "#x", "a#b", "##", "a:b",
    ":a", "a:", "a::b", "a:b:c", "1st", "9", "-1x", "+1", "-x", "+x", "--1", "-'1", "<=>", "&", "a&b", "%", "%1", "a%b",
    "$", "a$b", "|", "a|b", ".", ".x", "x.", "..", "_", "_x", "!", "?", "=", "x!?*", "nil", "true", "false", "a b",
    "a,b", "a(b", "a)b", "a[b", "a]b", "a{b", "a}b", "a@b", "@a", "a^b", "^a", "a`b", "`a", "a~b", "~a", "a;b", ";a",
    'a"b', "a\\b", "\\a", "é", "é'", "中", "😀", "a٣", "٣a", "-٣", "𝟘a", "²", "Infinity", "NaN", "a\tb", "a\nb",
    "", " a", "a ", "a-1", "a.1", "#'a", "#a", "a'b'c", "a-'", "->x", "x->y", "new", "def", "fn*", "clojure.core",
]  # fmt: skip
WHOLE = [
    "a",
    "/",
    "//",
    "a/",
    "/a",
    "a//",
    "a///",
    "a//b",
    "a/b/c",
    "a/b/",
    "clojure.core//",
    "",
    "a/b c/d",
    "a/b#'c/d",
]
UNSEEN = [
    "a\x00", "\x01a", "a\x7fb", "a\x85", "a\xa0b", "a\u200bb", "\ufeffa", "a\u202eb", "a\u2007b", "a\u2028b", "a\ud800",
]  # fmt: skip


def table() -> list[str]:
    """A few hundred names: each half beside a plain one, odd ones beside each other, and what has no two halves."""
    beside = [f"a.b/{half}" for half in HALVES + UNSEEN] + [f"{half}/c" for half in HALVES + UNSEEN]
    odd = ["it's", "x#", "a:b", "+'", "-1x", "1st", ":a", "a:", "/", "é"]
    return list(dict.fromkeys([*beside, *(f"{space}/{path}" for space, path in product(odd, odd)), *WHOLE]))


def ask(names: Sequence[str]) -> list[bool]:
    """Whether the reader takes each of these."""
    asked = subprocess.run(
        ["clojure", "-e", PROGRAM], input="\n".join(map(json.dumps, names)), capture_output=True, text=True, check=True
    )
    answers = asked.stdout.split()
    assert len(answers) == len(names), asked.stderr
    return [answer == "true" for answer in answers]
