// A stand-in for the Gemini API on 127.0.0.1, for runs of the real program without a network.
//
//   node api.mjs READY_FILE LOG_FILE
//
// Every prompt is answered with `Answer to: <its last line>`; calls that ask for JSON get a small object that
// fits the schema. The port goes to READY_FILE, what was asked to LOG_FILE.
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [ready, log] = process.argv.slice(2);
const usage = { promptTokenCount: 120, candidatesTokenCount: 7, totalTokenCount: 127 };

// The least value that a schema accepts.
function least(schema) {
  const type = String([schema?.type].flat()[0] ?? '').toLowerCase();
  if (schema?.enum) return schema.enum[0];
  if (schema?.properties) return Object.fromEntries(Object.entries(schema.properties).map(([key, inner]) => [key, least(inner)]));
  return { object: {}, array: [], number: 1, integer: 1, boolean: false }[type] ?? 'text';
}

function answer(body) {
  const schema = body.generationConfig?.responseJsonSchema ?? body.generationConfig?.responseSchema;
  if (schema) return JSON.stringify(least(schema));
  const parts = body.contents?.at(-1)?.parts ?? [];
  const text = parts.map((part) => part.text ?? '').join('\n').trim();
  return `Answer to: ${text.split('\n').at(-1)}`;
}

const server = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  const body = text ? JSON.parse(text) : {};
  const verb = request.url.split('?')[0].split(':').at(-1);
  const candidate = { content: { role: 'model', parts: [{ text: answer(body) }] }, finishReason: 'STOP', index: 0 };
  const reply = JSON.stringify({ candidates: [candidate], usageMetadata: usage, modelVersion: 'stand-in' });
  appendFileSync(log, `${JSON.stringify({ verb, contents: body.contents })}\n`);
  if (verb === 'streamGenerateContent') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${reply}\r\n\r\n`);
  } else {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(verb === 'countTokens' ? '{"totalTokens":120}' : reply);
  }
});
server.listen(0, '127.0.0.1', () => writeFileSync(ready, String(server.address().port)));
