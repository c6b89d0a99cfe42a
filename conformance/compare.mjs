// Compares what the loader made of each file with what backstory made of it.
//
//   node compare.mjs ANSWERS.jsonl OURS_DIR
//
// ANSWERS.jsonl comes from load.mjs. OURS_DIR holds `<file>.json` for each file: our `gemini` export,
// or `null` where we say that the loader refuses the file. The comparison is made here because both
// sides must be read as JavaScript reads JSON: lone surrogates, 1e999, integers beyond 2^53.
import fs from 'node:fs';
import path from 'node:path';

const FIELDS = ['sessionId', 'projectHash', 'kind', 'summary', 'directories', 'memoryScratchpad', 'startTime',
  'lastUpdated', 'userMessageCount', 'memoryScratchpadIsStale', 'hasResumableContent', 'messageCount', 'firstUserMessage'];
/** What load.mjs freezes the clock to: stands where a file has no time. */
const NO_TIME = '1970-01-01T00:00:00.000Z';

function* differences(ours, theirs) {
  if ((ours === null) !== (theirs === null)) {
    yield ['accepted', ours !== null, theirs !== null];
    return;
  }
  if (theirs === null) return;
  for (const field of FIELDS) {
    if (theirs[field] === NO_TIME && ours[field] === undefined) continue;
    if (JSON.stringify(ours[field]) !== JSON.stringify(theirs[field])) yield [field, ours[field], theirs[field]];
  }
  // A document may lack the list; we always write one.
  const list = (record) => JSON.stringify(record.messages ?? []);
  if (list(ours) !== list(theirs)) yield ['messages', ours.messages, theirs.messages];
}

const [answers, dir] = process.argv.slice(2);
let compared = 0, refused = 0, unprintable = 0, different = 0;
for (const line of fs.readFileSync(answers, 'utf8').split('\n').filter(Boolean)) {
  const answer = JSON.parse(line);
  if (answer.unprintable) {
    unprintable++;
    continue;
  }
  const ours = JSON.parse(fs.readFileSync(path.join(dir, answer.file + '.json'), 'utf8'));
  compared++;
  if (answer.record === null) refused++;
  let first = true;
  for (const [field, a, b] of differences(ours, answer.record)) {
    if (first) different++;
    first = false;
    const shown = (value) => String(JSON.stringify(value)).slice(0, 400);
    console.error(`${answer.file}: ${field}\n  ours:   ${shown(a)}\n  theirs: ${shown(b)}`);
  }
}
console.log(`${compared} compared (${refused} refused by the loader), ${unprintable} too deep to print, ${different} different`);
process.exit(different || !compared ? 1 : 0);
