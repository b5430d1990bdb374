// Makes a page live and quick: a stream keeps it fresh, acts answer in place. Nothing needs it.
const doc = document;
const $ = (what, within = doc) => within.querySelector(what);
const $$ = (what, within = doc) => [...within.querySelectorAll(what)];
const did = (...said) => $("#did").replaceChildren(...said);
const stop = (e) => e.preventDefault();
const data = doc.body.dataset, pill = () => $("#pill"), on = (...of) => doc.addEventListener(...of);

// Time is the server's, in the shown zone. The pill's words are told aloud when they change, at most once in 5 s.
const QUIETLY = { preventScroll: true };
let seen, lostAt, alive = Date.now(), skew = 0, state = "As of", told = state, toldAt = 0;
const now = () => Date.now() + skew;
const clock = (ms) => new Date(ms + 1e3 * pill().dataset.offset).toISOString().slice(11, 19) + pill().dataset.zone;

function distance(ms) {
  let rest = Math.floor(Math.abs(ms) / 1e3);
  if (rest >= 120) rest -= rest % 60;
  const found = [];
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    const n = Math.floor(rest / size);
    rest %= size;
    if (n || found.length) found.push(n && `${n} ${unit}`);
  }
  return found.slice(0, 2).filter(Boolean).join(" ") || "0 s";
}

// What is due has begun, until a later look at the server, which comes within 10 s, says that it has not.
function until(due) {
  const left = due - now();
  return left > 0 ? distance(left) : left > -1e4 || state !== "Live" ? "due" : `overdue ${distance(left)}`;
}

const put = (node, text) => node.textContent === text || (node.textContent = text);

function tick() {
  if (!pill() || doc.hidden) return;
  const more = { Live: clock(now()), "As of": clock(seen), "Server away": distance(now() - lostAt) }[state];
  put(pill(), more ? `${state} ${more}` : state);
  pill().className = state === "Live" ? "pill live" : tries || state === "Server away" ? "pill away" : "pill";
  if (told !== state && Date.now() - toldAt > 5e3) {
    put($("#pill-said"), pill().textContent);
    [told, toldAt] = [state, Date.now()];
  }
  for (const time of $$("time.cd")) put(time, until(Date.parse(time.dateTime)));
  if (state === "Paused" || !data.stream) return;
  const still = Date.now() - 12e3;
  if (source && heard < still) lost();
  if (alive < still && !$("main.stale")) dim();
}

// Nothing was heard for 12 s: what is seen is of then.
function dim() {
  $("main").classList.add("stale");
  become("As of");
  put($("#away"), `No answer since ${clock(seen)}. What you see is as of then; this page goes on by itself.`);
}

function become(next) {
  if (state === "Live" && next !== state) seen = alive + skew;
  state = next;
  tick();
}

// Fresh HTML: what is equal stays, with focus, typed text, selection, open details and scroll.
const keyOf = (n) => n.id || n.dataset?.key || (/^(TR|LI)$/.test(n.nodeName) && $("a", n)?.getAttribute("href")) || "";
const isHeld = (n, name, value) => name === "open" || (name === "value" && (n.type === "text" || (n.type === "hidden" && !value)));

function morph(old, fresh, whole) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== 1) return (old.nodeValue = fresh.nodeValue);
  if (!whole && "keep" in old.dataset) return;
  for (const { name, value } of [...fresh.attributes]) if (!isHeld(old, name, value)) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !isHeld(old, name)) old.removeAttribute(name);
  if (!whole && "rows" in old.dataset && old.children.length && [...fresh.children].every(keyOf)) holdRows(old, fresh);
  else fill(old, fresh, whole);
}

