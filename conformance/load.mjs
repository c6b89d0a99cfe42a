// Loads every file of a directory with Gemini CLI's own loader and writes what it made of them.
//
//   node load.mjs INSTALL_DIR DIR OUT.jsonl
//
// INSTALL_DIR is where @google/gemini-cli-core was installed. One line a file, in name order:
//   {"file": "000000.jsonl", "record": {…}}     null: the loader refuses the file
//   {"file": "000000.jsonl", "unprintable": true}  loaded, but nested too deep for JSON.stringify
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const CORE = 'node_modules/@google/gemini-cli-core';
const VERSION = '0.61.0';

/** From Node 24 on readline also ends lines at U+2028 and U+2029, and so does the loader. */
async function splitsAtUnicodeSeparators() {
  let lines = 0;
  for await (const _ of readline.createInterface({ input: Readable.from(['a\u2028b']) })) lines++;
  return lines > 1;
}

/** The loader gives a session without times the time of the run: make that always the same. */
function freezeClock() {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      super(...(args.length ? args : [0]));
    }
    static now() {
      return 0;
    }
  };
}

function line(file, record) {
  try {
    return JSON.stringify({ file, record });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify({ file, unprintable: true });
  }
}

function fail(why) {
  console.error(why);
  process.exit(2);
}

const [install, dir, out] = process.argv.slice(2);
if (!out) fail('usage: node load.mjs INSTALL_DIR DIR OUT.jsonl');
const core = path.resolve(install, CORE);
const { version } = JSON.parse(fs.readFileSync(path.join(core, 'package.json'), 'utf8'));
if (version !== VERSION) fail(`${core} is ${version}; the comparison is with ${VERSION}`);
if (await splitsAtUnicodeSeparators()) fail(`Node ${process.version} ends lines at U+2028; use Node 20 or 22`);

const service = path.join(core, 'dist/src/services/chatRecordingService.js');
const { loadConversationRecord } = await import(pathToFileURL(service));
freezeClock();

const output = fs.openSync(out, 'w');
for (const file of fs.readdirSync(dir).sort()) {
  fs.writeSync(output, line(file, await loadConversationRecord(path.join(dir, file))) + '\n');
}
fs.closeSync(output);
