// Finds or installs what browser tests need: Playwright and other packages from npm into a temporary folder,
// and a browser: the one that CHROMIUM names, else the system's, else Playwright's own.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const scratch = mkdtempSync(join(tmpdir(), 'backstory-browser-'));
process.on('exit', () => {
  try {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  } catch {
    // A program that was just stopped may still write into it; that is not what is checked.
  }
});

// A home of its own: what the user keeps is none of its business.
export const env = { ...process.env, HOME: scratch, XDG_DATA_HOME: join(scratch, 'data'), XDG_CONFIG_HOME: join(scratch, 'config') };

export const run = (command, args, environment = process.env) =>
  execFileSync(command, args, { cwd: scratch, env: environment, stdio: ['ignore', 'ignore', 'pipe'] });

export const skip = (why) => {
  console.log(`SKIPPED: ${why}`);
  process.exit(0);
};

export const load = createRequire(join(scratch, 'x.js'));

export async function launch(packages = []) {
  try {
    run('npm', ['i', '--no-save', '--ignore-scripts', 'playwright@1', ...packages]);
  } catch (error) {
    skip(`no Playwright: ${String(error.message).split('\n')[0]}`);
  }
  const { chromium } = load('playwright');
  const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const executablePath = places.find((path) => path && existsSync(path));
  if (!executablePath) {
    try {
      run('npx', ['playwright', 'install', '--with-deps', 'chromium']);
    } catch {
      skip('no Chromium, and it cannot be installed');
    }
  }
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