function fill(old, fresh, whole) {
  const mine = new Map([...old.childNodes].reverse().map((n) => [keyOf(n), n])), theirs = new Set([...fresh.childNodes].map(keyOf));
  let at = old.firstChild;
  const pass = (isOver) => {
    while (at && (at.isOurs || isOver(at))) {
      const gone = at;
      at = at.nextSibling;
      if (!gone.isOurs) gone.remove();
    }
  };
  for (const n of [...fresh.childNodes]) {
    pass((one) => keyOf(one) && !theirs.has(keyOf(one)));
    const key = keyOf(n), match = key ? mine.get(key) : at && !keyOf(at) && at.nodeName === n.nodeName && at;
    if (key) mine.delete(key);
    if (match && match === at) at = at.nextSibling;
    else old.insertBefore(match || n, at);
    if (match) morph(match, n, whole);
  }
  pass(() => true);
}

// A list does not jump: what came is counted, what left is dim, until the list is asked for.
function holdRows(old, fresh) {
  const mine = new Map([...old.children].map((n) => [keyOf(n), n]));
  let came = 0;
  for (const n of fresh.children) {
    const match = mine.get(keyOf(n));
    mine.delete(keyOf(n));
    if (match) morph(match, n.cloneNode(true));
    else came++;
  }
  for (const n of mine.values()) n.classList.add("gone");
  old.ask?.remove();
  if (!came && !mine.size) return;
  old.ask = make("button", { type: "button", className: "plain", textContent: came ? `${came} new` : `${mine.size} left` });
  old.ask.onclick = () => old.ask.remove(fill(old, fresh));
  (old.closest("table") || old).before(old.ask);
}

const make = (tag, what) => Object.assign(doc.createElement(tag), { isOurs: true }, what);

function keeping(work) {
  const was = doc.activeElement;
  work();
  if (was !== doc.activeElement && was.isConnected) was.focus(QUIETLY);
  for (const n of $$("[data-script]")) n.hidden = false;
  for (const n of $$("[data-mine]")) n.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  tick();
}

function patch(found) {
  const mine = $(`#work-${$("#did")?.dataset.work}`);
  keeping(() => {
    for (const [id, innerHTML] of Object.entries(found)) {
      const old = $(`#${id}`);
      if (old) morph(old, make("template", { innerHTML }).content.firstElementChild);
    }
    // What I began stays when it is no longer told to all, until I dismiss it or do something else.
    if (mine && !mine.isConnected) say($("span", mine).textContent);
  });
}

function show(page) {
  did();
  doc.documentElement.dataset.theme = page.documentElement.dataset.theme || "";
  keeping(() => ["#rail", "#bar-end", "#main"].forEach((one) => morph($(one), $(one, page), true)));
  data.stream = page.body.dataset.stream || "";
  again();
}

// The stream, of a tab that is seen.
let source, heard, waiting, tries = 0, tag = "";

function away({ away_ms, html }) {
  lostAt = now() - away_ms;
  if (html) $("#away").innerHTML = html;
  $("main").classList.add("stale");
  become("Server away");
}

function back() {
  $("#away").replaceChildren();
  $("main").classList.remove("stale");
  become("Live");
}

const again = () => begin(close());
const EVENTS = {
  patch: (found) => patch(found, back()),
  clock: ({ ms }) => become("Live", (skew = ms - Date.now())),
  reload: ({ html }) => ($("#did").innerHTML = html),
  beat() {}, away, back, bye: again,
};

function begin() {
  clearTimeout(waiting);
  if (source || !data.stream || doc.hidden || state === "Paused") return;
  if ("poll" in data) return ask();
  source = new EventSource(data.stream);
  heard = Date.now();
  source.onerror = lost;
  for (const [kind, work] of Object.entries(EVENTS))
    source.addEventListener(kind, (e) => {
      heard = alive = Date.now();
      tries = 0;
      work(JSON.parse(e.data));
    });
}

function close() {
  clearTimeout(waiting);
  source?.close();
  source = null;
}

function lost() {
  close();
  if (state === "Live") become("As of");
  waiting = setTimeout(ask, 1e3 * Math.min(30, 2 ** tries++));
}

