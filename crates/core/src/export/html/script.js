
(() => {
  const $ = (id) => document.getElementById(id);
  const find = $('find');
  if (!find) return;
  const found = $('found');
  const story = $('story');
  const leaves = [...story.querySelectorAll(':scope > .leaf')];
  const articles = leaves.flatMap((leaf) => [...leaf.children].filter((child) => child.tagName === 'ARTICLE'));
  const links = [...document.querySelectorAll('.prompts a')];
  const targets = links.map((link) => $(link.hash.slice(1)));
  const texts = new Map();
  const textOf = (article) => {
    if (!texts.has(article)) texts.set(article, article.textContent.toLowerCase());
    return texts.get(article);
  };

  // Find: messages that hold every word stay, and the words are marked.
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const article of articles) {
      const fits = words.every((word) => textOf(article).includes(word));
      article.hidden = !fits;
      if (fits) count += 1;
    }
    // One that is not laid out would keep its height.
    for (const leaf of leaves) leaf.hidden = ![...leaf.children].some((child) => !child.hidden);
    $('none').hidden = count > 0 || words.length === 0;
    found.textContent = words.length === 0 ? '' : `${count} of ${articles.length} messages`;
    unfoldHits(words);
    highlight(words);
  };
  // What hides a hit is opened, and closed again when it is no longer one.
  const opened = new Set();
  const unfoldHits = (words) => {
    for (const details of opened) details.open = false;
    opened.clear();
    if (words.length === 0) return;
    for (const article of articles) {
      if (article.hidden) continue;
      for (const details of article.querySelectorAll('details:not([open])')) {
        const inside = [...details.children].filter((child) => child.tagName !== 'SUMMARY');
        const text = inside.map((child) => child.textContent).join(' ').toLowerCase();
        if (opened.size < 500 && words.some((word) => text.includes(word))) {
          details.open = true;
          opened.add(details);
        }
      }
    }
  };
  const highlight = (words) => {
    const shown = articles.filter((article) => !article.hidden && words.length > 0);
    transcript.mark('found', shown.reduce((found, article) => transcript.places(article, words, found), []));
  };
  let waiting;
  find.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 80);
  });

  // Fold and unfold.
  $('open').addEventListener('click', () => transcript.foldAll(story, true));
  $('close').addEventListener('click', () => transcript.foldAll(story, false));
  $('bar').hidden = false;

  // Which kinds of content are shown.
  for (const box of $('bar').querySelectorAll('input')) {
    box.addEventListener('change', () => document.body.classList.toggle(`no-${box.value}`, !box.checked));
  }

  // Copy a message.
  for (const button of document.querySelectorAll('.copy')) button.hidden = !navigator.clipboard;
  story.addEventListener('click', (event) => {
    const button = event.target.closest('.copy');
    if (!button) return;
    navigator.clipboard.writeText(transcript.textOf(button.closest('article'))).then(() => {
      button.textContent = 'copied';
      button.classList.add('done');
      setTimeout(() => { button.textContent = 'copy'; button.classList.remove('done'); }, 1500);
    }).catch(() => {});
  });

  // An address may lead into something folded.
  const unfold = () => {
    const target = location.hash && $(location.hash.slice(1));
    transcript.unfold(target);
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', unfold);
  if (location.hash) unfold();

  // Which prompt is being read: the last whose message begins above the middle of the window.
  let current = -1;
  const place = () => {
    // Prompts are in order, so few of many are looked at while the page scrolls.
    const shown = targets.map((_, n) => n).filter((n) => targets[n] && !targets[n].hidden);
    let [above, below] = [-1, shown.length];
    while (below - above > 1) {
      const middle = (above + below) >> 1;
      if (targets[shown[middle]].getBoundingClientRect().top < innerHeight / 3) above = middle;
      else below = middle;
    }
    const at = shown[above] ?? -1;
    if (at === current) return;
    if (links[current]) links[current].removeAttribute('aria-current');
    current = at;
    if (links[at]) {
      links[at].setAttribute('aria-current', 'true');
      if (matchMedia('(min-width: 60rem)').matches) links[at].scrollIntoView({ block: 'nearest' });
    }
  };
  let asked = false;
  addEventListener('scroll', () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; place(); });
  }, { passive: true });
  place();
  if (matchMedia('(max-width: 60rem)').matches) document.querySelector('.prompts').open = false;

  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && document.activeElement === find) {
      find.value = '';
      filter();
      find.blur();
    }
    if (/^(INPUT|TEXTAREA|BUTTON)$/.test(document.activeElement.tagName)) return;
    if (event.key === '/') {
      event.preventDefault();
      find.focus();
    } else if (event.key === 'j' || event.key === 'k') {
      step(event.key === 'j' ? 1 : -1);
    }
  });
  const step = (by) => { const next = targets[current + by]; if (next) next.scrollIntoView(); };
  $('steps').hidden = targets.length === 0;
  $('next').addEventListener('click', () => step(1));
  $('previous').addEventListener('click', () => step(-1));
})();
