// Makes a page live and quick: a stream keeps it fresh, acts answer in place, keys steer. Nothing needs it.
"use strict";
const body = document.body;
const byId = (id) => document.getElementById(id);
const one = (what, within = document) => within.querySelector(what);
const all = (what, within = document) => [...within.querySelectorAll(what)];
const HIDDEN_MS = 10000, SILENT_MS = 25000, POLL_MS = 5000, FULL_MS = 10000;

// Time: the server's clock, in the shown zone.
let skew = 0;
const now = () => Date.now() + skew;
const clock = (ms) => new Date(ms + 1000 * (byId("pill")?.dataset.offset || 0)).toISOString().slice(11, 19);

function distance(ms) {
  let rest = Math.floor(Math.abs(ms) / 1000);
  if (!rest) return "0 s";
  if (rest >= 120) rest -= rest % 60;
  const found = [];
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    const n = Math.floor(rest / size);
    rest %= size;
    if (n || found.length) found.push(n ? `${n.toLocaleString("en")} ${unit}` : "");
    if (found.length === 2) break;
  }
  return found.filter(Boolean).join(" ");
}

function until(due) {
  const left = due - now();
  if (left > 0) return distance(left);
  return left > -1000 || state !== "live" ? "due" : `overdue ${distance(left)}`;
}

function put(node, text) {
  if (node && node.textContent !== text) node.textContent = text;
}

// The pill. What it says is told aloud when it changes, at most once in 5 s.
let state = "old", seen = 0, awaySince = 0, told = "", toldAt = 0;
const WORDS = { live: "Live", paused: "Paused", away: "Server away", old: "As of" };

function tick() {
  if (document.hidden) return;
  const pill = byId("pill");
  if (!pill) return;
  const more = { live: clock(now()), away: distance(now() - awaySince), old: clock(seen) }[state];
  put(pill, more ? `${WORDS[state]} ${more}` : WORDS[state]);
  pill.classList.toggle("live", state === "live");
  pill.classList.toggle("away", state === "away" || (state === "old" && tries > 0));
  if (told !== state && Date.now() - toldAt >= 5000) {
    if (told) put(byId("pill-said"), WORDS[state] + (state === "old" ? ` ${more}` : ""));
    [told, toldAt] = [state, Date.now()];
  }
  for (const time of all("time.cd")) put(time, until(Date.parse(time.dateTime)));
  if (source && state === "live" && Date.now() - heard > SILENT_MS) lost();
}

// Fresh HTML into the page: what is equal stays, with focus, typed text, selection, open details and scroll.
const keyOf = (n) => (n.nodeType !== 1 ? "" : n.id || n.dataset.key || (/^(TR|LI)$/.test(n.tagName) && one("a", n)?.getAttribute("href")) || "");
const isHeld = (n, name, value) =>
  name === "open" || (name === "hidden" && "script" in n.dataset) || (name === "value" && !value && /^(token|number)$/.test(n.name));

function morph(old, fresh, whole) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== 1) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  if (!whole && "keep" in old.dataset) return;
  for (const { name, value } of [...fresh.attributes]) if (old.getAttribute(name) !== value && !isHeld(old, name, value)) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !isHeld(old, name)) old.removeAttribute(name);
  if (!whole && "rows" in old.dataset && old.children.length && [...fresh.children].every(keyOf)) holdRows(old, fresh);
  else children(old, fresh, whole);
}

function children(old, fresh, whole) {
  const mine = new Map(), theirs = new Set([...fresh.childNodes].map(keyOf));
  for (const n of old.childNodes) if (keyOf(n) && !mine.has(keyOf(n))) mine.set(keyOf(n), n);
  const isOver = (n) => keyOf(n) && !theirs.has(keyOf(n));
  let at = old.firstChild;
  for (const n of [...fresh.childNodes]) {
    while (at && (at.isOurs || isOver(at))) {
      const next = at.nextSibling;
      if (!at.isOurs) at.remove();
      at = next;
    }
    const key = keyOf(n);
    const match = key ? mine.get(key) : at && !keyOf(at) && at.nodeName === n.nodeName && at;
    if (!match) {
      old.insertBefore(n, at);
      continue;
    }
    mine.delete(key);
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    morph(match, n, whole);
  }
  while (at) {
    const next = at.nextSibling;
    if (!at.isOurs) at.remove();
    at = next;
  }
}

