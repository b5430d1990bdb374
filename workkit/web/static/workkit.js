// Keeps a page fresh: asks for it again every 5 s while it is seen, and replaces what changed. Nothing needs it.
const EVERY = 5000;
let tag = null;

function isBusy() {
  const main = document.getElementById("main");
  const at = document.activeElement;
  return !getSelection().isCollapsed || (main && at && at !== document.body && main.contains(at)) || main.querySelector("[open]");
}

function replace(page, id) {
  const mine = document.getElementById(id);
  const theirs = page.getElementById(id);
  if (mine && theirs && mine.outerHTML !== theirs.outerHTML) mine.replaceWith(theirs);
}

async function refresh() {
  if (document.hidden || isBusy()) return;
  try {
    const headers = tag ? { "If-None-Match": tag, Accept: "text/html" } : { Accept: "text/html" };
    const answer = await fetch(location.href, { headers });
    if (answer.status === 304) return;
    if (answer.status !== 200 && answer.status !== 503) return location.reload();
    tag = answer.headers.get("ETag");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!isBusy()) for (const id of ["main", "bar-end", "rail"]) replace(page, id);
  } catch {
    const pill = document.querySelector(".pill");
    if (pill) pill.classList.add("away");
  }
}

if (document.querySelector(".pill")) setInterval(refresh, EVERY);
