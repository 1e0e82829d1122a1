"""The style sheet of the HTML export, for any screen width, in light and dark mode."""

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #f6f5f2; --card: #fff; --ink: #1d1f23; --soft: #62666e; --line: #e2e0da;
  --code: #f3f2ee; --link: #1f5fbf; --user: #1f5fbf; --assistant: #8a4b12; --other: #6b6f76;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #131519; --card: #1b1e24; --ink: #e4e5e8; --soft: #9aa0aa; --line: #2d313a;
    --code: #14171c; --link: #86b4ff; --user: #86b4ff; --assistant: #e7a561; --other: #9aa0aa;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: anywhere;
}
header, main, footer { max-width: 50rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; letter-spacing: -.01em; }
.summary { color: var(--soft); font-size: 1.05rem; margin: 0 0 1.25rem; }
.facts {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .6rem 1.5rem;
  margin: 1.25rem 0 2rem; padding: 1rem 0; border: solid var(--line); border-width: 1px 0;
}
.facts div { min-width: 0; }
.facts dt { color: var(--soft); font-size: .8rem; line-height: 1.3; }
.facts dd { margin: 0; font-size: .95rem; line-height: 1.4; }
article {
  background: var(--card); border: 1px solid var(--line); border-left: 3px solid var(--other);
  border-radius: 8px; margin: 0 0 1rem; padding: .8rem 1.1rem 1rem;
}
article.user { border-left-color: var(--user); }
article.assistant { border-left-color: var(--assistant); }
article.slim { padding: .5rem 1.1rem; }
.by {
  display: flex; flex-wrap: wrap; gap: 0 .6rem; align-items: baseline;
  font-size: .82rem; color: var(--soft); margin: 0 0 .4rem;
}
.slim .by { margin: 0; }
.role { font-size: .9rem; font-weight: 650; color: var(--other); }
.user .role { color: var(--user); }
.assistant .role { color: var(--assistant); }
.by time { margin-left: auto; font-variant-numeric: tabular-nums; }
.text { unicode-bidi: isolate; }
.text > :first-child { margin-top: 0; }
.text > :last-child { margin-bottom: 0; }
.text :is(h1, h2, h3, h4, h5, h6) { font-size: 1.08rem; line-height: 1.35; margin: 1.3em 0 .4em; }
.text h1 { font-size: 1.25rem; }
.text h2 { font-size: 1.15rem; }
p, ul, ol, pre, blockquote, table { margin: 0 0 .8rem; }
.text :is(ul, ol) { padding-inline-start: 1.5rem; }
.text li > :is(ul, ol, p) { margin-bottom: .25rem; }
blockquote {
  margin-inline: 0; padding-inline-start: 1rem; border-inline-start: 3px solid var(--line);
  color: var(--soft);
}
hr { border: 0; border-top: 1px solid var(--line); margin: 1.2rem 0; }
a { color: var(--link); text-underline-offset: 2px; }
code, pre {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .875em;
}
code { background: var(--code); border-radius: 4px; padding: .1em .3em; }
pre {
  background: var(--code); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem;
  overflow-x: auto; line-height: 1.5; unicode-bidi: plaintext; tab-size: 4; overflow-wrap: normal;
}
pre code { background: none; padding: 0; font-size: 1em; }
.plain { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
pre.plain { max-height: 32rem; overflow: auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: .3rem .65rem; text-align: start; }
th { background: var(--code); }
.right { text-align: end; }
.center { text-align: center; }
details { margin: .5rem 0 0; }
article > pre:last-child { margin-bottom: 0; }
summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
summary code { color: var(--ink); }
:is(summary, a):focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px;
}
details[open] > summary { margin-bottom: .5rem; }
details p.label { color: var(--soft); font-size: .8rem; margin: 0 0 .2rem; }
footer { color: var(--soft); font-size: .82rem; padding-top: 1rem; padding-bottom: 3rem; }
@media (max-width: 36rem) {
  header { padding-top: 1.5rem; }
  h1 { font-size: 1.4rem; }
  .facts { grid-template-columns: 1fr 1fr; gap: .5rem 1rem; }
  article { padding: .7rem .85rem .85rem; }
  article.slim { padding: .45rem .85rem; }
}
@media print {
  body { background: #fff; }
  article { break-inside: auto; box-shadow: none; }
  pre.plain { max-height: none; }
}
"""