// Without a stream: the pieces once. Then the stream again; where there is none, or no room, the same again later.
async function ask() {
  if (doc.hidden || state === "Paused") return;
  try {
    const answer = await fetch(data.stream, { headers: { Accept: "application/json", "If-None-Match": tag }, signal: AbortSignal.timeout(1e4) });
    alive = Date.now();
    const found = answer.status === 304 ? null : await answer.json();
    if (found?.away_ms >= 0) away(found);
    else if (answer.status === 503) return lost();
    else if (found && !answer.ok) return location.reload();
    else EVENTS.patch(found?.patch || {});
    tag = answer.headers.get("ETag") || "";
  } catch {
    return lost();
  }
  close();
  tries = Math.min(tries, 2);
  waiting = setTimeout(begin, "poll" in data ? 5e3 : 5e3 * tries - 5e3);
}

on("visibilitychange", () => {
  alive = Date.now();
  if (doc.hidden) waiting = setTimeout(close, 1e4);
  else begin();
});

function pause() {
  become(state === "Paused" ? "As of" : "Paused", (alive = Date.now()));
  again();
}

// Acts in place.
const parsed = (html) => new DOMParser().parseFromString(html, "text/html");
const fields = (form, by) => new URLSearchParams(new FormData(form, by));
const say = (textContent, ...more) =>
  did(make("span", { textContent }), ...more, make("a", { className: "dismiss", href: "#", ariaLabel: "Dismiss" }));

on("submit", async (e) => {
  const form = e.target, to = e.submitter?.getAttribute("formaction") || form.action, { token, number, back } = form.elements;
  if (form.method !== "post") return;
  if (token) token.value ||= $("#looks").token.value;
  if (number) number.value ||= crypto.getRandomValues(new Uint32Array(2)).join("-");
  if (!/\/do\/[\w-]+$|\/-\/look$/.test(to)) return;
  stop(e);
  if (back) back.value ||= $("#looks").back.value;
  if ($("main.stale")) return say("No answer: nothing was sent.");
  try {
    const answer = await fetch(to, { method: "POST", body: fields(form, e.submitter), headers: { Accept: "text/html" } });
    const page = parsed(await answer.text()), refused = $("#did:empty~#refused", page), { again } = page.forms;
    if (again) return form.requestSubmit(e.submitter, (token.value = again.token.value));
    if (number) number.value = "";
    if (answer.status === 401) return location.reload();
    if ($("#did[data-refused]", page)) return say($("#did span", page).textContent);
    if (refused) return say($("h1", refused).textContent, ...$$("a", refused));
    if (new URL(answer.url).pathname !== location.pathname && answer.redirected) return location.assign(answer.url);
    form.closest("details")?.removeAttribute("open");
    show(page);
    if (doc.activeElement === doc.body) $("#did").focus(QUIETLY);
  } catch {
    say("No answer: it may be done. A button acts once.");
  }
});

on("click", (e) => {
  const at = e.target.closest("#pill, [data-copy], [data-open], .dismiss");
  if (!at) return;
  if (at.matches(".dismiss")) return unsaid(stop(e));
  const { open, copy } = at.dataset;
  if (open) return $(open).showModal();
  if (copy) return navigator.clipboard?.writeText(copy).then(() => say("Copied."));
  if (state === "As of") return;
  stop(e);
  pause();
});

// Answers while one types: the elements that data-input or data-change of a form names, as its page then has them.
let typing, asked = 0;
on("input", type), on("change", type);

function type(e) {
  const box = e.target, form = box.closest("form"), parts = form?.dataset[e.type], asks = e.type === "input" && box.dataset.say;
  if (!parts && !asks) return;
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const mine = ++asked, to = asks || form.getAttribute("action"), body = fields(form), { method } = form;
    const get = asks ? new URLSearchParams({ [box.name]: box.value }) : method !== "post" && body;
    const answer = await (get ? fetch(`${to}?${get}&fragment=1`) : fetch(to, { method, body }));
    const page = parsed(await answer.text());
    if (!answer.ok || mine !== asked) return;
    if (!asks) for (const one of $$(parts)) morph(one, $(`#${one.id}`, page), true);
    else {
      box.ariaInvalid = !!$(".no", page);
      box.labels[0]?.nextElementSibling.replaceChildren(...(box.value ? $("#answer", page).childNodes : []));
    }
  }, 120);
}

