// A stand-in for the OpenAI Responses API on 127.0.0.1, for runs of the real Codex CLI without a network.
//
//   node codex-api.mjs READY_FILE LOG_FILE
//
// A prompt `prompt …: run COMMAND` is answered with a call of the shell tool that the request offers, everything else
// with `Answer to: <the last prompt>`. The port goes to READY_FILE, what was asked to LOG_FILE.
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [ready, log] = process.argv.slice(2);
let calls = 0;

const text = ({ content }) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n'));

/** The names of all tools that a request offers, those in namespaces included. */
const names = (tools) => tools.flatMap(({ name, type, tools: inner }) => [name ?? type, ...names(inner ?? [])]);

function answer({ input = [], tools = [] }) {
  const prompts = input.filter(({ role }) => role === 'user').map(text).filter((said) => said.startsWith('prompt '));
  const asked = prompts.at(-1) ?? text(input.at(-1) ?? {});
  const isNew = input.at(-1)?.role === 'user';
  const [, command] = (isNew && /^prompt [^:]*: run ([^]*)/.exec(asked)) || [];
  const n = String(calls).padStart(4, '0');
  if (command) {
    const offered = names([...tools, ...input.flatMap((item) => item.tools ?? [])]);
    const call = { type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, status: 'completed' };
    if (offered.includes('exec_command')) return { ...call, name: 'exec_command', arguments: JSON.stringify({ cmd: command }) };
    if (offered.includes('shell_command')) return { ...call, name: 'shell_command', arguments: JSON.stringify({ command }) };
    if (offered.includes('exec')) {
      const script = `const r = await tools.exec_command(${JSON.stringify({ cmd: command })}); text(r.output ?? r);`;
      return { type: 'custom_tool_call', id: `ctc_${n}`, call_id: `call_${n}`, name: 'exec', input: script, status: 'completed' };
    }
    return { ...call, name: 'shell', arguments: JSON.stringify({ command: ['bash', '-lc', command] }) };
  }
  const said = `Answer to: ${asked.split('\n').at(-1)}`;
  const content = [{ type: 'output_text', text: said, annotations: [] }];
  return { type: 'message', id: `msg_${n}`, role: 'assistant', status: 'completed', content };
}

const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const path = request.url.split('?')[0];
  if (request.method !== 'POST' || !path.endsWith('/responses')) {
    response.writeHead(path.endsWith('/models') ? 200 : 404, { 'content-type': 'application/json' });
    return response.end(path.endsWith('/models') ? '{"object":"list","data":[],"models":[]}' : '{"error":{"message":"not here"}}');
  }
  const body = JSON.parse(Buffer.concat(pieces).toString() || '{}');
  calls++;
  const item = answer(body);
  appendFileSync(log, `${JSON.stringify({ input: body.input })}\n`);
  const usage = { input_tokens: 120, input_tokens_details: { cached_tokens: 20 }, output_tokens: 7, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 127 };
  const reply = { id: `resp_${calls}`, object: 'response', model: body.model, output: [] };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type, value) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`);
  send('response.created', { response: { ...reply, status: 'in_progress' } });
  send('response.output_item.added', { output_index: 0, item: item.type === 'message' ? { ...item, content: [], status: 'in_progress' } : item });
  if (item.type === 'message') send('response.output_text.delta', { item_id: item.id, output_index: 0, content_index: 0, delta: item.content[0].text });
  send('response.output_item.done', { output_index: 0, item });
  send('response.completed', { response: { ...reply, status: 'completed', output: [item], usage } });
  response.end();
});
server.listen(0, '127.0.0.1', () => writeFileSync(ready, String(server.address().port)));
