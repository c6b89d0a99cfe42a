// Writes random session files, good and bad, for comparing our reader with Gemini CLI's own.
//
//   node generate.mjs OUT_DIR COUNT SEED [START]
//
// Writes files START (0) to START+COUNT-1. File i depends on SEED and i alone, so that a failing
// case can be made again by itself: node generate.mjs /tmp/one 1 SEED i
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Obj, below, between, byte, chance, choose, encode, pick, print, startRandom, str, times } from './source.mjs';

let ids; // the few ids the file at hand uses, so that repeats and rewinds meet known ones

/** An object of [key, node] pairs; undefined nodes are left out. Now and then a key is repeated. */
function obj(...pairs) {
  const fields = pairs.filter(([, node]) => node !== undefined);
  if (fields.length && chance(1.5)) {
    const [key, node] = pick(fields);
    fields.splice(below(fields.length + 1), 0, [key, chance(50) ? anything() : node]);
  }
  if (chance(5)) fields.reverse();
  return new Obj(fields);
}

// ---- scalars and other small values ------------------------------------------------------------

// JavaScript trims the first row and not the second; other languages draw the line elsewhere.
const TRIMMED = [...' \t\n\v\f\r\u00a0\ufeff\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000'];
const NOT_TRIMMED = [...'\u0085\u180e\u200b\u2060\u001c\u001f\u0000\u007f'];
const BAD_UTF8 = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xf5, 0x80], [0x80], [0xc3]];
const WORDS = ['hello', 'fix the bug', 'x', 'naïve e\u0301', '日本語', '😀', 'a\\b"c', '\ud83d', '\ude00', 'tab\there', 'C:/x', 'line\u2028sep', '[object Object]'];
const PREFIXES = ['/', '?', '/help', '<session_context>', '<hook_context>', '<Session_context>', '<session_context', '<state_snapshot>'];
const NUMBERS = ['0', '-0', '1', '5', '-1', '2.50', '0.10', '1E5', '1e-400', '1e999', '-1e999', '1e21', '12345678901234567890', '9007199254740993'];
const NOT_NUMBERS = ['01', '+1', '.5', '1.', '-', '1e', 'NaN', 'Infinity', '0x10', 'undefined', '1_0', 'True'];
const COMMON_IDS = ['u1', 'g1', 'u2', 'g2', 'a', 'd04923d38bb0f6017037e74183378ef4'];
// The second row is made of ids that a careless reader takes for one another.
const ODD_IDS = ['', '1', '10', '2', '01', '__proto__', 'constructor', 'toString', 'length', ' a', 'a\u0000', '😀', 'ID',
  'é', 'e\u0301', '\ud800', '\ud801', '\ufffd', byte(0xff), byte(0xc3)];

const number = () => pick(NUMBERS);
const badBytes = () => pick(BAD_UTF8).map(byte).join('');
const space = () => times(between(0, 3), () => pick(chance(80) ? TRIMMED : NOT_TRIMMED)).join('');

function text() {
  return choose(
    [10, () => pick(WORDS)],
    [1, () => ''],
    [2, () => space()],
    [4, () => space() + pick(PREFIXES) + pick(['', ' ', 'rest'])],
    [2, () => space() + pick(WORDS) + space()],
    [1, () => pick(WORDS) + badBytes() + pick(['', 'z'])],
  );
}

const scalar = () => choose([2, () => 'null'], [1, () => 'true'], [2, () => 'false'], [4, number], [2, () => '""'], [4, () => str(text())]);

/** Any JSON value. */
function anything(depth = 2) {
  if (!depth || chance(65)) return scalar();
  if (chance(50)) return times(below(3), () => anything(depth - 1));
  return obj(...times(below(3), () => [pick(['a', 'id', 'text', 'length', '1', '__proto__', '\ud800', '']), anything(depth - 1)]));
}

