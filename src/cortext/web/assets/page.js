// Behaviour of the pages beyond links and forms. The pages are readable without this script.
"use strict";

const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
const root = document.documentElement;
// The mount path of these pages in an application.
const base = root.dataset.base;
const turns = $("#turns");

function say(text) {
  const said = $("#said");
  said.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { said.textContent = ""; }, 1800);
}

// The theme is stored in a cookie, so that the server renders the next page in it at once.
function switchTheme() {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `cortext-theme=${root.dataset.theme}; Path=${base || "/"}; Max-Age=31536000; SameSite=Strict`;
}

async function copy(id) {
  const text = $(`#${id}`).textContent;
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    getSelection().selectAllChildren($(`#${id}`));
    say("Press Ctrl+C to copy");
  }
}

// The page shows the messages `first` to `last` of `all`, as of `version`. Messages from `stale`
// on may have changed since then. `total` is the current number of messages.
const view = turns && {
  key: turns.dataset.key,
  version: turns.dataset.version,
  first: Number(turns.dataset.first),
  last: Number(turns.dataset.last),
  all: Number(turns.dataset.all),
  total: Number(turns.dataset.all),
  stale: Infinity,
  busy: false,
};
const STEP = 40;
const MOST = 400;

async function fetchTurns(query) {
  const answer = await fetch(`${base}/c/${view.key}/messages?${new URLSearchParams(query)}`);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  const number = (name) => Number(answer.headers.get(name));
  return { nodes: made.content, first: number("X-First"), last: number("X-Last"), all: number("X-Total") };
}

// Keep the visible messages in place while content above them is added or removed.
function inPlace(change) {
  const still = $$(".turn", turns).find((one) => one.getBoundingClientRect().bottom > 60);
  const before = still && still.getBoundingClientRect().top;
  change();
  const now = still && (still.isConnected ? still : still.id && document.getElementById(still.id));
  if (now) scrollBy({ top: now.getBoundingClientRect().top - before, behavior: "instant" });
}

function showEdges() {
  $("[data-edge=up]").hidden = view.first <= 1;
  $("[data-edge=down]").hidden = view.last >= view.all;
  for (const one of $$("[data-total]")) one.textContent = view.all.toLocaleString("en");
}

function drop(isGone) {
  for (const one of $$(".turn", turns)) if (isGone(Number(one.dataset.n || 0))) one.remove();
}

async function extend(down) {
  if (view.busy || (down ? view.last >= view.all : view.first <= 1)) return;
  view.busy = true;
  try {
    const from = down ? view.last + 1 : Math.max(view.first - STEP, 1);
    const got = await fetchTurns({ from, to: down ? from + STEP - 1 : view.first - 1 });
    inPlace(() => {
      if (down) {
        $("[data-edge=down]").before(got.nodes);
        view.last = got.last;
        const least = view.last - MOST;
        if (view.first < least) { drop((n) => n && n < least); view.first = least; }
      } else {
        $("[data-edge=up]").after(got.nodes);
        view.first = got.first;
        const most = view.first + MOST;
        if (view.last > most) { drop((n) => n > most); view.last = most; }
      }
      view.all = got.all;
      showEdges();
    });
  } finally {
    view.busy = false;
  }
  refresh();
  look();
}

// The edges may still be near the screen after a load. An observer would not fire again.
function look() {
  if (!view || view.busy) return;
  const near = (edge, down) => !edge.hidden && (down
    ? edge.getBoundingClientRect().top < innerHeight + 1200
    : edge.getBoundingClientRect().bottom > -1200);
  if (near($("[data-edge=down]"), true)) extend(true);
  else if (near($("[data-edge=up]"), false)) extend(false);
}

