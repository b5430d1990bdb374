"""Schedules in the browser. It calls the verbs as the command line does, and knows no broker and no worker.

`workkit/asgi/pages.py` and `workkit/cli/commands/web.py` make it from schedules. What it promises: spec/web.md.

The way of a request: `middleware.py` (host, headers) -> `app.py` (address) -> `request.py` (who, which role) -> a
thread of `response.py` -> the page's `look(asked)` -> a frozen view -> its template, or `view.record()` as JSON,
by `response.py`. What any of these raises becomes an answer within the frame. An act: `request.py` -> `acting.py` ->
`actions/perform.py` -> the verb.

**To add a page:**

1. `pages/NAME.py`: a frozen dataclass `NameView` with all that the template sees, and `record()`, which is the JSON.
   A function `look(asked: Asked) -> NameView`, which asks `asked.served.inspector()` and nothing else. It runs in a
   thread and may block. `asked.now` is the server's clock, the only one there is; `asked.pulse` was read for this
   request and is masked. Each job, past run and text from the server that a view holds passes `asked.veil` first. What
   everyone sees alike, and unmasked, may be kept for some seconds: `asked.served.fresh`. When triggers fire:
   `predictions.py`. A call that raises Unsupported is caught where it is made, and its sentence shown in that
   place. A sentence with links is a `Sentence` (`words.py`): its links are paths below the schedule, and a path that no
   page has is shown as plain text, so a page may name pages that are yet to come. At the end of the file:
   `PAGE = Page(name=, path="jobs/{which}", title=, template=, look=, icon=, key=)`. Names in braces come as
   `asked.names`, parameters as `asked.params` (`asked.one_of` refuses what is not accepted). Without an `icon` it is
   not in the rail.
2. `pages/registry.py`: its `PAGE`, at its place in the rail. Address, `.json`, links and rail follow.
3. `templates/NAME.html`: extends `base.html`, fills `main` (and `crumb`), and gets `frame` and `view`; in the block,
   use `draw.*` (signs and drawings: `templates/draw.html`, whose geometry is made by `charts/`) and `say.*`
   (sentences, calls, links, times: `templates/parts/say.html`). Filters: `response.py`. Where `frame.away_ms` is not
   None, the view is the last one seen, and `said` the sentence about it. No style or script in it; classes:
   `static/workkit.css`. What goes on by itself, and which keys it has: below. A page that takes a form (`takes_form`)
   gets its fields as parameters, and changes nothing.
4. Tests: `tests/web/pages/test_NAME.py` with the fixtures of `tests/web/conftest.py`: `browser.get(...)`,
   `browser.json(...)`, `headline(answer)`, `text_of(answer)`, on a real server with real listeners. Rules about words
   are tables of a pure module (`tests/web/test_sentences.py`). `tests/browser/` finds the page by its links.
   Its row in spec/web.md, 1.

**To add an act:** a function `(doing, order, which) -> Done` in a file of `actions/` and its `Act` in the `ACTS` of
that file: the role, what it names, which other fields it takes, and `did`, the word for several ("Paused 38 of 41"). It
calls a verb of `workkit.schedule` or `workkit.verbs` with `doing.s`, or `doing.admin`. `Done` has the line to show, and
the `Order` that undoes the act, or None: another act, or `undone_by` of `actions/action.py` where no form may ask for
it. A new file goes into the `ACTS` of `actions/perform.py`. Every act is carried out within `acting(author)`, so that
`S:changes` has its author. An act that concerns all that it names as one has `together` in place of `one`. What takes a
while is a `Work` in `doing.works` (`works.py`), and every page shows it. A button is `say.act(frame, "verb", "Text",
[("which", name)])`, or `say.asks(...)` with a question first; it is absent for who may not. The results in
`actions/action.py` are for the line after an act, for `undo`, and so that a form sent twice acts once; `acting.py`
logs each act. Tests: `tests/web/actions/`, where `contents` compares all keys of a schedule before an act and after its
undo. Its row: spec/web.md, 8.

**What goes on by itself:** the page is looked at and written again for its stream (`live/`), by the same `look` and the
same template, and cut into the elements that have an `id` and `data-live`: `live/view.py`. `main` is one, so a page
needs none; with one for each section, less is sent. What is written is shared by viewers: nothing of one of them stands
in it. In a template:

- `data-rows` on a `tbody` or `ul`: the list does not jump. A row is known by its `id`, `data-key`, or first link.
- `data-keep`: the stream leaves this element as it is.
- `say.when(due, until(due), instant(due), "cd")`: the browser counts it down; other times stay.
- `aria-keyshortcuts="n"`: the key that clicks this element. Keys that all pages have: `templates/base.html`.
- `data-copy="TEXT"`: a click copies it. `data-open="#ID"`: a click opens that dialog.
- `data-input="#ID, #ID"`, `data-change=...` on a form: as one types, or has typed, these elements become those of the
  page that the form asks for.
- `data-script hidden`: shown with the script only. `data-r`: what the key r presses, once asked, for a row.
- `data-say="ADDRESS"` on a box: as one types, the `output` behind its label becomes the answer to what is in the box.

`every_s=30` in the `Page` where it draws much; `is_live=False` where it is one form, which a stream would fill anew.
Everything works without the script, and is tried so first.
"""
