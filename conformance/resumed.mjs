// Did the program of an agent send our current view of a session, and then the new prompt?
//
//   node resumed.mjs VIEW ASKED PROMPT
//
// VIEW is the document of `backstory show --view current --json`, ASKED the log of `claude-api.mjs` or `codex-api.mjs`,
// PROMPT what was asked next. Compared are typed prompts, which all begin with `prompt `, the texts of the model, and
// the ids of tool calls, in their order.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const [viewFile, askedFile, prompt] = process.argv.slice(2);
const { messages } = JSON.parse(readFileSync(viewFile, 'utf8'));
const view = [];
for (const { role, kind, text, tool_calls } of messages) {
  if (kind === 'prompt') view.push(`prompt: ${text.trim()}`);
  if (role === 'assistant' && text.trim()) view.push(`reply: ${text.trim()}`);
  if (role === 'assistant') view.push(...tool_calls.map(({ id }) => `call: ${id}`));
}

const said = (role, text) => {
  const plain = text.replace(/<system-reminder>[^]*?<\/system-reminder>/g, '').trim();
  // Claude Code puts this between two messages of the user; no model said it.
  if (role === 'assistant') return plain && plain !== 'No response requested.' ? [`reply: ${plain}`] : [];
  return role === 'user' && plain.startsWith('prompt ') ? [`prompt: ${plain}`] : [];
};
const parts = (content) => (typeof content === 'string' ? [{ text: content }] : content ?? []);
/** The parts of a message of Claude Code, or of an item of Codex CLI. */
const sent = ({ role, type, content, id, call_id }) => {
  if (['function_call', 'custom_tool_call', 'local_shell_call'].includes(type)) return [`call: ${call_id}`];
  return parts(content).flatMap((part) => (part.type === 'tool_use' ? [`call: ${part.id}`] : said(role, part.text ?? '')));
};
const lines = readFileSync(askedFile, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const requests = lines.filter(({ isMain }) => isMain !== false).map(({ messages, input }) => (messages ?? input).flatMap(sent));
const heard = requests.filter((request) => request.at(-1) === `prompt: ${prompt}`);
assert.equal(heard.length, 1, `there should be one request that ends with the new prompt: ${JSON.stringify(requests.map((r) => r.at(-1)))}`);
assert.deepEqual(heard[0], [...view, `prompt: ${prompt}`]);
assert(view.length > 1, 'the session is empty');
console.log(`       ${view.length} parts of the current view, then the new prompt`);