async function jump(number) {
  if (!$(`#m${number}`)) {
    view.busy = true;
    try {
      const got = await fetchTurns({ around: number });
      drop(() => true);
      $("[data-edge=down]").before(got.nodes);
      Object.assign(view, { first: got.first, last: got.last, all: got.all });
      showEdges();
    } finally {
      view.busy = false;
    }
    refresh();
  }
  const found = $(`#m${number}`);
  if (!found) return;
  for (let one = found; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  history.replaceState(null, "", `#m${number}`);
  found.scrollIntoView({ block: "start", behavior: "instant" });
  mark(found.closest(".turn"), false);
}

function mark(turn, scroll = true) {
  for (const one of $$(".at")) one.classList.remove("at");
  if (!turn) return;
  turn.classList.add("at");
  if (scroll) turn.scrollIntoView({ block: "nearest", behavior: "instant" });
}

// Return the HTML of a turn as the server rendered it, with all details closed.
function drawn(turn) {
  const copy = turn.cloneNode(true);
  copy.classList.remove("at");
  for (const one of $$("details[open]", copy)) one.open = false;
  return copy.outerHTML;
}

// Keep open details open in a turn that is rendered again.
function unfoldAs(turn, before) {
  turn.classList.toggle("at", before.classList.contains("at"));
  const folds = $$("details", turn);
  $$("details", before).forEach((one, index) => { if (one.open && folds[index]) folds[index].open = true; });
}

// Replace old turns by new ones. Keep the elements of turns that look the same.
function replaceFrom(old, nodes) {
  const known = new Map(old.filter((one) => one.id).map((one) => [one.id, one]));
  for (const turn of $$(".turn", nodes)) {
    const before = known.get(turn.id);
    if (!before) continue;
    if (drawn(before) === drawn(turn)) turn.replaceWith(before);
    else unfoldAs(turn, before);
  }
  for (const one of old) if (turns.contains(one)) one.remove();
  $("[data-edge=down]").before(nodes);
}

async function fetchAll(from, to) {
  const nodes = document.createDocumentFragment();
  let got = null;
  for (let at = from; at <= to; at = got.last + 1) {
    got = await fetchTurns({ from: at, to: Math.min(to, at + 199) });
    nodes.append(got.nodes);
    if (got.last < at) break;
  }
  return { nodes, got };
}

// Load changed messages again, including messages that grew.
async function refresh() {
  if (view.busy || view.stale === Infinity) return;
  const atEnd = view.last >= view.all;
  const all = $$(".turn", turns);
  const kept = all.findLastIndex((one) => one.dataset.n && Number(one.dataset.n) < view.stale);
  const from = kept < 0 ? view.first : Number(all[kept].dataset.n) + 1;
  const to = atEnd ? view.total : view.last;
  view.stale = Infinity;
  view.all = Math.max(view.all, view.total);
  if (from > to) { showEdges(); return; }
  const follows = atEnd && innerHeight + scrollY > document.body.scrollHeight - 200;
  view.busy = true;
  try {
    const { nodes, got } = await fetchAll(from, to);
    inPlace(() => replaceFrom(all.slice(kept + 1), nodes));
    if (got) Object.assign(view, { last: got.last, all: Math.max(got.all, view.all) });
    showEdges();
  } finally {
    view.busy = false;
  }
  if (follows) scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
  refresh();
}

function grow(told) {
  if (told.total < view.total) { location.reload(); return; }
  view.version = told.version;
  view.total = told.total;
  view.stale = Math.min(view.stale, told.from);
  refresh();
}

// Receive events while the page is visible. A browser has only six connections to a server.
function listen(key, version, told) {
  let source = null;
  const close = () => { if (source) { source.close(); source = null; told.lost(); } };
  const begin = () => {
    if (source || document.hidden) return;
    source = new EventSource(`${base}/c/${key}/events?seen=${encodeURIComponent(version())}`);
    source.addEventListener("open", told.open);
    source.addEventListener("error", told.lost);
    source.addEventListener("grown", (event) => told.grown(JSON.parse(event.data)));
    source.addEventListener("gone", () => { close(); document.removeEventListener("visibilitychange", turn); });
  };
  const turn = () => (document.hidden ? close() : begin());
  document.addEventListener("visibilitychange", turn);
  addEventListener("pagehide", close);
  addEventListener("pageshow", begin);
  begin();
}

function follow() {
  const live = $("[data-live]");
  let goesOn = "active" in turns.dataset;
  listen(view.key, () => view.version, {
    open: () => { live.hidden = !goesOn; },
    lost: () => { live.hidden = true; },
    grown: (told) => { goesOn = true; live.hidden = false; grow(told); },
  });
}

// Show the current position in the outline and in the number field.
function place() {
  const shown = $$(".turn[data-n]", turns).find((one) => one.getBoundingClientRect().bottom > 120);
  if (!shown) return;
  const number = Number(shown.dataset.n);
  const field = $(".jump input");
  if (document.activeElement !== field) field.value = number;
  let here = null;
  for (const link of $$(".outline a")) {
    link.parentElement.classList.remove("here");
    if (Number(link.dataset.jump) <= number) here = link;
  }
  if (here) here.parentElement.classList.add("here");
}

function step(by) {
  const all = $$(turns ? ".turn" : ".row, .found");
  const top = all.findIndex((one) => one.getBoundingClientRect().bottom > 80);
  const now = all.findIndex((one) => one.classList.contains("at"));
  const next = all[now < 0 ? Math.max(top, 0) : Math.min(Math.max(now + by, 0), all.length - 1)];
  mark(next);
}

function open() {
  const at = $(".at");
  if (!at) return false;
  const link = $("a.go", at);
  if (link) { link.click(); return true; }
  const folds = $$("details", at);
  const isOpen = folds.some((one) => one.open);
  for (const one of folds) one.open = !isOpen;
  return folds.length > 0;
}

const KEYS = {
  "/": () => { const field = $("input[type=search]"); if (field) { field.focus(); field.select(); } else location.href = `${base}/#search`; },
  j: () => step(1),
  k: () => step(-1),
  g: () => view && jump(1),
  G: () => view && jump(view.all),
  c: () => $("#resume") && copy("resume"),
  u: () => { location.href = `${base}/`; },
  t: switchTheme,
  "?": () => $("#help").showModal(),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input, select, textarea");
  if (field) { if (event.key === "Escape") field.blur(); return; }
  if ($("#help").open) return;
  if (event.key === "Enter" && !event.target.closest("a, button, summary")) { if (open()) event.preventDefault(); return; }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});