/** A value for a place where JavaScript makes a string or number of it. An own `toString` throws. */
function convertible(depth = 3) {
  return choose(
    [5, scalar],
    [1, () => obj()],
    [2, () => obj(['toString', anything(1)], ['valueOf', chance(30) ? anything(1) : undefined])],
    [1, () => obj(['valueOf', anything(1)])],
    [1, () => obj(['__proto__', obj(['toString', 'null'])])],
    [depth ? 4 : 0, () => times(below(4), () => convertible(depth - 1))],
  );
}

/** What a `length` may be when it is compared with 0 or multiplied: JavaScript's Number() decides. */
function length() {
  const numeric = ['5', '', ' 7 ', 'abc', '0x10', '0b1', '-0x1', '1e3', '.5', '5.', '+1', '-1', '1_0', 'Infinity', 'inf', '\u00a05', '\u00855', '0'];
  return choose([3, number], [4, () => str(pick(numeric))], [2, () => [str(pick(numeric))]], [2, convertible], [2, () => obj(['toString', '0'])]);
}

/** `toolCalls` or `thoughts`: only their length is ever read. */
function list() {
  return choose(
    [30, () => undefined],
    [4, () => '[]'],
    [8, () => [obj(['id', str('c')], ['name', str('read_file')], ['args', obj()])]],
    [3, () => anything()],
    [2, () => str(pick(['', 'abc']))],
    [8, () => obj(['length', length()])],
  );
}

/** A value nested too deep for a reader that recurses. Above about 4,000 Node cannot print it back. */
function deep() {
  const levels = pick([200, 500, 1000, 2000, 5000]);
  return levels > 2000 || chance(50) ? '['.repeat(levels) + ']'.repeat(levels) : '{"a":'.repeat(levels) + '0' + '}'.repeat(levels);
}

// ---- content -----------------------------------------------------------------------------------

const partText = () => (chance(80) ? str(text()) : convertible());
const name = () => (chance(60) ? str('read_file') : convertible());
const orOdd = (make) => (chance(70) ? make() : chance(30) ? 'null' : anything());

function inlineData() {
  const mimeType = choose([9, () => str(pick(['image/png', 'audio/wav', 'video/mp4', 'text/plain', '', 'IMAGE/x']))], [1, () => undefined], [2, () => anything()]);
  const data = choose([4, () => str('QUJDRA==')], [1, () => undefined], [2, () => anything()], [8, () => obj(['length', length()])]);
  return obj(['mimeType', mimeType], ['data', data]);
}

const PART_FIELDS = {
  text: partText,
  thought: () => choose([6, () => 'true'], [2, () => 'false'], [4, convertible]),
  videoMetadata: () => anything(1),
  codeExecutionResult: () => anything(1),
  executableCode: () => anything(1),
  fileData: () => anything(1),
  functionCall: () => orOdd(() => obj(['id', str('c')], ['name', name()], ['args', obj()])),
  functionResponse: () => orOdd(() => obj(['id', str('c')], ['name', chance(80) ? name() : undefined], ['response', obj()])),
  inlineData: () => orOdd(inlineData),
};

/** A part: text alone, or one to three fields, because the order they are tried in counts. */
function part() {
  if (chance(40)) return obj(['text', partText()]);
  return obj(...times(between(1, 3), () => pick(Object.keys(PART_FIELDS))).map((field) => [field, PART_FIELDS[field]()]));
}

/** An element of a content array. Nesting stays below 60: the program's own stack limit is not a rule. */
function element(depth = 4) {
  return choose(
    [20, part],
    [3, () => str(text())],
    [2, scalar],
    [depth ? 3 : 0, () => times(below(4), () => element(depth - 1))],
    [1, () => Array.from({ length: between(5, 55) }).reduce((inner) => [inner], part())],
  );
}

function content() {
  return choose(
    [6, () => '""'], // with `toolCalls` or `thoughts`: then these decide
    [30, () => str(text())],
    [30, () => [obj(['text', str(text())])]],
    [1, () => [obj(['text', str('\ud83d')]), obj(['text', str('\ude00')])]], // joined they are one character
    [26, () => times(below(5), element)],
    [10, part],
    [2, () => obj(['text', convertible()])],
    [5, scalar],
    [2, () => undefined],
  );
}

// ---- records -----------------------------------------------------------------------------------

