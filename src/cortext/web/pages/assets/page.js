// What the pages do beyond links and forms. Without it everything can still be read.
"use strict";

const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
const root = document.documentElement;
const turns = $("#turns");

function say(text) {
  const said = $("#said");
  said.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { said.textContent = ""; }, 1800);
}

// Light and dark: the choice is a cookie, so that the server draws the next page in it at once.
function switchTheme() {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `cortext-theme=${root.dataset.theme}; Path=/; Max-Age=31536000; SameSite=Strict`;
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

// A conversation is a window on its messages: `first` to `last` of `all` are in the page.
const view = turns && {
  key: turns.dataset.key,
  first: Number(turns.dataset.first),
  last: Number(turns.dataset.last),
  all: Number(turns.dataset.all),
  busy: false,
};
const STEP = 40;
const MOST = 400;

async function fetchTurns(query) {
  const answer = await fetch(`/c/${view.key}/messages?${new URLSearchParams(query)}`);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  const number = (name) => Number(answer.headers.get(name));
  return { nodes: made.content, first: number("X-First"), last: number("X-Last"), all: number("X-Total") };
}

// Keep what is on the screen where it is while something above it comes or goes.
function inPlace(change) {
  const still = $$(".turn", turns).find((one) => one.getBoundingClientRect().bottom > 60);
  const before = still && still.getBoundingClientRect().top;
  change();
  if (still && still.isConnected) scrollBy({ top: still.getBoundingClientRect().top - before, behavior: "instant" });
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
  look();
}

// The edges may still be near the screen after more came: an observer would not say so again.
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

async function grow(event) {
  const told = JSON.parse(event.data);
  const atEnd = view.last >= view.all;
  if (told.total < view.all) { location.reload(); return; }
  view.all = told.total;
  if (!atEnd || view.busy) { showEdges(); return; }
  const follows = innerHeight + scrollY > document.body.scrollHeight - 200;
  const from = Math.max(Math.min(told.from, view.last + 1), view.first);
  view.busy = true;
  try {
    const got = await fetchTurns({ from, to: Math.min(told.total, from + 199) });
    drop((n) => n >= from);
    $("[data-edge=down]").before(got.nodes);
    Object.assign(view, { last: got.last, all: got.all });
    showEdges();
  } finally {
    view.busy = false;
  }
  if (follows) scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
}

function follow() {
  const source = new EventSource(`/c/${view.key}/events?seen=${view.all}`);
  const live = $("[data-live]");
  let goesOn = "active" in turns.dataset;
  source.addEventListener("open", () => { live.hidden = !goesOn; });
  source.addEventListener("error", () => { live.hidden = true; });
  source.addEventListener("grown", (event) => { goesOn = true; live.hidden = false; grow(event); });
  source.addEventListener("gone", () => { source.close(); live.hidden = true; });
  addEventListener("pagehide", () => source.close());
}

// Where the reader is, in the list of what was asked and in the field for a number.
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
  "/": () => { const field = $("input[type=search]"); if (field) { field.focus(); field.select(); } else location.href = "/#search"; },
  j: () => step(1),
  k: () => step(-1),
  g: () => view && jump(1),
  G: () => view && jump(view.all),
  c: () => $("#resume") && copy("resume"),
  u: () => { location.href = "/"; },
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
  // An address with what is empty in it is hard to read.
  asking.addEventListener("submit", () => { for (const one of asking.elements) if (!one.value) one.disabled = true; });
  asking.addEventListener("change", (event) => { if (event.target.tagName === "SELECT") asking.requestSubmit(); });
  addEventListener("pageshow", () => { for (const one of asking.elements) one.disabled = false; });
  if (location.hash === "#search") $("input[type=search]").focus();
}

if (view) {
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; look(); place(); });
  }, { passive: true });
  $("[data-jump-form]").addEventListener("submit", (event) => {
    event.preventDefault();
    const number = Number($(".jump input").value);
    $(".jump input").blur();
    if (number) jump(Math.min(Math.max(number, 1), view.all));
  });
  const fromHash = () => { const found = /^#m([0-9]{1,9})$/.exec(location.hash); if (found) jump(Math.min(Number(found[1]), view.all)); return found; };
  addEventListener("hashchange", fromHash);
  const at = new URLSearchParams(location.search).get("at");
  if (!fromHash() && at) jump(Math.min(Number(at) || 1, view.all));
  else if (!location.hash && view.last >= view.all && view.first > 1) scrollTo({ top: document.body.scrollHeight });
  place();
  look();
  follow();
}
