// Random choices, and JSON as source text: what generate.mjs builds its files from.
//
// A file is built as source, never by JSON.stringify of a value, because most of what is to be
// tested (repeated keys, escaped keys, 1e999, -0, broken numbers) does not survive a value.
// A node of the tree is a string of source text, an array of nodes, or an Obj.

// ---- choices -----------------------------------------------------------------------------------

let state; // four words of xorshift128, set for each file

export function startRandom(seed, index) {
  state = [0x811c9dc5, 0x1b873593, 0x9e3779b9, 0x85ebca6b].map((basis) => {
    let hash = basis;
    for (const char of `${seed}/${index}`) hash = Math.imul(hash ^ char.codePointAt(0), 0x01000193);
    return hash | 1; // never all zero
  });
  for (let i = 0; i < 24; i++) random32();
}

function random32() {
  let [x, y, z, w] = state;
  x ^= x << 11;
  x = w ^ (w >>> 19) ^ x ^ (x >>> 8);
  state = [y, z, w, x];
  return x >>> 0;
}

export const below = (n) => random32() % n;
export const between = (low, high) => low + below(high - low + 1);
export const chance = (percent) => random32() % 1000 < percent * 10;
export const pick = (list) => list[below(list.length)];
export const times = (n, make) => Array.from({ length: n }, () => make());

/** Calls one of the makers; each row is [weight, maker]. */
export function choose(...rows) {
  let at = below(rows.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, make] of rows) if ((at -= weight) < 0) return make();
}

// ---- source text -------------------------------------------------------------------------------

export class Obj {
  constructor(fields) {
    this.fields = fields; // [[key, node]], in order, repeats allowed
  }
}

/** Stands for one byte that is not valid UTF-8 where it is put; `encode` makes it that byte. */
export const byte = (value) => String.fromCharCode(0xe000 + value);

export function encode(text) {
  const chunks = [];
  for (const piece of text.split(/([\ue080-\ue0ff]+)/)) {
    const raw = /^[\ue080-\ue0ff]/.test(piece);
    chunks.push(raw ? Buffer.from(piece, 'utf16le').filter((_, i) => i % 2 === 0) : Buffer.from(piece));
  }
  return Buffer.concat(chunks);
}

/** The source of a string, sometimes with needless escapes. Lone surrogates always come escaped. */
export function str(text) {
  if (!chance(4)) return JSON.stringify(text);
  const unit = (char) => '\\u' + char.charCodeAt(0).toString(16).padStart(4, '0');
  const escaped = text.split('').map((char) => {
    if (char === '/' && chance(50)) return '\\/';
    if (chance(30)) return chance(50) ? unit(char) : unit(char).toUpperCase().replace('U', 'u');
    // Halves of a pair must both be escaped, or the other half would be a raw lone surrogate.
    return /[\ud800-\udfff]/.test(char) ? unit(char) : JSON.stringify(char).slice(1, -1);
  });
  return `"${escaped.join('')}"`;
}

/** Prints a node: compact, or indented by `indent` down to `depth` levels and compact below. */
export function print(node, indent = '', depth = 0, margin = '\n') {
  if (typeof node === 'string') return node;
  const inner = depth > 0 ? margin + indent : '';
  const items = Array.isArray(node)
    ? node.map((item) => print(item, indent, depth - 1, inner))
    : node.fields.map(([key, item]) => `${str(key)}:${indent && ' '}${print(item, indent, depth - 1, inner)}`);
  const [open, close] = Array.isArray(node) ? '[]' : '{}';
  if (!items.length) return open + close;
  return open + inner + items.join(',' + inner) + (depth > 0 ? margin : '') + close;
}
