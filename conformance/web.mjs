// Uses the web app in a real browser: every page in both themes, on a desk and on a telephone, with the keyboard,
// without a script, and while a session is being written. Nothing may fail, nothing may be fetched from elsewhere,
// and axe-core may find no serious violation.
//
//   node web.mjs BACKSTORY [SCREENSHOT_DIR]
//
// BACKSTORY is the program. With SCREENSHOT_DIR, the pictures of the documentation are made there.

import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { env, launch, load, scratch } from './browser.mjs';

const [program, pictures] = process.argv.slice(2);
if (!program) {
  console.error('usage: node web.mjs BACKSTORY [SCREENSHOT_DIR]');
  process.exit(2);
}

const faults = [];
const fault = (what) => faults.push(what);
const expect = (is, what) => { if (!is) fault(what); };

// Starts a server; resolves with its address.
const servers = [];
process.on('exit', () => servers.forEach((server) => server.kill()));
const serve = (...args) => new Promise((done, failed) => {
  const start = Date.now();
  const server = spawn(resolve(program), ['serve', '--no-open', '--port', '0', ...args], { cwd: scratch, env });
  servers.push(server);
  let text = '';
  let errors = '';
  server.stderr.on('data', (data) => { errors += data; });
  server.stdout.on('data', (data) => {
    text += data;
    if (!text.includes('\n')) return;
    const took = Date.now() - start;
    if (took > 1000) console.log(`the address was printed after ${took} ms`);
    done(text.trim());
  });
  server.on('exit', () => failed(new Error(`the server ended: ${errors}`)));
});

const browser = await launch(['axe-core@4']);
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');

// Opens a page that reports everything that goes wrong.
async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'light', ...options });
  const page = await context.newPage();
  const host = new URL(address).host;
  const name = () => page.url().replace(/^https?:\/\/[^/]*/, '');
  page.on('console', (message) => { if (message.type() !== 'log') fault(`${name()}: console ${message.type()}: ${message.text()}`); });
  page.on('pageerror', (error) => fault(`${name()}: ${error.message}`));
  page.on('dialog', (dialog) => { fault(`${name()}: a dialog`); dialog.dismiss(); });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith('data:') && new URL(url).host !== host) fault(`${name()}: fetches ${url}`);
  });
  page.on('response', (response) => { if (response.status() >= 400) fault(`${response.url()}: ${response.status()}`); });
  await page.goto(address);
  return page;
}

// A part of the test, which others follow even if it fails.
const part = async (name, work) => {
  try {
    await work();
  } catch (error) {
    fault(`${name}: ${String(error.message).split('\n')[0]}`);
  }
};

const base = await serve('--demo');
const token = new URL(base).search;
const at = (path) => new URL(path + (path.includes('?') ? '&' : '?') + token.slice(1), base).href;

// The sample is read in the background.
const first = await open(base);
await first.waitForFunction(() => !document.querySelector('[data-wait], .reading'), null, { timeout: 20000 }).catch(() => {});
for (let n = 0; n < 50 && !(await first.$('.list tbody tr')); n += 1) {
  await first.waitForTimeout(200);
  await first.reload();
}
const longest = await first.evaluate(async () => {
  const page = new DOMParser().parseFromString(await (await fetch('/sessions?period=all&sort=tokens')).text(), 'text/html');
  return page.querySelector('.list .title a').getAttribute('href');
});
await first.context().close();

const pages = {
  overview: '/', sessions: '/sessions?period=all', session: longest, search: '/search?q=test', usage: '/usage/daily',
  model: '/usage/model?period=all', prompt: '/usage/prompt?period=all', tools: '/tools?period=all', commands: '/commands?period=all', files: '/files?period=all',
  projects: '/projects', insights: '/insights?period=all', health: '/health', api: '/api/v1', focused: `${longest}?view=focused`, empty: '/sessions?project=nosuch',
};

