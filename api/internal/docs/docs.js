// Search, copy buttons and links to folded entries. The page shows everything without it.
'use strict';

const $ = (id) => document.getElementById(id);
const search = $('search');
const main = $('operations');
const words = { operation: 'operation', schema: 'schema', problem: 'problem' };

// What can be found: the text of an entry without its example and its answers.
const entries = [...document.querySelectorAll('.entry')].map((element) => {
  const copy = element.cloneNode(true);
  copy.querySelectorAll('.example, .responses').forEach((part) => part.remove());
  const kind = Object.keys(words).find((name) => element.classList.contains(name));
  return { element, kind, text: copy.textContent.toLowerCase() + ' ' + element.id.toLowerCase() };
});
const folds = [...document.querySelectorAll('.fold')];
let foldsBefore = null; // whether each fold was open before a search opened it

function filter() {
  const asked = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const counts = { operation: 0, schema: 0, problem: 0 };
  for (const entry of entries) {
    const matches = asked.every((word) => entry.text.includes(word));
    entry.element.hidden = !matches;
    if (matches) counts[entry.kind]++;
  }
  const searching = asked.length > 0;
  if (searching && !foldsBefore) foldsBefore = folds.map((fold) => fold.open);
  folds.forEach((fold, i) => {
    if (searching) fold.open = true;
    else if (foldsBefore) fold.open = foldsBefore[i];
  });
  if (!searching) foldsBefore = null;
  for (const section of main.querySelectorAll('section')) {
    section.hidden = searching && !section.querySelector('.entry:not([hidden])');
  }
  main.querySelectorAll('.intro, .about').forEach((part) => { part.hidden = searching; });
  const found = Object.values(counts).some(Boolean);
  main.querySelector('.all').hidden = !found;
  main.querySelector('.all').hidden = !found;
  $('nothing').hidden = found;
  $('nothing').querySelector('q').textContent = search.value.trim();
  $('found').textContent = !searching ? '' : !found ? 'Nothing found' : Object.keys(counts)
    .filter((kind) => counts[kind] > 0)
    .map((kind) => counts[kind] + ' ' + words[kind] + (counts[kind] === 1 ? '' : 's'))
    .join(', ');
}

function clear() {
  search.value = '';
  filter();
}

// Opens the entry that an address leads to, and all that it is folded in.
function reveal(hash) {
  let target = null;
  try {
    target = $(decodeURIComponent(hash.slice(1)));
  } catch {
    return; // no address of this page
  }
  if (!target) return;
  if (target.closest('[hidden]')) clear();
  if (target.matches('h2')) target.parentElement.querySelectorAll(':scope > .fold').forEach((fold) => { fold.open = true; });
  for (let part = target; part; part = part.parentElement) {
    if (part.matches('details')) part.open = true;
  }
  target.scrollIntoView();
}

async function copy(button) {
  const code = button.parentElement.querySelector('code');
  const label = button.querySelector('.label');
  let done = false;
  try {
    await navigator.clipboard.writeText(code.textContent);
    done = true;
  } catch { // a page without TLS has no clipboard: select the text, so that the keys copy it
    getSelection().selectAllChildren(code);
    done = document.execCommand('copy');
  }
  label.textContent = done ? 'Copied' : 'Press Ctrl+C';
  $('found').textContent = done ? 'Copied' : 'The example is selected';
  setTimeout(() => {
    label.textContent = 'Copy';
    filter();
  }, 2000);
}

document.querySelectorAll('.server').forEach((server) => { server.textContent = new URL('.', location.href).href.slice(0, -1); });
document.querySelectorAll('.search, .all, .copy').forEach((part) => { part.hidden = false; });
search.addEventListener('input', () => {
  filter();
  if (main.getBoundingClientRect().top < 0) main.scrollIntoView(); // the first match is above
});
search.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    clear();
  } else if (event.key === 'Enter') {
    event.preventDefault(); // or the key would open the entry too
    main.querySelector('details.entry:not([hidden]) > summary')?.focus();
  }
});
document.addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, textarea, select, [contenteditable]');
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});
$('clear').addEventListener('click', () => {
  clear();
  search.focus();
});
const all = (open) => () => document.querySelectorAll('main details').forEach((part) => { part.open = open && !part.closest('[hidden]'); });
$('open-all').addEventListener('click', all(true));
$('close-all').addEventListener('click', all(false));

const wide = matchMedia('(min-width: 62rem)');
const menu = $('menu');
const fit = () => { menu.open = wide.matches; };
wide.addEventListener('change', fit);
fit();

document.addEventListener('click', (event) => {
  const button = event.target.closest('.copy');
  if (button) copy(button);
  const entry = event.target.closest('.entry > summary')?.parentElement;
  if (entry && !entry.open) history.replaceState(null, '', '#' + entry.id); // so that the address can be handed on
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  if (menu.contains(link) && !wide.matches) menu.open = false;
  if (link.hash === location.hash) reveal(link.hash); // no change of the address tells of it
});
addEventListener('hashchange', () => reveal(location.hash));
if (location.hash) reveal(location.hash);