const time = () => str(`2026-0${between(1, 9)}-1${below(10)}T0${below(10)}:00:00.000Z`);
const id = () => str(pick(ids));
const sessionId = () => str(pick(['5e551011-0000-4000-8000-000000000001', '5e551011-0000-4000-8000-000000000002', 'a2a-server']));
const hash = () => str('ab'.repeat(32));

function type() {
  return choose(
    [42, () => str('user')],
    [38, () => str('gemini')],
    [10, () => str(pick(['info', 'error', 'warning', 'message_update', 'model', 'User', '']))],
    [2, () => undefined],
    [2, () => anything(1)],
  );
}

/** Fields the loader never looks at, which must come through unharmed. */
function unread() {
  return choose(
    [60, () => ['tokens', obj(['input', number()], ['total', number()])]],
    [20, () => [pick(['displayContent', 'x', '__proto__', '7', 'toJSON', '']), anything()]],
    [4, () => ['x', deep()]],
    [2, () => ['x', pick(NOT_NUMBERS)]], // the whole line is lost
  );
}

function message(ownId = id()) {
  return obj(['id', ownId], ['timestamp', time()], ['type', type()], ['content', content()],
    ['toolCalls', list()], ['thoughts', list()], chance(40) ? unread() : ['model', str('gemini-2.5-pro')]);
}

const messageWithoutId = () => new Obj(message().fields.filter(([key]) => key !== 'id'));

/** An element of a `messages` array. */
function listed() {
  return choose([30, message], [2, messageWithoutId], [2, () => message(anything(1))], [2, () => anything()], [1, header], [1, set]);
}

/** `messages` of a `$set`, a header or a document. */
const messages = () => (chance(90) ? times(chance(5) ? 0 : between(1, 6), listed) : anything());

const METADATA = {
  lastUpdated: time,
  startTime: time,
  summary: () => str(text()),
  directories: () => [str('/home/dev')],
  memoryScratchpad: () => obj(['version', '1']),
  kind: () => str(pick(['main', 'subagent'])),
  sessionId,
  projectHash: hash,
  messages,
  messageCount: number,
  x: () => (chance(80) ? anything() : deep()),
  ['__proto__']: anything, // in brackets it is a key like any other
};

/** A metadata field: the value it should have, or (`oddly` percent) any other. */
const metadata = (key, oddly) => [key, chance(oddly) ? anything() : METADATA[key]()];

const HEADER_EXTRAS = ['summary', 'kind', 'directories', 'memoryScratchpad', 'messageCount', 'x', '__proto__'];

function header() {
  const extras = times(below(3), () => metadata(pick(HEADER_EXTRAS), 15));
  if (chance(10)) extras.push(['messages', messages()]);
  if (chance(2)) extras.push([pick(['$set', '$rewindTo', 'id']), choose([3, () => 'null'], [1, () => '[]'], [1, () => '5'], [1, () => anything(1)])]);
  return obj(['sessionId', sessionId()], ['projectHash', hash()], ['startTime', choose([18, time], [1, () => undefined], [1, scalar])],
    ['lastUpdated', choose([16, time], [2, () => undefined], [2, scalar])], ...extras);
}

/** A header the loader does not take for one. */
function uselessHeader() {
  return choose(
    [2, () => obj(['sessionId', anything(1)], ['projectHash', hash()], ['startTime', time()])],
    [2, () => obj(['sessionId', sessionId()], ['startTime', time()], ['messages', messages()])],
    [2, () => obj(['id', id()], ['sessionId', sessionId()], ['projectHash', hash()])],
    [1, () => obj(['sessionId', '""'], ['projectHash', hash()])],
    [1, () => obj(['$set', '[]'], ['sessionId', sessionId()], ['projectHash', hash()])],
  );
}

