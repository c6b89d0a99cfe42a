// Did Gemini CLI go on with the session it was given by `--session-file`?
//
//   node continued.mjs EXPORT SESSION ASKED PROMPT
//
// EXPORT is what it was given, SESSION the file it wrote, ASKED the log of `api.mjs`, PROMPT what was asked next.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const [exportFile, sessionFile, askedFile, prompt] = process.argv.slice(2);
const lines = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const given = JSON.parse(readFileSync(exportFile, 'utf8'));
const [head, notice, ...written] = lines(sessionFile);

// The new session begins with every message of the old one that is part of the talk.
const earlier = given.messages.filter(({ type, content }) => ['user', 'gemini'].includes(type) && content !== undefined);
assert(earlier.length > 1, 'the export has no conversation');
assert.notEqual(head.sessionId, given.sessionId, 'it is not a new session');
assert.match(notice.content, /^Imported session from /);
assert.deepEqual(written.slice(0, earlier.length), earlier, 'the messages are not those of the export');
const later = JSON.stringify(written.slice(earlier.length));
assert(later.includes(prompt) && later.includes(`Answer to: ${prompt}`), 'the new turn was not written');

// And the model was told of it: all that was said, each call and each result, in this order.
const parts = (content) => [content].flat().map((part) => (typeof part === 'string' ? { text: part } : part));
const ignored = (text) => text === '' || /^(\/|\?|<session_context>|<hook_context>)/.test(text);
const essence = ({ text, thought, functionCall, functionResponse }) => {
  if (functionCall) return `call ${functionCall.name} ${JSON.stringify(functionCall.args)}`;
  if (functionResponse) return `result ${functionResponse.name} ${JSON.stringify(functionResponse.response)}`;
  return text && !thought ? text : undefined;
};
const told = [];
for (const { type, content, toolCalls = [] } of earlier) {
  const said = parts(content);
  if (type === 'user' && said.every((part) => part.text !== undefined) && ignored(said.map((part) => part.text).join('').trim())) continue;
  const inside = said.some((part) => part.functionCall);
  told.push(...said);
  if (!inside) told.push(...toolCalls.map(({ name, args }) => ({ functionCall: { name, args } })));
  told.push(...toolCalls.flatMap(({ result }) => (result ? parts(result) : [])));
}
const requests = lines(askedFile).filter(({ verb, contents }) => verb === 'streamGenerateContent' && JSON.stringify(contents.at(-1)).includes(prompt));
assert.equal(requests.length, 1, 'there should be one request with the new prompt');
const heard = requests[0].contents.flatMap((content) => content.parts).map(essence);
const wanted = told.map(essence).filter(Boolean);
let from = 0;
for (const one of wanted) {
  const at = heard.indexOf(one, from);
  assert(at >= 0, `the model was not told: ${one.slice(0, 200)}`);
  from = at + 1;
}
console.log(`       ${earlier.length} messages went along, ${wanted.length} parts of them to the model`);
