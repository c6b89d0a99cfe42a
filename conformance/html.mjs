// Opens exported pages in a real browser: nothing may fail, nothing may be fetched, nothing that a
// session says may run, what is found must be visible, and axe-core may find no serious violation.
//
//   node html.mjs BACKSTORY [SCREENSHOT_DIR]
//
// BACKSTORY is the program.

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { env, launch, load, run as execute, scratch } from './browser.mjs';

const [program, pictures] = process.argv.slice(2);
if (!program) {
  console.error('usage: node html.mjs BACKSTORY [SCREENSHOT_DIR]');
  process.exit(2);
}
const backstory = resolve(program);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const run = (command, args) => execute(command, args, env);

const pages = () => {
  const folder = join(scratch, 'pages');
  const every = ['--thoughts', '--tool-output', '--info', '--tokens'];
  run(backstory, ['--demo', 'export', '--all', '--format', 'html', '-o', folder]);
  const hostile = join(root, 'testdata/export/hostile.jsonl');
  run(backstory, ['export', hostile, '--format', 'html', ...every, '-o', join(folder, 'hostile.html')]);
  return readdirSync(folder).filter((name) => name.endsWith('.html')).sort().map((name) => join(folder, name));
};

const faults = [];
async function check(browser, file) {
  const name = file.slice(scratch.length + 1);
  const fault = (what) => faults.push(`${name}: ${what}`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.on('console', (message) => fault(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => fault(`error: ${error.message}`));
  page.on('dialog', (dialog) => { fault('a dialog'); dialog.dismiss(); });
  page.on('request', (request) => {
    const url = request.url();
    if (url !== pathToFileURL(file).href && !url.startsWith('data:image/')) fault(`fetches ${url}`);
  });
  await page.goto(pathToFileURL(file).href);
  const title = await page.title();
  const isSession = await page.$('#find');
  if (isSession) {
    await findsFolded(page, fault);
    await page.click('#open');
    await page.fill('#find', 'the');
    await page.waitForTimeout(150);
    await page.fill('#find', '');
    await page.waitForTimeout(150);
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
  }
  // Whatever waits for the mouse gets it.
  await page.evaluate(() => {
    for (const element of document.querySelectorAll('main *')) {
      element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
      element.dispatchEvent(new Event('error'));
    }
  });
  if ((await page.title()) !== title) fault('a script of the session ran');
  const odd = await page.evaluate(() => {
    const odd = [];
    if (document.scripts.length !== 1) odd.push(`${document.scripts.length} scripts`);
    for (const element of document.querySelectorAll('*')) {
      if (/^(IFRAME|OBJECT|EMBED|FORM|BASE|LINK|VIDEO|AUDIO)$/.test(element.tagName)) odd.push(element.tagName);
      for (const { name, value } of element.attributes) {
        if (name.startsWith('on') || name === 'style') odd.push(`${element.tagName} ${name}`);
        // Also a page beside this one.
        if (name === 'href' && !/^(#|https?:|mailto:|[^:/?#]+\.html$)/.test(value)) odd.push(`link to ${value}`);
        if (name === 'src' && !value.startsWith('data:image/')) odd.push(`source ${value}`);
      }
    }
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      if (!document.getElementById(link.getAttribute('href').slice(1))) odd.push(`no ${link.getAttribute('href')}`);
    }
    if (document.querySelectorAll('main').length !== 1 || document.body.lastElementChild.tagName !== 'SCRIPT') {
      odd.push('content got out of its place');
    }
    return odd;
  });
  odd.forEach(fault);
  const wide = async (width) => {
    await page.setViewportSize({ width, height: 800 });
    return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  };
  if ((await wide(390)) > 0) fault('wider than a telephone');
  await page.close();
}

// Words that only a folded tool has are found, and can be seen.
async function findsFolded(page, fault) {
  const word = await page.evaluate(() => {
    const folded = [...document.querySelectorAll('#story details:not([open]) > pre')];
    return folded.map((pre) => /[a-z]{7,}/i.exec(pre.textContent)).find(Boolean)?.[0];
  });
  if (!word) return;
  await page.fill('#find', word);
  await page.waitForTimeout(200);
  if (!(await page.$('#story details[open]'))) fault(`find does not open the fold with ${word}`);
  await page.fill('#find', '');
  await page.waitForTimeout(200);
  if (await page.$('#story details[open]')) fault('what find opened stays open');
}

// Both themes, as they are and unfolded.
async function accessible(browser, file, axe) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme, bypassCSP: true });
    await page.goto(pathToFileURL(file).href);
    await page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    for (const { id, impact, nodes } of violations) {
      if (impact === 'serious' || impact === 'critical') {
        faults.push(`${file.slice(scratch.length + 1)} ${colorScheme}: axe ${id} ×${nodes.length}: ${nodes[0].html.slice(0, 160)}`);
      }
    }
    await page.close();
  }
}

async function shoot(browser, file, into) {
  for (const [scheme, width] of [['light', 1280], ['dark', 1280], ['light', 420]]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
    await page.goto(pathToFileURL(file).href);
    const name = file.split('/').pop().replace(/\.html$/, '');
    await page.screenshot({ path: join(into, `${name}-${scheme}-${width}.png`) });
    await page.close();
  }
}

const browser = await launch(['axe-core@4']);
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');
const files = pages();
for (const file of files) {
  await check(browser, file);
  await accessible(browser, file, axe);
}
if (pictures) {
  mkdirSync(pictures, { recursive: true });
  for (const file of files) await shoot(browser, file, resolve(pictures));
}
await browser.close();
for (const fault of faults) console.error(fault);
console.log(`${files.length} pages, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
