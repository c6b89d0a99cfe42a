'use strict';
// What every page can do: filters that apply at once, keys, search as you type, rows that load on scroll, and
// parts that update themselves. Everything works without it, only less quickly.
const backstory = (() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const pause = (work, time) => {
    let waiting;
    return (...values) => { clearTimeout(waiting); waiting = setTimeout(() => work(...values), time); };
  };
  const parse = (text) => new DOMParser().parseFromString(text, 'text/html');
  const fetchPage = async (address, options) => {
    const response = await fetch(address, { credentials: 'same-origin', ...options });
    if (!response.ok) throw new Error(`${response.status}`);
    return parse(await response.text());
  };
  let clear;
  const say = (text) => {
    $('#say').textContent = text;
    clearTimeout(clear);
    clear = setTimeout(() => { $('#say').textContent = ''; }, 2500);
  };
  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      say(`Copied ${what}`);
    } catch {
      say('The browser does not allow copying here');
    }
  };
  document.documentElement.classList.add('js');

  // Filters apply at once.
  for (const form of $$('form.scope')) {
    form.addEventListener('change', () => {
      for (const field of $$('select, input', form)) if (!field.value) field.disabled = true;
      form.submit();
    });
  }

  // A menu closes when something else is used.
  addEventListener('click', (event) => {
    for (const menu of $$('details.more[open], details.menu[open]')) if (!menu.contains(event.target)) menu.open = false;
  });

  // Further rows, as the reader gets near the end.
  const loadMore = async (link) => {
    if (link.dataset.busy) return;
    link.dataset.busy = '1';
    try {
      const page = await fetchPage(link.href);
      const holder = link.closest('.next');
      const table = $('table[data-rows] tbody');
      if (table && !$('#results')) table.append(...$$('table[data-rows] tbody > tr', page));
      else holder.before(...$$('#results > .hits', page));
      const next = $('a[data-more]', page);
      holder.remove();
      if (next) {
        const place = table && !$('#results') ? table.closest('table') : $('#results').lastElementChild;
        place.after(next.closest('.next'));
        watchMore();
      }
    } catch {
      delete link.dataset.busy;
    }
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) loadMore(entry.target);
  }, { rootMargin: '600px' });
  const watchMore = () => { near.disconnect(); $$('a[data-more]').forEach((link) => near.observe(link)); };
  watchMore();

  // Search as you type: only the newest answer counts.
  const form = $('form[data-search]');
  if (form) {
    let running;
    const ask = async (part) => {
      const data = new URLSearchParams(new FormData(form));
      const address = `/search?${data}`;
      if (running) running.abort();
      running = new AbortController();
      try {
        const page = await fetchPage(`${address}&part=${part}`, { signal: running.signal });
        $('#results').replaceWith($('#results', page));
        history.replaceState(null, '', address);
        document.title = `${data.get('q') || 'Search'} · backstory`;
        watchMore();
      } catch { /* a newer question was asked */ }
    };
    form.addEventListener('input', pause(() => ask('typing'), 90));
    form.addEventListener('submit', (event) => { event.preventDefault(); ask('whole'); });
  }

  // Parts that follow what happens.
  // Only while they are seen: a browser has six connections to a server, and each open stream keeps one.
  const live = (values, update) => {
    let events;
    let version = document.body.dataset.version;
    const refresh = pause(() => update().catch(() => {}), 30);
    const follow = () => {
      if (document.hidden === !events) return;
      if (document.hidden) {
        events.close();
        events = undefined;
        return;
      }
      events = new EventSource(`/events?${new URLSearchParams({ ...values, since: version })}`);
      events.addEventListener('change', (event) => {
        version = event.data;
        refresh();
      });
    };
    addEventListener('visibilitychange', follow);
    addEventListener('pageshow', follow);
    addEventListener('pagehide', () => { events?.close(); events = undefined; });
    follow();
  };
  const parts = $$('[data-live]');
  if (parts.length > 0 || $('[data-wait]')) {
    live({}, async () => {
      if ($('[data-wait]')) { location.reload(); return; }
      const page = await fetchPage(location.href);
      for (const part of parts) {
        const fresh = $(`[data-live="${part.dataset.live}"]`, page);
        if (fresh && fresh.innerHTML !== part.innerHTML) part.innerHTML = fresh.innerHTML;
      }
    });
  }

  // Keys.
  const keys = [
    ['/', 'find on this page, or search'], ['Ctrl K', 'go to anything'],
    ['g then o s f u i', 'Overview, Sessions, Search, Usage, Insights'], ['g then p t c l h', 'Projects, Tools, Commands, Files, Health'],
    ['j k', 'next, previous row or prompt'], ['Enter, o', 'open'], ['?', 'this list'], ['Esc', 'close'],
  ];
  const rows = () => $$('table[data-rows] tbody tr, .hits li');
  let at = -1;
  const step = (by) => {
    const all = rows();
    if (all.length === 0) return;
    all[at]?.classList.remove('here');
    at = Math.max(0, Math.min(all.length - 1, at + by));
    all[at].classList.add('here');
    all[at].scrollIntoView({ block: 'nearest' });
    $('a', all[at])?.focus({ preventScroll: true });
  };
  const help = () => {
    let dialog = $('dialog.help-keys');
    if (!dialog) {
      dialog = document.createElement('dialog');
      dialog.className = 'help-keys';
      dialog.setAttribute('aria-label', 'Keys');
      const title = document.createElement('h2');
      title.textContent = 'Keys';
      const list = document.createElement('dl');
      for (const [key, what] of keys) {
        const term = document.createElement('dt');
        for (const word of key.split(' ')) {
          const kbd = document.createElement('kbd');
          kbd.textContent = word;
          term.append(/^(then|or)$/.test(word) ? word : kbd, ' ');
        }
        const text = document.createElement('dd');
        text.textContent = what;
        list.append(term, text);
      }
      dialog.append(title, list);
      dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
      document.body.append(dialog);
    }
    dialog.showModal();
  };
  const keysButton = $('button.keys');
  if (keysButton) {
    keysButton.hidden = false;
    keysButton.addEventListener('click', help);
  }

  // Go to anything: pages, and sessions by their titles.
  const go = () => {
    let dialog = $('dialog.go');
    if (!dialog) {
      dialog = document.createElement('dialog');
      dialog.className = 'go';
      dialog.setAttribute('aria-label', 'Go to');
      const input = document.createElement('input');
      input.type = 'search';
      input.placeholder = 'Go to a page or a session';
      input.setAttribute('aria-label', 'Go to a page or a session');
      const list = document.createElement('ul');
      dialog.append(input, list);
      document.body.append(dialog);
      const pages = $$('.top nav a').map((link) => ({ text: link.textContent, href: link.href }));
      let place = 0;
      const show = (found) => {
        list.replaceChildren(...found.slice(0, 12).map(({ text, href }) => {
          const item = document.createElement('li');
          const link = document.createElement('a');
          link.textContent = text;
          link.href = href;
          item.append(link);
          return item;
        }));
        place = 0;
        $('a', list)?.classList.add('here');
      };
      const find = pause(async () => {
        const words = input.value.trim();
        const fitting = pages.filter((page) => page.text.toLowerCase().includes(words.toLowerCase()));
        show(fitting);
        if (words.length < 2) return;
        const page = await fetchPage(`/sessions?period=all&q=${encodeURIComponent(words)}`).catch(() => null);
        if (page && input.value.trim() === words) {
          show([...fitting, ...$$('.list .title > a', page).map((link) => ({ text: link.textContent, href: link.getAttribute('href') }))]);
        }
      }, 120);
      input.addEventListener('input', find);
      dialog.addEventListener('keydown', (event) => {
        const links = $$('a', list);
        if (event.key === 'Enter') { event.preventDefault(); links[place]?.click(); return; }
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!by || links.length === 0) return;
        event.preventDefault();
        links[place]?.classList.remove('here');
        place = (place + by + links.length) % links.length;
        links[place].classList.add('here');
      });
      show(pages);
    }
    dialog.showModal();
    $('input', dialog).select();
  };

  // Other scripts add keys of their own; each returns whether it used the key.
  const handlers = [];
  let chord = 0;
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') { event.preventDefault(); go(); return; }
    const target = event.target;
    if (event.key === 'Escape') {
      $$('details.more[open], details.menu[open]').forEach((menu) => { menu.open = false; });
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || $('dialog[open]')) return;
    if (Date.now() - chord < 1200) {
      chord = 0;
      const link = $(`.top nav a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (handlers.some((handler) => handler(event))) { event.preventDefault(); return; }
    if (event.key === 'g') chord = Date.now();
    else if (event.key === '?') { event.preventDefault(); help(); }
    else if (event.key === '/') { event.preventDefault(); ($('#q') || $('.words input') || $('.top .find input')).focus(); }
    else if (event.key === 'j') step(1);
    else if (event.key === 'k') step(-1);
    else if (event.key === 'o' && at >= 0) $('a', rows()[at])?.click();
  });

  return { $, $$, pause, fetchPage, say, copy, live, keys, handlers };
})();