// A list does not jump: what came is counted, what left is dim, until the list is asked for.
function holdRows(old, fresh) {
  const mine = new Map([...old.children].map((n) => [keyOf(n), n])), stay = new Set();
  let came = 0;
  for (const n of [...fresh.children]) {
    const match = mine.get(keyOf(n));
    if (!match) came++;
    else {
      stay.add(match);
      morph(match, n.cloneNode(true));
    }
  }
  let left = 0;
  for (const n of old.children) {
    n.classList.toggle("gone", !stay.has(n));
    left += !stay.has(n);
  }
  old.ask?.remove();
  old.ask = null;
  if (!came && !left) return;
  const ask = (old.ask = document.createElement("button"));
  Object.assign(ask, { type: "button", className: "plain", isOurs: true, textContent: came ? `${came} new` : `${left} left` });
  ask.onclick = () => {
    ask.remove();
    old.ask = null;
    children(old, fresh);
  };
  (old.closest("table") || old).before(ask);
}

function keepingFocus(work) {
  const was = document.activeElement;
  work();
  if (was && was !== document.activeElement && was.isConnected) was.focus({ preventScroll: true });
  all("[data-script][hidden]").forEach((n) => (n.hidden = false));
  tick();
}

function patch(found) {
  keepingFocus(() => {
    for (const [id, html] of Object.entries(found)) {
      const made = document.createElement("template");
      made.innerHTML = html;
      if (byId(id)) morph(byId(id), made.content.firstElementChild);
    }
  });
}

function show(page) {
  const theme = page.documentElement.dataset.theme, address = page.body.dataset.stream;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  keepingFocus(() => ["rail", "bar-end", "main"].forEach((id) => byId(id) && one(`#${id}`, page) && morph(byId(id), one(`#${id}`, page), true)));
  close();
  if (address) body.dataset.stream = address;
  begin();
}

// The stream.
let source = null, tries = 0, heard = 0, isPaused = false, waiting = 0, hiding = 0, tag = "";

function become(next) {
  if (state === "live" && next !== "live") seen = now();
  state = next;
  tick();
}

function away(found) {
  awaySince = now() - found.ms;
  if (found.html) byId("away").innerHTML = found.html;
  byId("main").classList.add("stale");
  become("away");
}

function back() {
  byId("away").replaceChildren();
  byId("main").classList.remove("stale");
  become("live");
}

function begin() {
  clearTimeout(waiting);
  if (source || !body.dataset.stream || document.hidden || isPaused) return;
  if ("poll" in body.dataset) return ask();
  const mine = (source = new EventSource(body.dataset.stream));
  const on = (kind, work) =>
    mine.addEventListener(kind, (e) => {
      heard = Date.now();
      tries = 0;
      work(JSON.parse(e.data));
    });
  mine.onopen = () => (heard = Date.now());
  on("patch", (found) => {
    back();
    patch(found);
  });
  on("clock", ({ ms }) => {
    skew = ms - Date.now();
    become("live");
  });
  on("away", away);
  on("back", back);
  on("reload", ({ html }) => say(html));
  on("bye", () => {
    close();
    begin();
  });
  mine.onerror = () => lost();
}

function close() {
  clearTimeout(waiting);
  source?.close();
  source = null;
}

function lost() {
  close();
  if (state !== "away") become("old");
  waiting = setTimeout(ask, 1000 * Math.min(30, 2 ** tries++));
  tick();
}