function set() {
  const keys = choose(
    [5, () => ['lastUpdated']],
    [4, () => ['messages', 'lastUpdated']],
    [4, () => ['memoryScratchpad']],
    [2, () => ['memoryScratchpad', 'messages', 'summary']],
    [6, () => times(between(1, 3), () => pick(Object.keys(METADATA)))],
  );
  // A falsy session id or hash makes the file unreadable, so it must be rare; the loader takes any other.
  const identity = (key) => [key, choose([10, METADATA[key]], [3, () => pick(['5', 'true', '[]', '{}'])], [1, () => anything(1)])];
  const fields = keys.map((key) => (/sessionId|projectHash/.test(key) ? identity(key) : metadata(key, 20)));
  return obj(['$set', chance(96) ? obj(...fields) : anything()]);
}

const rewind = () => obj(['$rewindTo', choose([16, id], [2, () => str('unknown')], [2, () => anything(1)])]);

/** Two kinds of record in one: which of them is it? */
function mixture() {
  const kinds = [message, set, rewind, header, () => obj([pick(['id', '$set', '$rewindTo']), anything(1)])];
  return obj(...pick(kinds)().fields, ...pick(kinds)().fields);
}

const record = () => choose([68, message], [12, set], [3, rewind], [4, header], [3, mixture], [4, anything],
  [1, messageWithoutId], [1, () => message(anything(1))], [1, uselessHeader]);

// ---- damage ------------------------------------------------------------------------------------

/** Puts something between two characters of a line, preferably inside a string. */
function insert(line, what) {
  const letters = [...line.matchAll(/[a-z](?=[a-z ])/g)];
  const at = letters.length && chance(80) ? pick(letters).index + 1 : below(line.length + 1);
  return line.slice(0, at) + what + line.slice(at);
}

function damaged(line) {
  return choose(
    [3, () => line.slice(0, below(line.length))],
    [1, () => line.slice(below(line.length))],
    [2, () => line + print(message())],
    [1, () => line + ','],
    [1, () => line.replaceAll('"', "'")],
    [1, () => line.slice(0, -1) + ',' + line.slice(-1)], // a trailing comma
    [2, () => insert(line, pick(['\u0000', '\u0001', '\t', '\u001f', '\u007f', '\u0085']))],
    [4, () => insert(line, badBytes())],
    [2, () => insert(line, pick(['\n', '\r', '\u2028', '\u2029', '\\ud83d', '\\x41', '\\']))],
    [3, () => pick(['\ufeff', '\u00a0', '\f', '\u2028', '\u0000', '//']) + line],
    [2, () => line + pick(['\u00a0', '\ufeff', '\u2028', '\u0000', ';'])],
    [2, () => pick([' ', '\t', '  ']) + line + pick([' ', '\t'])], // harmless
    [1, () => line.replace(/:/, pick([' : ', ':\t', ':\f', ':\u00a0', '=']))],
  );
}

const blank = () => pick(['', ' ', '\t', '\u00a0', '\ufeff', '\u2028', '\u0085', '\f']);

/** Joins lines with the line endings of one file; a U+2028 between two records is none. */
function joined(lines) {
  const endings = choose([70, () => ['\n']], [10, () => ['\r\n']], [4, () => ['\r']], [3, () => ['\r\r\n']], [10, () => ['\n', '\r\n', '\r', '\n\r', '\n\n']]);
  const all = lines.map((line) => line + (chance(0.5) ? '\u2028' : pick(endings))).join('');
  return chance(80) ? all : all.replace(/[\r\n\u2028]+$/, '');
}

// ---- files -------------------------------------------------------------------------------------

/** A log: one record a line, with or without a usable header, sound or damaged. */
function log() {
  const start = choose([90, () => [header()]], [6, () => []], [4, () => [uselessHeader()]]);
  const records = [...start, ...times(chance(3) ? 0 : between(1, pick([4, 10, 20])), record)];
  if (start.length && chance(8)) records.splice(below(records.length), 0, records.shift()); // a late header
  const lines = records.map((node) => print(node, chance(5) ? ' ' : ''));
  if (lines.length && chance(40)) {
    for (let n = between(1, 3); n > 0; n--) {
      const at = chance(6) ? 0 : below(lines.length);
      if (at || chance(6)) lines[at] = damaged(lines[at]); // the first line is mostly the header
      if (chance(30)) lines.splice(below(lines.length + 1), 0, blank());
    }
  }
  if (chance(8)) lines.push(print(message()).slice(0, between(1, 60))); // torn last line
  return encode((chance(1) ? '\ufeff' : '') + joined(lines));
}