// Every page, in both themes, on a desk and on a telephone; the main ones in every combination.
const main = ['overview', 'session', 'search', 'usage'];
for (const [name, path] of Object.entries(pages)) {
  const combinations = [['light', 1440, 900], ['dark', 390, 844]];
  if (main.includes(name)) combinations.push(['dark', 1440, 900], ['light', 390, 844]);
  for (const [colorScheme, width, height] of combinations) await part(name, async () => {
    const page = await open(at(path), { viewport: { width, height }, colorScheme });
    const where = `${name} ${colorScheme} ${width}`;
    expect((await page.title()).endsWith('· backstory'), `${where}: no title`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wide <= 0, `${where}: ${wide} pixels too wide`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    for (const { id, impact, nodes } of violations) {
      if (impact === 'serious' || impact === 'critical') fault(`${where}: axe ${id} ×${nodes.length}: ${nodes[0].html.slice(0, 160)}`);
    }
    await page.context().close();
  });
}

// Filters, order, facets.
await part('filters', async () => {
  const page = await open(at('/sessions'));
  await page.selectOption('select[name=period]', 'all');
  await page.waitForURL(/period=all/);
  const all = await page.locator('.list tbody tr').count();
  await page.selectOption('select[name=agent]', { index: 1 });
  await page.waitForURL(/agent=/);
  const some = await page.locator('.list tbody tr').count();
  expect(some > 0 && some < all, `the filter by agent shows ${some} of ${all}`);
  await page.click('th >> text=Cost');
  await page.waitForURL(/sort=cost/);
  const costs = await page.$$eval('.list td[data-label=cost]', (cells) => cells.map((cell) => Number(cell.textContent.replace(/[^0-9.]/g, ''))));
  expect(costs.every((cost, n) => n === 0 || costs[n - 1] >= cost), `not sorted by cost: ${costs}`);
  await page.goBack();
  expect(/agent=/.test(page.url()) && !/sort=/.test(page.url()), 'Back does not undo the order');
  await page.context().close();
});

// Search as you type, and the way to the hit.
await part('search', async () => {
  const page = await open(at('/search'));
  await page.fill('#q', 'test');
  await page.waitForSelector('.hits li a');
  expect(/q=test/.test(page.url()), 'the query is not in the address');
  const took = Number(await page.getAttribute('[data-took]', 'data-took'));
  expect(took < 1000, `the search took ${took} ms`);
  await page.click('.hits li a >> nth=0');
  await page.waitForURL(/#m\d+/);
  expect(await page.$eval('#find', (find) => find.value === 'test'), 'the page does not find what was searched');
  await page.waitForFunction(() => /found|of/.test(document.querySelector('#found').textContent));
  await page.goto(at('/search?q=zzzznothing'));
  expect((await page.textContent('#results')).includes('Nothing found'), 'an empty result is not explained');
  await page.context().close();
});

// The keyboard alone.
await part('keyboard', async () => {
  const page = await open(at('/'));
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.waitForURL(/\/sessions/);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  expect(await page.$$eval('tr.here', (rows) => rows.length === 1), 'j does not mark a row');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/sessions\/[^/]+\/./);
  await page.keyboard.press('?');
  expect(await page.isVisible('dialog.help-keys'), 'no list of keys');
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  expect(await page.evaluate(() => document.activeElement.id === 'find'), '/ does not go to find');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('health');
  await page.waitForTimeout(300);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/health/);
  await page.keyboard.press('/');
  await page.keyboard.type('words');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/search\?q=words/);
  await page.keyboard.press('Tab');
  await page.context().close();
});

// A session: find opens what is folded, j goes to the next prompt, views differ.
await part('session', async () => {
  const page = await open(at(longest));
  await page.keyboard.press('j');
  await page.waitForURL(/#m\d+/);
  const folded = await page.evaluate(() => {
    const pre = [...document.querySelectorAll('#story details:not([open]) pre')].find((found) => /[a-z]{6,}/i.test(found.textContent));
    return pre && /[a-z]{6,}/i.exec(pre.textContent)[0];
  });
  if (folded) {
    await page.fill('#find', folded);
    await page.waitForTimeout(300);
    await page.focus('#find');
    for (let n = 0; n < 40; n += 1) {
      await page.keyboard.press('Enter');
      if (await page.$('#story details[open]')) break;
    }
    expect(await page.$('#story details[open]'), `find does not open the fold with ${folded}`);
  }
  await page.keyboard.press('Escape');
  const full = await page.locator('#story > article').count();
  await page.click('[data-view=focused]');
  await page.waitForURL(/view=focused/);
  const focused = await page.locator('#story > article').count();
  expect(focused > 0 && focused < full, `focused shows ${focused} of ${full}`);
  await page.click('details.menu >> nth=1');
  await page.fill('input[name=name]', 'a new name');
  await page.click('form[action$="/name"] button');
  await page.waitForFunction(() => document.querySelector('h1').textContent === 'a new name');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('summary:has-text("Export")').then(() => page.click('text=Markdown'))]);
  expect((await download.suggestedFilename()) === 'a-new-name.md', `saved as ${download.suggestedFilename()}`);
  await page.context().close();
});