// Keys. A page may have its own: what has aria-keyshortcuts is clicked.
let going, marked;
const isOff = () => localStorage.workkitKeys === "off";
const ROW = "main :is(tbody tr, .lines li, .att)", row = () => doc.activeElement.closest(ROW);
const rows = () => $$(ROW).filter((at) => $("a", at)), box = (at) => at && $("[type=checkbox]", at);
const mark = (some, value) => some.forEach((at) => box(at)?.checked === !value && box(at).click());

function move(by) {
  const to = rows()[rows().indexOf(row()) + by];
  if (to) $("a", to).focus();
}

function act(...verbs) {
  const found = (within) => verbs.map((verb) => $(`form[action$="/do/${verb}"]`, within)).find(Boolean);
  const form = found(row() || doc) || found(), ask = form?.closest("details");
  if (!ask) return form?.requestSubmit();
  ask.open = true;
  $("input:not([type=hidden]), button", form).focus();
}

const KEYS = {
  "/": () => $("#main [name=q], #main [type=search]")?.focus(),
  j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1),
  x: () => mark([row()], !box((marked = row()))?.checked),
  X: () => {
    const found = rows(), ends = [found.indexOf(marked), found.indexOf(row())].sort((a, b) => a - b);
    mark(found.slice(ends[0], ends[1] + 1), true);
  },
  a: () => mark(rows(), rows().some((at) => box(at)?.checked === false)),
  p: () => act("resume", "pause"), r: run, s: () => act("skip"), u: () => act("undo"),
  e: () => $('#main a[href$="/edit"]')?.click(), ".": () => $("#main .more > summary")?.click(),
  T: () => $("[name=theme]")?.click(), L: pause, "?": () => $("#keys")?.showModal(),
};

on("keydown", (e) => {
  const { key } = e, jump = $("#jump [name=q]"), links = $$("#jump-found a"), at = links.indexOf(doc.activeElement);
  const isChord = e.ctrlKey || e.metaKey;
  if (isChord && key === "k" && jump) return jump.select(stop(e));
  if (e.target.closest("#jump, #jump-found")) {
    if (key === "Escape") $("#jump-found")?.replaceChildren();
    if (key === "ArrowDown") (links[at + 1] || links[at])?.focus(stop(e));
    if (key === "ArrowUp") (links[at - 1] || jump).focus(stop(e));
    return;
  }
  if (key === "Escape" && e.target.closest("#did")) return unsaid();
  if (isChord || e.altKey || isOff() || e.target.closest("input:not([type=checkbox]), textarea, select, dialog")) return;
  const sign = CSS.escape(key), page = Date.now() - going < 1500 && $(`[data-g="${sign}"]`);
  going = key === "g" ? Date.now() : 0;
  const to = page || $(`[aria-keyshortcuts="${sign}"]`);
  if (!to && (!KEYS[key] || (/^Arrow/.test(key) && !row()))) return;
  stop(e);
  if (to) to.click();
  else KEYS[key]();
});

// What r does is asked first, of the row in focus alone.
let asker;

function unsaid() {
  did();
  asker?.focus(QUIETLY);
}

function run() {
  const at = row(), go = at && ($("[data-r]", at) || (box(at) && $("[data-r]", box(at).form)));
  if (!go) return;
  const ask = at.contains(go) && go.closest("details");
  if (ask) return go.focus((ask.open = true));
  asker = $("a", at);
  const yes = make("button", { className: "btn slim", textContent: "Yes" });
  yes.onclick = () => {
    if (!at.contains(go)) mark(rows(), false), mark([at], true);
    go.form.requestSubmit(go);
  };
  say(`${asker.textContent}: ${go.textContent}?`, yes);
  yes.focus();
}

if (pill()) {
  $("#keys-on").checked = !isOff();
  $("#keys-on").onchange = (e) => (localStorage.workkitKeys = e.target.checked || "off");
  seen = Date.parse(pill().dataset.now);
  if (pill().dataset.away) away({ away_ms: pill().dataset.away });
  else skew = seen - Date.now();
  setInterval(tick, 1e3);
}
keeping(begin);
