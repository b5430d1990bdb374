"""The web interface of schedules. It calls the verbs as the command line does, and knows no broker and no worker.

`workkit/asgi/pages.py` and `workkit/cli/commands/web.py` make it from schedules. Its promises: spec/web.md.

The path of a request: `middleware.py` (host, headers) -> `app.py` (address) -> `request.py` (user, role) -> a thread of
`response.py` -> the page's `look(asked)` -> a frozen view -> its template, or `view.record()` as JSON, by
`response.py`. An error from any of these becomes an answer within the frame. The path of an act: `request.py` ->
`acting.py` -> `actions/perform.py` -> the verb.

**To add a page:**

1. `pages/NAME.py`: a frozen dataclass `NameView` with the complete input of the template, and `record()`, which returns
   the JSON. A function `look(asked: Asked) -> NameView`, which reads only by `asked.served.inspector()`. It runs in a
   thread and may block. `asked.now` is the server's clock; use no other clock. `asked.pulse` was read for this request
   and is masked. Each job, past run and text from the server passes `asked.veil` before a view holds it. Unmasked data
   that is the same for all users may be cached for some seconds: `asked.served.fresh`. When triggers fire:
   `predictions.py`. Catch Unsupported at the call that raises it, and show its sentence in that place. A sentence with
   links is a `Sentence` (`words.py`): its links are paths below the schedule. A path without a page is shown as plain
   text, so a page may name pages that do not exist yet. At the end of the file:
   `PAGE = Page(name=, path="jobs/{which}", title=, template=, look=, icon=, key=)`. Names in braces come as
   `asked.names`, parameters as `asked.params` (`asked.one_of` refuses other values). Without an `icon` the page is not
   in the rail.
2. `pages/registry.py`: add the `PAGE` at its place in the rail. Address, `.json`, links and rail follow.
3. `templates/NAME.html`: extends `base.html`, fills `main` (and `crumb`), and gets `frame` and `view`. In the block,
   use `draw.*` (signs and drawings: `templates/draw.html`, with the geometry from `charts/`) and `say.*` (sentences,
   calls, links, times: `templates/parts/say.html`). Filters: `response.py`. Where `frame.away_ms` is not None, the view
   is the last one that was read, and `said` is the sentence about that. A template has no style and no script; classes:
   `static/workkit.css`. Live updates and keys: below. A page that takes a form (`takes_form`) gets its fields as
   parameters, and changes nothing.
4. Tests: `tests/web/pages/test_NAME.py` with the fixtures of `tests/web/conftest.py`: `browser.get(...)`,
   `browser.json(...)`, `headline(answer)`, `text_of(answer)`, on a real server with real listeners. Rules about words
   are tables of a pure module (`tests/web/test_sentences.py`). `tests/browser/` finds the page by its links.
   Its row in spec/web.md, 1.

**To add an act:** a function `(doing, order, which) -> Done` in a file of `actions/`, and its `Act` in the `ACTS` of
that file: the role, the objects that it names, its other fields, and `did`, the word for several ("Paused 38 of 41").
The function calls a verb of `workkit.schedule` or `workkit.verbs` with `doing.s`, or `doing.admin`. `Done` has the line
to show, and the `Order` that undoes the act, or None: another act, or `undone_by` of `actions/action.py` where no form
may request it. Add a new file to the `ACTS` of `actions/perform.py`. Every act runs within `acting(author)`, so that
`S:changes` has its author. An act that treats all its objects as one has `together` in place of `one`. A long act is a
`Work` in `doing.works` (`works.py`), and every page shows it. A button is
`say.act(frame, "verb", "Text", [("which", name)])`, or `say.asks(...)` with a question first; users who may not act do
not see it. `Results` in `actions/action.py` keeps results for the line after an act and for `undo`; it also makes sure
that a form sent twice acts once. `acting.py` logs each act. Tests: `tests/web/actions/`, where `contents` compares all
keys of a schedule before an act and after its undo. Its row: spec/web.md, 8.

**Live updates:** the stream of an open page (`live/`) makes the page again, by the same `look` and the same template.
`live/view.py` cuts it into the elements that have an `id` and `data-live`. `main` is one, so a page needs none; with
one for each section, less is sent. Viewers share the HTML, so it holds nothing that belongs to one of them. In a
template:

- `data-rows` on a `tbody` or `ul`: the list does not jump. A row is known by its `id`, `data-key`, or first link.
- `data-keep`: the stream leaves this element as it is.
- `say.when(due, until(due), instant(due), "cd")`: the browser counts it down; other times stay.
- `aria-keyshortcuts="n"`: the key that clicks this element. Keys that all pages have: `templates/base.html`.
- `data-copy="TEXT"`: a click copies it. `data-open="#ID"`: a click opens that dialog.
- `data-input="#ID, #ID"`, `data-change=...` on a form: while the user types, or afterwards, these elements are replaced
  by those of the page for the form's values.
- `data-script hidden`: shown with the script only. `data-r`: the button that the key r presses for a row, after a
  question.
- `data-say="ADDRESS"` on a box: while the user types, the `output` behind its label becomes the answer to the box's
  text.

Set `every_s=30` in the `Page` where it draws much; `is_live=False` where it is one form, which a stream would reset.
Everything works without the script; test that first.
"""