// Without a stream: the pieces once. Then the stream again, or where there is none or no room, later once more.
async function ask() {
  if (document.hidden || isPaused) return;
  let answer;
  try {
    answer = await fetch(body.dataset.stream, { headers: { Accept: "application/json", ...(tag && { "If-None-Match": tag }) } });
    if (answer.ok) {
      tag = answer.headers.get("ETag") || "";
      back();
      patch((await answer.json()).patch);
    } else if (answer.status === 503) {
      const found = await answer.json();
      if (!("away_ms" in found)) return lost();
      away({ ms: found.away_ms, html: found.html });
    } else if (answer.status === 304) back();
    else return location.reload();
  } catch {
    return lost();
  }
  const isFull = tries > 1;
  tries = Math.min(tries, 2);
  if ("poll" in body.dataset) waiting = setTimeout(ask, POLL_MS);
  else waiting = setTimeout(begin, isFull ? FULL_MS : 0);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (!document.hidden) begin();
  else hiding = setTimeout(close, HIDDEN_MS);
});
addEventListener("pagehide", close);
addEventListener("pageshow", begin);

function pause() {
  isPaused = !isPaused;
  close();
  become(isPaused ? "paused" : "old");
  begin();
}

// Acts in place.
function say(said) {
  const line = byId("did");
  if (typeof said === "string") line.innerHTML = said;
  else line.replaceChildren(...said);
}

function words(text) {
  const span = document.createElement("span");
  span.textContent = text;
  return [span];
}

document.addEventListener("submit", async (e) => {
  const form = e.target, to = form.getAttribute("action") || "";
  if (e.defaultPrevented || form.method !== "post") return;
  const { token, number } = form.elements;
  if (token && !token.value) token.value = one("#looks [name=token]").value;
  if (number && !number.value) number.value = [...crypto.getRandomValues(new Uint8Array(8))].map((b) => b.toString(16).padStart(2, "0")).join("");
  if (!/\/do\/[\w-]+$|\/-\/look$/.test(to) || "plain" in form.dataset) return;
  e.preventDefault();
  if (state === "away") return say(words("The server is away, so nothing was sent."));
  try {
    const answer = await fetch(to, { method: "POST", body: new URLSearchParams(new FormData(form, e.submitter)), headers: { Accept: "text/html" } });
    if (number) number.value = "";
    if (answer.status === 401) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const refused = one("#refused", page);
    if (refused) return say([...words(one("h1", refused).textContent), ...all("a", refused)]);
    if (answer.redirected && new URL(answer.url).pathname !== location.pathname) return location.assign(answer.url);
    form.closest("details[open]")?.removeAttribute("open");
    show(page);
    if (document.activeElement === body) byId("did").focus({ preventScroll: true });
  } catch {
    say(words("No answer, so it is not known whether it was done. The same button acts only once."));
  }
});

document.addEventListener("click", (e) => {
  const at = e.target.closest("#pill, [data-copy], [data-open]");
  if (!at || e.ctrlKey || e.metaKey) return;
  if (at.id === "pill") {
    if (state === "old" && !isPaused) return;
    e.preventDefault();
    pause();
  } else if (at.dataset.open) byId(at.dataset.open).showModal();
  else navigator.clipboard?.writeText(at.dataset.copy).then(() => say(words("Copied.")));
});

