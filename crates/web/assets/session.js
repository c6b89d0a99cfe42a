// What the page of a session can do: find, copy, fold, load further messages, and follow a running session.
(() => {
  const { $, $$, pause, fetchPage, say, copy, live, keys, handlers } = backstory;
  const story = $('#story');
  if (!story) return;
  const articles = () => $$(':scope > article', story);
  const place = (article) => Number(article.id.slice(1));
  // Scrolls to an element, and again when what was not drawn yet has got its real height.
  const show = (element, block = 'start', times = 4) => {
    if (!element) return;
    element.scrollIntoView({ block, behavior: 'instant' });
    if (times > 0) requestAnimationFrame(() => show(element, block, times - 1));
  };
  const showEnd = () => show(articles().at(-1), 'end');

  // Copy: a message, the command that resumes the session, or a link to what is being read.
  const dress = (root) => {
    for (const button of $$('.copy', root)) {
      button.hidden = false;
    }
  };
  dress(document);
  story.addEventListener('click', (event) => {
    const button = event.target.closest('.copy');
    if (!button) return;
    copy(transcript.textOf(button.closest('article')), 'the message');
  });
  const dressHead = () => {
    const about = $('#about');
    for (const button of $$('button[hidden]', about)) button.hidden = false;
    $('.copy-text', about).addEventListener('click', (event) => copy(event.target.dataset.copy, 'the command'));
    $('.copy-link', about).addEventListener('click', () => copy(location.href, 'the link'));
    $('.unfold', about).addEventListener('click', () => foldAll());
  };
  let isOpen = false;
  const foldAll = () => {
    isOpen = !isOpen;
    transcript.foldAll(story, isOpen);
    $('.unfold').textContent = isOpen ? 'Fold all' : 'Unfold all';
  };
  dressHead();

  // An address may lead into something folded, or to a message that is not on the page yet.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    transcript.unfold(target);
    show(target);
    const wanted = /^#m(\d+)$/.exec(location.hash);
    if (!target && wanted) {
      const address = new URL(location.href);
      if (address.searchParams.get('at') === wanted[1]) return;
      address.searchParams.set('at', wanted[1]);
      location.replace(address);
    }
  };
  addEventListener('hashchange', reveal);
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href*="#m"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const hash = link.href.baseVal !== undefined ? link.href.baseVal : link.getAttribute('href');
    const id = hash.slice(hash.indexOf('#') + 1);
    if (!document.getElementById(id)) return;
    event.preventDefault();
    location.hash = id;
    reveal();
  });

  // Further messages, before the reader gets to their end.
  const part = (values) => {
    const address = new URL(story.dataset.part, location.href);
    for (const [name, value] of Object.entries(values)) address.searchParams.set(name, value);
    return address;
  };
  const load = async (holder) => {
    if (holder.classList.contains('loading')) return;
    holder.classList.add('loading');
    const isLater = holder.dataset.later !== undefined;
    try {
      const page = await fetchPage(part(isLater ? { from: holder.dataset.later } : { to: holder.dataset.earlier }));
      const fresh = $('#story', page);
      const useless = $(isLater ? '[data-earlier]' : '[data-later]', fresh);
      if (useless) useless.remove();
      dress(fresh);
      const before = holder.getBoundingClientRect().bottom;
      const next = holder.nextElementSibling;
      holder.replaceWith(...fresh.childNodes);
      // What is being read stays where it is.
      if (!isLater && next) scrollBy(0, next.getBoundingClientRect().top - before);
      watch();
      find();
    } catch {
      holder.classList.remove('loading');
    }
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) load(entry.target);
  }, { rootMargin: '2500px' });
  const watch = () => {
    near.disconnect();
    $$(':scope > .part', story).forEach((holder) => near.observe(holder));
    gather();
  };

  // Find: marks every hit, counts them, and opens what hides the one that is looked at.
  let hits = [];
  let hit = -1;
  const find = () => {
    const field = $('#find');
    const words = field.value.trim().toLowerCase();
    hits = words.length < 2 ? [] : transcript.places(story, [words]);
    // Words that are nowhere together are found one by one.
    if (hits.length === 0) hits = transcript.places(story, words.split(/\s+/).filter((word) => word.length > 1));
    hit = -1;
    transcript.mark('found', hits);
    transcript.mark('here', []);
    $('#found').textContent = '';
    if (words.length < 2) return;
    const more = $(':scope > .part', story) ? ' on the loaded part' : '';
    $('#found').textContent = hits.length === 0 ? `nothing found${more}` : `${hits.length} found${more}; n, p go through them`;
  };
  const goHit = (by) => {
    if (hits.length === 0) return;
    hit = (hit + by + hits.length) % hits.length;
    const range = hits[hit];
    transcript.unfold(range.startContainer.parentElement);
    transcript.mark('here', [range]);
    show(range.startContainer.parentElement, 'center');
    $('#found').textContent = `${hit + 1} of ${hits.length}`;
  };
  // Goes to the hit in the message that the address names, or to the first one.
  const goFirst = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const first = target ? hits.findIndex((range) => target.contains(range.startContainer)) : 0;
    hit = first - 1;
    if (first >= 0) goHit(1);
  };
  const dressSide = () => {
    $('#find').addEventListener('input', pause(find, 120));
    $('#find').addEventListener('keydown', (event) => {
      if (event.key === 'Enter') { event.preventDefault(); goHit(event.shiftKey ? -1 : 1); }
    });
  };
  dressSide();
  if (matchMedia('(max-width: 62rem)').matches) $$('.side details').forEach((list) => { list.open = false; });

  // Which prompt is being read.
  let links = $$('.prompts a');
  let prompts = [];
  let current = -1;
  const gather = () => {
    const all = links.map((link, at) => ({ at, prompt: document.getElementById(`m${link.dataset.place}`) }));
    prompts = all.filter(({ prompt }) => prompt);
  };
  const follow = () => {
    // Prompts are in order, so few of many are looked at while the page scrolls.
    let [above, below] = [-1, prompts.length];
    while (below - above > 1) {
      const middle = (above + below) >> 1;
      if (prompts[middle].prompt.getBoundingClientRect().top < innerHeight / 3) above = middle;
      else below = middle;
    }
    const at = prompts[above]?.at ?? -1;
    if (at === current) return;
    links[current]?.removeAttribute('aria-current');
    current = at;
    links[at]?.setAttribute('aria-current', 'true');
    if (matchMedia('(min-width: 62rem)').matches) links[at]?.scrollIntoView({ block: 'nearest' });
  };
  let asked = false;
  addEventListener('scroll', () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; follow(); });
  }, { passive: true });

  // Follow: new messages appear below if the end is in view, else a button offers them.
  const button = $('.new-turns button');
  const isAtEnd = () => {
    let last = story.lastElementChild;
    while (last && last.localName !== 'article') last = last.previousElementSibling;
    return !last || last.getBoundingClientRect().bottom < innerHeight + 120;
  };
  const showNew = (count) => {
    $('.new-turns').hidden = count === 0;
    button.textContent = count === 1 ? '↓ 1 new message' : `↓ ${count} new messages`;
    button.dataset.count = count;
  };
  button.addEventListener('click', () => {
    showEnd();
    showNew(0);
  });
  addEventListener('scroll', () => { if (isAtEnd()) showNew(0); }, { passive: true });
  const update = async () => {
    // The end of a long session may not be on the page.
    const isWhole = !$(':scope > [data-later]', story);
    const shown = articles();
    const from = shown.length > 6 ? place(shown.at(-6)) : 0;
    const page = await fetchPage(part({ from: isWhole ? from : 1e9, live: 1 }));
    const wasAtEnd = isAtEnd();
    let added = 0;
    if (isWhole) {
      for (const fresh of $$('#story > article', page)) {
        const old = document.getElementById(fresh.id);
        dress(fresh);
        if (!old) {
          fresh.classList.add('fresh');
          story.append(fresh);
          added += 1;
        } else if (old.textContent !== fresh.textContent) {
          const open = $$('details', old).map((details) => details.open);
          $$('details', fresh).forEach((details, n) => { details.open = Boolean(open[n]); });
          dress(fresh);
          old.replaceWith(fresh);
        }
      }
      const none = $(':scope > .none', story);
      if (none && added > 0) none.remove();
      const later = $('#story > [data-later]', page);
      if (later) { story.append(later); watch(); }
    }
    const about = $('#about', page);
    if (about && about.textContent !== $('#about').textContent && !$('#about details[open]')) {
      $('#about').replaceWith(about);
      dressHead();
    }
    const prompts = $('.prompts', page);
    if (prompts && prompts.textContent !== $('.prompts').textContent) {
      $('.prompts').replaceWith(prompts);
      links = $$('.prompts a');
      current = -1;
    }
    gather();
    follow();
    if (added > 0 && wasAtEnd) showEnd();
    else if (added > 0) showNew(Number(button.dataset.count || 0) + added);
  };
  live({ session: story.dataset.session }, update);

  // Keys of this page.
  keys.splice(4, 0,
    ['J K', 'next, previous message'], ['n p', 'next, previous hit of find'], ['e', 'next failure'],
    ['o O', 'unfold this, all'], ['v', 'next view'], ['y', 'copy a link'], ['c', 'copy the resume command'], ['.', 'to the end']);
  const jump = (element) => {
    if (!element) return;
    show(element);
    history.replaceState(null, '', `#${element.id}`);
  };
  const step = (by) => {
    const next = links[Math.max(0, Math.min(links.length - 1, current + by))];
    next?.click();
  };
  const message = (by) => {
    const all = articles();
    const top = 80;
    const at = all.findIndex((article) => article.getBoundingClientRect().top > top + (by > 0 ? 4 : -4));
    jump(by > 0 ? all[at] : all[(at < 0 ? all.length : at) - 1]);
  };
  const failure = () => {
    const next = $$('.tool.error, .tool.failed, article.failure', story).find((found) => found.getBoundingClientRect().top > 140);
    if (!next) { say('No further failure'); return; }
    transcript.unfold(next);
    show(next, 'center');
  };
  handlers.push((event) => {
    switch (event.key) {
      case '/': $('#find').focus(); $('#find').select(); return true;
      case 'j': step(1); return true;
      case 'k': step(-1); return true;
      case 'J': message(1); return true;
      case 'K': message(-1); return true;
      case 'n': goHit(1); return true;
      case 'p': goHit(-1); return true;
      case 'e': failure(); return true;
      case 'O': foldAll(); return true;
      case 'v': {
        const views = $$('#about .switch a');
        views[(views.findIndex((view) => view.hasAttribute('aria-current')) + 1) % views.length].click();
        return true;
      }
      case 'y': copy(location.href, 'the link'); return true;
      case 'c': copy($('.copy-text').dataset.copy, 'the command'); return true;
      case '.': showEnd(); return true;
      default: return false;
    }
  });

  reveal();
  watch();
  follow();
  if ($('#find').value) { find(); goFirst(); }
})();