addEventListener("click", (event) => {
  const on = (selector) => event.target.closest(selector);
  if (on("[data-theme-switch]")) switchTheme();
  else if (on("[data-help-open]")) $("#help").showModal();
  else if (on("[data-copy]")) copy(on("[data-copy]").dataset.copy);
  else if (view && on("[data-edge]")) {
    event.preventDefault();
    extend(on("[data-edge]").dataset.edge === "down");
  } else if (view && on("[data-jump]") && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    const to = on("[data-jump]").dataset.jump;
    jump(to === "end" ? view.all : Number(to));
  }
});

const asking = $("[data-asking]");
if (asking) {
  // Leave empty fields out of the URL.
  asking.addEventListener("submit", () => { for (const one of asking.elements) if (!one.value) one.disabled = true; });
  asking.addEventListener("change", (event) => { if (event.target.tagName === "SELECT") asking.requestSubmit(); });
  addEventListener("pageshow", () => { for (const one of asking.elements) one.disabled = false; });
  if (location.hash === "#search") $("input[type=search]").focus();
}

const unsaid = $("[data-unsaid]");
if (unsaid) {
  const { key, version } = unsaid.dataset;
  listen(key, () => version, { open() {}, lost() {}, grown: () => location.reload() });
}

// Pages of a service or a store: reload the list or conversation when it changes.
const ENDS = { deleted: "This conversation was deleted", expired: "This conversation expired", gone: "This conversation no longer exists" };

function note(text) {
  const told = document.createElement("p");
  told.className = "damage";
  told.textContent = `${text}. You see its last state.`;
  $(".about").append(told);
  say(text);
}

function followKept() {
  let source = null, busy = false, again = false, ended = false;
  const close = () => { if (source) { source.close(); source = null; } };
  const draw = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.pathname + location.search);
      if (answer.ok) {
        const made = new DOMParser().parseFromString(await answer.text(), "text/html");
        redraw($("main", made));
      }
    } finally {
      busy = false;
    }
    if (again) { again = false; draw(); }
  };
  const begin = () => {
    if (source || ended || document.hidden) return;
    const { follow, seen, asked } = $("[data-follow]").dataset;
    source = new EventSource(`${follow}?seen=${encodeURIComponent(seen)}${asked ? `&${asked}` : ""}`);
    source.addEventListener("grown", draw);
    for (const end of Object.keys(ENDS)) source.addEventListener(end, () => { ended = true; close(); note(ENDS[end]); });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : begin()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", begin);
  begin();
}

// Keep typed text, the mark and open details. Do not replace the search field while it is in use.
function redraw(main) {
  const follows = innerHeight + scrollY > document.body.scrollHeight - 200;
  const place = (one) => one && (one.id || $("a.go", one)?.getAttribute("href"));
  const at = place($(".at"));
  for (const one of $$("main details[open]")) {
    const inside = one.closest(".turn, .about");
    const beside = inside && (inside.id ? $(`#${inside.id}`, main) : $(".about", main));
    const same = beside && $$("details", beside)[$$("details", inside).indexOf(one)];
    if (same) same.open = true;
  }
  const field = $("main .asking"), other = $(".asking", main);
  if (field && other && field.contains(document.activeElement)) {
    // A moved field loses its typed text, so replace everything around it instead.
    const rest = [...main.childNodes], at = rest.indexOf(other);
    for (const one of [...$("main").childNodes]) if (one !== field) one.remove();
    field.before(...rest.slice(0, at));
    field.after(...rest.slice(at + 1));
  } else {
    $("main").replaceChildren(...main.childNodes);
  }
  if (at) mark($$(".row, .turn").find((one) => place(one) === at), false);
  if (follows && $("section.turns")) scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
}
if ($("[data-follow]")) followKept();

if (view) {
  const goTo = (number) => jump(Math.min(Math.max(number, 1), view.all));
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; look(); place(); });
  }, { passive: true });
  $("[data-jump-form]").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = $(".jump input").value.trim();
    $(".jump input").blur();
    if (/^[0-9]{1,9}$/.test(given)) goTo(Number(given));
  });
  const fromHash = () => { const found = /^#m([0-9]{1,9})$/.exec(location.hash); if (found) goTo(Number(found[1])); return found; };
  addEventListener("hashchange", fromHash);
  const at = new URLSearchParams(location.search).get("at");
  const isNumber = /^[0-9]{1,9}$/.test(at || "");
  if (at && !isNumber) say(`“${at.slice(0, 20)}” is not a message number`);
  if (!fromHash() && isNumber) goTo(Number(at));
  else if (!location.hash && view.last >= view.all && view.first > 1) scrollTo({ top: document.body.scrollHeight });
  place();
  look();
  follow();
}
