// Measures how a transcript of 5,000 messages opens and scrolls in a real browser, in the web app and as an HTML export:
// frames, tasks that block the page for more than 50 ms, and the CPU time of the page, which is right on a busy machine too.
//
//   node bench/scroll.mjs BACKSTORY [MESSAGES]
//
// The session is made up: prompts, answers with code, edits and commands. Two rounds scroll with the wheel, one jumps.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { env, launch, scratch } from '../conformance/browser.mjs';

const [program, wanted] = process.argv.slice(2);
if (!program) {
  console.error('usage: node scroll.mjs BACKSTORY [MESSAGES]');
  process.exit(2);
}
const messages = Number(wanted ?? 5000);
const id = 'cafecafe-0000-4000-8000-00000000000b';

// Writes the session: a prompt, then four answers, of which three use a tool.
function write(file) {
  const words = 'the parser reads each line once and keeps its place so that a session which has grown is continued'.split(' ');
  const text = (n, length) => Array.from({ length }, (_, at) => words[(n * 7 + at * 3) % words.length]).join(' ');
  const lines = [];
  let parent = null;
  const record = (n, type, message, more = {}) => {
    const timestamp = new Date(Date.now() - (messages - n) * 1000).toISOString();
    const uuid = `u${lines.length}`;
    lines.push(JSON.stringify({ type, uuid, parentUuid: parent, sessionId: id, timestamp, cwd: '/code/shop', version: '2.1.0', message, ...more }));
    parent = uuid;
  };
  const tools = [
    (n) => ({ name: 'Bash', input: { command: `cargo test --package shop part_${n}`, description: text(n, 6) } }),
    (n) => ({ name: 'Read', input: { file_path: `/code/shop/src/part_${n % 90}.rs` } }),
    (n) => ({ name: 'Edit', input: { file_path: `/code/shop/src/part_${n % 90}.rs`, old_string: `fn part_${n}() {\n    ${text(n, 8)}\n}`, new_string: `fn part_${n}() -> u32 {\n    ${text(n + 1, 9)}\n}` } }),
  ];
  for (let n = 0; n < messages; n += 1) {
    if (n % 5 === 0) {
      record(n, 'user', { role: 'user', content: `${text(n, 30)}\n\nand then ${text(n + 2, 12)}` });
      continue;
    }
    const code = '```rust\n' + Array.from({ length: 6 }, (_, at) => `    let value_${at} = read(${n}, "${text(at, 3)}"); // ${text(n + at, 4)}`).join('\n') + '\n```';
    const content = [{ type: 'text', text: n % 5 === 4 ? `## Part ${n}\n\n${text(n, 60)}\n\n${code}\n\n- ${text(n, 8)}\n- ${text(n + 1, 9)}` : text(n, 14) }];
    const tool = n % 5 !== 4 && tools[n % 3](n);
    if (tool) content.push({ type: 'tool_use', id: `toolu_${n}`, ...tool });
    const usage = { input_tokens: 12, cache_read_input_tokens: 20000 + n, cache_creation_input_tokens: 300, output_tokens: 150 };
    record(n, 'assistant', { id: `msg_${n}`, type: 'message', role: 'assistant', model: 'claude-opus-4-5-20251101', content, stop_reason: tool ? 'tool_use' : 'end_turn', usage }, { requestId: `req_${n}` });
    if (tool) {
      const output = Array.from({ length: 12 }, (_, at) => `${at}: ${text(n + at, 10)}`).join('\n');
      record(n, 'user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content: output, is_error: n % 41 === 0 }] });
    }
  }
  writeFileSync(file, lines.join('\n') + '\n');
}

const folder = join(scratch, '.claude/projects/-code-shop');
mkdirSync(folder, { recursive: true });
write(join(folder, `${id}.jsonl`));

const browser = await launch();

// Opens a page, scrolls, and prints what the browser saw.
async function measure(name, address, sign) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
  });
  const tools = await context.newCDPSession(page);
  await tools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const cpu = async () => {
    const { metrics } = await tools.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === 'TaskDuration').value * 1000;
  };
  if (sign) await page.goto(sign);
  await page.goto(address);
  const opened = await page.evaluate(() => {
    const { responseStart, domContentLoadedEventEnd, loadEventEnd } = performance.getEntriesByType('navigation')[0];
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    return { first: responseStart, ready: domContentLoadedEventEnd, load: loadEventEnd, paint: paint?.startTime };
  });
  const whole = (number) => Math.round(number ?? NaN);
  console.log(`${name}: first byte ${whole(opened.first)} ms, first paint ${whole(opened.paint)} ms, loaded ${whole(opened.load)} ms`);
  await page.waitForTimeout(1000);
  const rounds = { 'wheel, slowly': [120, 16, 5000], 'wheel, fast': [900, 16, 5000], 'jumps to the end': [20000, 250, 5000] };
  await page.mouse.move(700, 500);
  for (const [what, [by, pause, time]] of Object.entries(rounds)) {
    await page.evaluate(() => {
      window.tasks.length = 0;
      window.frames_ = [];
      window.isMeasured = true;
      let last = performance.now();
      const frame = (now) => {
        window.frames_.push(now - last);
        last = now;
        if (window.isMeasured) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    const end = Date.now() + time;
    const before = await cpu();
    let steps = 0;
    for (; Date.now() < end; steps += 1) {
      await page.mouse.wheel(0, by);
      await page.waitForTimeout(pause);
    }
    const each = (await cpu() - before) / steps;
    const { frames, tasks, shown, top } = await page.evaluate(() => {
      window.isMeasured = false;
      return { frames: window.frames_.slice(1), tasks: window.tasks, shown: document.querySelectorAll('#story article').length, top: Math.round(scrollY) };
    });
    frames.sort((a, b) => a - b);
    const at = (share) => whole(frames[Math.min(frames.length - 1, Math.floor(frames.length * share))]);
    const slow = frames.filter((length) => length > 50).length;
    console.log(`  ${what}: ${frames.length} frames, median ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms, ${slow} over 50 ms; `
      + `${tasks.length} long tasks, longest ${whole(Math.max(0, ...tasks))} ms; ${each.toFixed(1)} ms of CPU per step; ${shown} messages loaded, at ${top} px`);
  }
  await context.close();
}

const server = spawn(resolve(program), ['serve', '--no-open', '--port', '0'], { cwd: scratch, env, stdio: ['ignore', 'pipe', 'ignore'] });
process.on('exit', () => server.kill());
const base = await new Promise((done) => { server.stdout.once('data', (data) => done(String(data).trim())); });
const path = `/sessions/claude/${id}`;
for (let n = 0; n < 100; n += 1) {
  const token = new URL(base).searchParams.get('token');
  const response = await fetch(new URL(path, base), { headers: { Authorization: `Bearer ${token}` } });
  if (response.status === 200) break;
  await new Promise((done) => { setTimeout(done, 100); });
}
await measure(`web app, ${messages} messages`, new URL(path, base).href, base);
await measure('web app, from the end', new URL(`${path}?at=${messages - 200}#m${messages - 200}`, base).href, base);
const file = join(scratch, 'session.html');
execFileSync(resolve(program), ['export', id, '--format', 'html', '--output', file], { cwd: scratch, env, stdio: 'ignore' });
await measure('HTML export', pathToFileURL(file).href);
await browser.close();
server.kill();
process.exit(0);
