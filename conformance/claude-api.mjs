// A stand-in for the Anthropic API on 127.0.0.1, for runs of the real Claude Code without a network.
//
//   node claude-api.mjs READY_FILE LOG_FILE
//
// A prompt `prompt …: run COMMAND` is answered with a use of Bash, `prompt …: delegate TASK` with one of Agent, and
// everything else with `Answer to: <the last prompt or task>`; `prompt …, slowly` takes a while. The port goes to READY_FILE, what was asked to LOG_FILE.
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [ready, log] = process.argv.slice(2);
let calls = 0;

const blocks = ({ content }) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? []);
const plain = (text) => text.replace(/<system-reminder>[^]*?<\/system-reminder>/g, '').trim();

function answer({ messages = [], tools = [] }) {
  const users = messages.filter(({ role }) => role === 'user');
  const texts = users.flatMap(blocks).map(({ text }) => plain(text ?? ''));
  const asked = texts.findLast((text) => /^(prompt|task) /.test(text)) ?? texts.at(-1) ?? '';
  const isNew = users.length > 0 && blocks(users.at(-1)).every(({ type }) => type !== 'tool_result');
  const [, verb, rest] = (isNew && tools.length > 0 && /^prompt [^:]*: (run|delegate) ([^]*)/.exec(asked)) || [];
  const id = `toolu_${String(calls).padStart(4, '0')}`;
  if (verb === 'run') return { type: 'tool_use', id, name: 'Bash', input: { command: rest, description: 'Run it' } };
  if (verb === 'delegate') {
    const name = tools.find(({ name }) => name === 'Agent' || name === 'Task')?.name;
    const input = { description: 'A task', prompt: `task ${rest}`, subagent_type: 'general-purpose', run_in_background: false };
    if (name) return { type: 'tool_use', id, name, input };
  }
  return { type: 'text', text: `Answer to: ${asked.split('\n').at(-1)}` };
}

const server = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  const body = text ? JSON.parse(text) : {};
  const json = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  const path = request.url.split('?')[0];
  if (path.endsWith('/count_tokens')) return json(200, { input_tokens: 120 });
  if (!path.endsWith('/v1/messages')) return json(404, { type: 'error', error: { type: 'not_found_error', message: path } });
  calls++;
  const block = answer(body);
  if (block.text?.endsWith(', slowly')) await new Promise((done) => setTimeout(done, 15_000));
  appendFileSync(log, `${JSON.stringify({ isMain: (body.tools ?? []).length > 0, messages: body.messages })}\n`);
  const usage = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 20, output_tokens: 7 };
  const stop_reason = block.type === 'tool_use' ? 'tool_use' : 'end_turn';
  const message = { id: `msg_${String(calls).padStart(4, '0')}`, type: 'message', role: 'assistant', model: body.model, usage };
  if (!body.stream) return json(200, { ...message, content: [block], stop_reason, stop_sequence: null });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type, value) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`);
  send('message_start', { message: { ...message, content: [], stop_reason: null, stop_sequence: null } });
  const isText = block.type === 'text';
  send('content_block_start', { index: 0, content_block: isText ? { type: 'text', text: '' } : { ...block, input: {} } });
  const delta = isText ? { type: 'text_delta', text: block.text } : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
  send('content_block_delta', { index: 0, delta });
  send('content_block_stop', { index: 0 });
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage });
  send('message_stop', {});
  response.end();
});
server.listen(0, '127.0.0.1', () => writeFileSync(ready, String(server.address().port)));
