/** How pages look, in light and in dark, from 320 pixels on. Invariant: colour alone says nothing; every pair of colours has a contrast of 4.5 or more. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fbfbfa; --card: #ffffff; --line: #d5d5d0; --text: #1d1f21; --soft: #565a5e;
  --link: #0b57a4; --good: #146c34; --warn: #8a4b00; --bad: #a3171f; --accent: #0b57a4; --on-accent: #ffffff;
  --warn-ground: #fff3dc; --bad-ground: #fdeaea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15171a; --card: #1d2024; --line: #3b4046; --text: #e7e9ea; --soft: #aab0b6;
    --link: #8ec2ff; --good: #7ddb9c; --warn: #ffc46b; --bad: #ff9a9a; --accent: #8ec2ff; --on-accent: #10202f;
    --warn-ground: #33280f; --bad-ground: #3a1b1d;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, "Open Sans", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; padding: .6rem 1rem; border-bottom: 1px solid var(--line); background: var(--card); }
main { max-width: 78rem; margin: 0 auto; padding: 1rem; }
main:focus { outline: none; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 1rem; }
h2 { font-size: 1.15rem; margin: 1.8rem 0 .6rem; }
.card > h2 { margin-top: 0; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
p { margin: .4rem 0; max-width: 60rem; }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible, textarea:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
code, pre, textarea { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .875rem; }
.home { font-weight: 700; text-decoration: none; color: var(--text); }
header nav { display: flex; gap: 1rem; margin-right: auto; }
.who { display: flex; gap: .75rem; align-items: center; flex-wrap: wrap; }
.who form { margin: 0; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: .5rem; top: .5rem; background: var(--card); padding: .5rem; z-index: 2; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
.needs-script { display: none; }
.scripted .needs-script { display: revert; }
.scripted .without-script { display: none; }
.small, .help { color: var(--soft); font-size: .875rem; }
.lead { font-size: 1.1rem; }
.notice { border-left: 4px solid var(--warn); background: var(--warn-ground); padding: .5rem .75rem; }
.notice.bad { border-color: var(--bad); background: var(--bad-ground); }
.count { margin-left: .75rem; white-space: nowrap; }
.filter { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.scripted .filter.needs-script { display: flex; }
input, select, textarea { font-size: 1rem; color: var(--text); background: var(--card); border: 1px solid var(--soft); border-radius: 4px; padding: .35rem .5rem; max-width: 100%; }
textarea { display: block; width: 100%; font-size: .875rem; }
label { display: inline-block; }
fieldset { border: 0; padding: 0; margin: 0; min-width: 0; }
legend { font-weight: 700; padding: 0; margin-bottom: .4rem; }
button { font: inherit; font-weight: 600; border: 1px solid var(--accent); border-radius: 4px; background: var(--accent); color: var(--on-accent); padding: .4rem .9rem; cursor: pointer; }
button.quiet { background: transparent; color: var(--link); }
button:disabled { opacity: .55; cursor: not-allowed; }
.row { display: flex; flex-wrap: wrap; gap: .6rem; margin: .6rem 0; }
.choice { display: block; padding: .25rem 0; }
table.items { width: 100%; border-collapse: collapse; }
table.items th, table.items td { text-align: left; vertical-align: top; padding: .45rem .6rem; border-bottom: 1px solid var(--line); }
table.items thead th, table.items td:first-child, table.items td:nth-last-child(-n+2) { white-space: nowrap; }
table.items tbody th { width: 23rem; }
table.items.story tbody th { width: auto; }
table.items.story td { white-space: normal; }
table.items caption { text-align: left; color: var(--soft); font-size: .875rem; }
table.items thead th { color: var(--soft); font-size: .875rem; font-weight: 600; }
table.items tbody th { font-weight: 600; }
table.items tbody th code { display: block; font-weight: 400; }
table.items tbody tr { content-visibility: auto; contain-intrinsic-size: auto 4rem; }
table.items tr:focus-within { background: var(--card); }
.kind, .state { display: inline-block; border: 1px solid currentColor; border-radius: 999px; padding: 0 .6rem; font-size: .875rem; font-weight: 600; white-space: nowrap; }
.kind.review, .state.doubt { color: var(--bad); }
.kind.approval, .state.not_sent, .state.pending { color: var(--link); }
.kind.recheck, .state.unknown { color: var(--warn); }
.state.committed { color: var(--good); }
.state.failed, .kind.call { color: var(--bad); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: .7rem 0; }
ol.cards { list-style: none; padding: 0; margin: 0; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .2rem .9rem; margin: .5rem 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; min-width: 0; }
pre { background: var(--ground); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: .4rem 0; white-space: pre-wrap; }
pre.content { max-height: 24rem; overflow: auto; }
.scrolls { overflow: auto; max-width: 100%; }
.verified { color: var(--good); font-weight: 600; }
.refuted { color: var(--bad); font-weight: 600; }
svg.chain { display: block; font: 13px system-ui, "Open Sans", "DejaVu Sans", sans-serif; }
svg.chain .box { fill: var(--card); stroke: var(--soft); stroke-width: 1.5; }
svg.chain .valid .box { stroke: var(--good); stroke-width: 2.5; }
svg.chain .invalid .box { stroke: var(--bad); stroke-width: 2.5; stroke-dasharray: 5 3; }
svg.chain text { fill: var(--text); }
svg.chain .valid .verdict { fill: var(--good); font-weight: 700; }
svg.chain .invalid .verdict { fill: var(--bad); font-weight: 700; }
svg.chain .link { stroke: var(--soft); stroke-width: 1.5; fill: none; }
.checkpoints { padding-left: 1.5rem; }
@media (max-width: 46rem) {
  main { padding: .75rem; }
  table.items thead { display: none; }
  table.items, table.items tbody, table.items tr, table.items td, table.items tbody th { display: block; }
  table.items tr { border: 1px solid var(--line); border-radius: 8px; background: var(--card); margin-bottom: .6rem; padding: .4rem .6rem; }
  table.items td, table.items tbody th { border: 0; padding: .15rem 0; }
  table.items td[data-label]:not(:empty)::before { content: attr(data-label) ": "; color: var(--soft); }
  .facts { grid-template-columns: 1fr; }
  table.items tbody th { width: auto; }
}
@media (prefers-reduced-motion: no-preference) { .changed { animation: changed 1.5s ease-out; } }
@keyframes changed { from { background: var(--warn-ground); } }
`;

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57a4"/><path d="M8 17l5.5 5.5L24 10" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