// Many tabs: a browser has six connections to a server, and none may be kept by a page that is not seen.
await part('tabs', async () => {
  const page = await open(at(longest));
  for (let n = 0; n < 8; n += 1) {
    const tab = await page.context().newPage();
    await tab.goto(new URL(longest, base).href, { timeout: 10000 });
    await tab.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true });
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    });
  }
  await page.context().close();
});

// Without a script.
for (const [name, path] of Object.entries(pages)) await part(`${name} without script`, async () => {
  const page = await open(at(path), { javaScriptEnabled: false });
  const length = (await page.textContent('main')).trim().length;
  expect(length > (name === 'empty' ? 30 : 150), `${name} without script has ${length} characters`);
  await page.context().close();
});

// A running session, in a home of its own.
await part('live', async () => {
  const id = 'cafecafe-0000-4000-8000-00000000000a';
  const folder = join(scratch, '.claude/projects/-code-shop');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${id}.jsonl`);
  const record = (n, text) => JSON.stringify({
    type: 'user', uuid: `u${n}`, parentUuid: n ? `u${n - 1}` : null, sessionId: id, timestamp: new Date().toISOString(), cwd: '/code/shop', version: '2.0.0',
    message: { role: 'user', content: text },
  }) + '\n';
  writeFileSync(file, Array.from({ length: 60 }, (_, n) => record(n, `prompt number ${n}\n\nwith some words`)).join(''));
  const live = await serve();
  const path = `/sessions/claude/${id}`;
  const address = new URL(path + new URL(live).search, live).href;
  let page;
  for (let n = 0; n < 60; n += 1) {
    page = await browser.newPage();
    const response = await page.goto(address);
    if (response.status() === 200 && (await page.$('#m59'))) break;
    await page.close();
    await new Promise((done) => setTimeout(done, 250));
  }
  await page.close();
  page = await open(address);
  await page.keyboard.press('.');
  await page.waitForTimeout(500);
  const times = [];
  for (let n = 60; n < 65; n += 1) {
    const start = Date.now();
    appendFileSync(file, record(n, `new prompt ${n}`));
    await page.waitForSelector(`#m${n}`, { timeout: 10000 });
    times.push(Date.now() - start);
    expect(await page.$eval(`#m${n}`, (message) => message.getBoundingClientRect().top < innerHeight), `message ${n} is not in view`);
    await page.waitForTimeout(300);
  }
  console.log(`a new turn appeared after ${times.join(', ')} ms`);
  expect(Math.min(...times) < 2000, `slow: ${times}`);
  await page.evaluate(() => scrollTo(0, 500));
  await page.waitForTimeout(300);
  const top = () => page.$eval('#m20', (message) => message.getBoundingClientRect().top);
  await page.$eval('#m20', (message) => message.scrollIntoView({ block: 'center' }));
  await page.waitForTimeout(500);
  const before = await top();
  appendFileSync(file, record(65, 'one that is not in view'));
  await page.waitForSelector('.new-turns button:visible');
  const moved = Math.abs((await top()) - before);
  expect(moved < 3, `what was being read moved by ${moved} pixels`);
  await page.click('.new-turns button');
  await page.waitForFunction(() => document.querySelector('#m65').getBoundingClientRect().top < innerHeight);
  await page.goto(new URL('/', live).href);
  expect((await page.textContent('[data-live=now]')).includes('prompt number 0'), 'the running session is not on the overview');
  await page.context().close();
});

if (pictures) {
  mkdirSync(pictures, { recursive: true });
  // Another sample, in which nothing was renamed.
  const fresh = await serve('--demo');
  await new Promise((done) => setTimeout(done, 3000));
  for (const [name, path, colorScheme, width, height] of [
    ['overview', '/', 'light', 1440, 900], ['overview-dark', '/', 'dark', 1440, 900], ['session', longest, 'light', 1440, 900],
    ['search', '/search?q=test', 'light', 1440, 900], ['usage', '/usage/model?period=30d', 'light', 1440, 900], ['session-phone', longest, 'light', 390, 844],
  ]) {
    const address = new URL(path + (path.includes('?') ? '&' : '?') + new URL(fresh).search.slice(1), fresh).href;
    const page = await open(address, { viewport: { width, height }, colorScheme });
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(resolve(pictures), `${name}.png`) });
    await page.context().close();
  }
}
await browser.close();
for (const what of new Set(faults)) console.error(what);
console.log(`${Object.keys(pages).length} pages, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