// Answers while one types: a form or field with data-ask, and Jump.
let typing = 0, asked = 0;
document.addEventListener("input", (e) => {
  const from = e.target.closest("#jump, [data-ask]");
  if (!from) return;
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const form = from.closest("form"), mine = ++asked;
    const to = `${from.dataset.ask || form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
    const answer = await fetch(to, { headers: { "X-Fragment": "1" } }).catch(() => null);
    if (!answer?.ok || mine !== asked) return;
    let into = byId(from.dataset.into || "jump-found");
    if (!into) {
      into = Object.assign(document.createElement("div"), { id: "jump-found", className: "palette", isOurs: true });
      form.append(into);
    }
    into.innerHTML = await answer.text();
  }, 120);
});

// Keys.
let isGoing = 0, marked = null;
const isOn = () => localStorage.getItem("workkit.keys") !== "off";
const rows = () => all("#main tbody tr, #main .lines li, #main [data-row]").filter((row) => one("a", row) && row.checkVisibility());
const row = () => document.activeElement?.closest("#main tr, #main .lines li, #main [data-row]");
const box = (at) => at && one("input[type=checkbox]", at);

function move(by) {
  const found = rows(), at = found.indexOf(row());
  one("a", found[Math.max(0, Math.min(found.length - 1, at + by))] || body)?.focus();
}

function mark(at, value) {
  if (box(at) && box(at).checked !== value) box(at).click();
}

function act(...verbs) {
  for (const within of [row(), byId("main")]) {
    for (const verb of within ? verbs : []) {
      const form = one(`form[action$="/do/${verb}"]`, within);
      if (!form) continue;
      const ask = form.closest("details");
      if (!ask) return form.requestSubmit();
      ask.open = true;
      return one("input:not([type=hidden]), button", form).focus();
    }
  }
}

const KEYS = {
  "/": () => one("#main input[name=q], #main input[type=search]")?.focus(),
  j: () => move(1), k: () => move(-1), ArrowDown: () => row() && move(1), ArrowUp: () => row() && move(-1),
  x: () => { marked = row(); mark(marked, !box(marked)?.checked); },
  X: () => {
    const found = rows(), [from, to] = [found.indexOf(marked), found.indexOf(row())].sort((a, b) => a - b);
    if (from >= 0) found.slice(from, to + 1).forEach((at) => mark(at, true));
  },
  a: () => { const isAll = rows().every((at) => !box(at) || box(at).checked); rows().forEach((at) => mark(at, !isAll)); },
  p: () => act("resume", "pause"), r: () => act("retry", "run"), s: () => act("skip"), u: () => act("undo"),
  e: () => one('#main a[href$="/edit"]')?.click(),
  ".": () => one("summary", one("#main details.more") || body)?.click(),
  z: () => one("[name=zone]")?.click(), T: () => one("#looks [name=theme]")?.click(),
  L: pause, "?": () => byId("keys")?.showModal(),
};

document.addEventListener("keydown", (e) => {
  const jump = one("#jump input:not([type=hidden])");
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k" && jump) {
    e.preventDefault();
    return jump.select();
  }
  if (e.target.closest("#jump")) {
    const links = all("#jump-found a"), at = links.indexOf(document.activeElement);
    if (e.key === "Escape") byId("jump-found")?.replaceChildren();
    else if (e.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (e.key === "ArrowUp") (links[at - 1] || jump).focus();
    else return;
    return e.preventDefault();
  }
  const isField = e.target.closest("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]");
  if (isField || e.ctrlKey || e.metaKey || e.altKey || !isOn()) return;
  const page = isGoing && Date.now() - isGoing < 1500 && one(`[data-g="${CSS.escape(e.key)}"]`);
  isGoing = !page && e.key === "g" ? Date.now() : 0;
  const named = page || one(`[aria-keyshortcuts="${CSS.escape(e.key)}"]`);
  if (named) named.click();
  else if (Object.hasOwn(KEYS, e.key)) KEYS[e.key]();
  else return;
  if (!e.key.startsWith("Arrow") || row()) e.preventDefault();
});

const keysOn = byId("keys-on");
if (keysOn) {
  keysOn.checked = isOn();
  keysOn.onchange = () => localStorage.setItem("workkit.keys", keysOn.checked ? "on" : "off");
}
const pill = byId("pill");
if (pill) {
  seen = Date.parse(pill.dataset.now);
  skew = pill.dataset.away ? 0 : seen - Date.now();
  if (pill.dataset.away) away({ ms: +pill.dataset.away });
  setInterval(tick, 1000);
}
keepingFocus(begin);