/** A whole document, as Gemini CLI wrote them up to 0.38, or something like one. */
function documentNode() {
  const ownId = choose([16, sessionId], [1, () => 'null'], [1, () => anything(1)], [1, () => undefined]);
  const own = choose([20, () => times(between(1, 8), message)], [12, () => times(between(1, 8), listed)], [3, () => anything()], [1, () => undefined]);
  const extras = times(below(3), () => metadata(pick(Object.keys(METADATA)), 20));
  if (chance(10)) extras.push([pick(['userMessageCount', 'hasResumableContent', 'firstUserMessage', 'id', '$set', '$rewindTo']), anything()]);
  return obj(['sessionId', ownId], ['projectHash', chance(80) ? hash() : anything(1)], ['startTime', chance(85) ? time() : undefined],
    ['lastUpdated', time()], ['messages', own], ...extras);
}

/** A document someone formatted by hand: its inner lines are complete records by themselves. */
function handFormatted() {
  const inner = times(between(1, 6), () => choose([5, message], [2, set], [1, rewind], [chance(50) ? 2 : 0, header], [1, scalar]));
  const lines = inner.map((node) => print(node)).join(chance(50) ? '\n,\n' : ',\n');
  return `{\n"sessionId": ${sessionId()},\n"messages": [\n${lines}\n]\n}\n`;
}

function document() {
  const node = documentNode();
  const source = choose([6, () => print(node, '  ', 99)], [2, () => print(node)], [1, () => print(node, '\t', 2)], [3, handFormatted]);
  const lineEnd = chance(10) ? pick(['\r\n', '\r']) : '\n';
  const around = chance(85) ? ['', pick(['', '\n'])] : [pick(['\ufeff', ' ', '\n\n', '\u00a0', '']), pick(['', ' \n', '\u00a0', 'x', '{}', '\u0000'])];
  const bytes = encode(around[0] + source.replaceAll('\n', lineEnd) + around[1]);
  return chance(8) ? bytes.subarray(0, below(bytes.length)) : bytes;
}

/** Files that are no session at all, or hold a single record. */
function stray() {
  const contents = () => times(between(1, 3), () => obj(['role', str(pick(['user', 'model']))], ['parts', times(between(1, 2), part)]));
  return encode(choose(
    [1, () => ''],
    [1, () => times(between(1, 4), () => pick([' ', '\n', '\r\n', '\t', '\ufeff', '\u00a0'])).join('')],
    [1, () => print(contents(), '  ', pick([0, 99]))],
    [1, () => print(obj(['history', contents()]), '  ', pick([0, 99]))],
    [1, () => print([documentNode()], '  ', pick([0, 99]))],
    [3, () => print(pick([uselessHeader, mixture, set, anything])())],
    [1, () => print(obj(...header().fields, ...mixture().fields))],
  ));
}

export function sessionFile(seed, index) {
  startRandom(seed, index);
  ids = [...times(between(2, 4), () => pick(COMMON_IDS)), ...times(between(0, 3), () => pick(ODD_IDS))];
  const [ending, bytes] = choose([80, () => ['jsonl', log()]], [18, () => ['json', document()]], [2, () => ['json', stray()]]);
  // The loader does not care for the name's ending; nor may we.
  return { name: `${String(index).padStart(6, '0')}.${chance(92) ? ending : pick(['json', 'jsonl'])}`, bytes };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [out, count, seed, start = '0'] = process.argv.slice(2);
  if (!seed || !(count >= 0) || !(start >= 0)) {
    console.error('usage: node generate.mjs OUT_DIR COUNT SEED [START]');
    process.exit(2);
  }
  fs.mkdirSync(out, { recursive: true });
  for (let i = Number(start); i < Number(start) + Number(count); i++) {
    const { name, bytes } = sessionFile(seed, i);
    fs.writeFileSync(path.join(out, name), bytes);
  }
}
