// A plugin in JavaScript, against the WIT alone: it says back what it was given, fails as told, looks at its world,
// and reads a page with the `fetch` that its engine brings.
import { get } from 'chancery:host/settings@0.1.0';
import { exists } from 'chancery:host/credentials@0.1.0';
import { write } from 'chancery:host/log@0.1.0';

const anything = JSON.stringify({ type: 'object' });
const definition = (name, description) => ({ name, description, inputSchema: anything, outputSchema: anything });

function failure(kind, message) {
  return { kind: { tag: kind }, message, retryAfterMs: undefined };
}

function echo(input, key) {
  if (input.fail !== undefined) throw failure('not-found', `nothing is called ${input.fail}`);
  if (input.spin) for (;;) {}
  write('info', 'JavaScript was here');
  console.log('and printed a line');
  return {
    text: input.text,
    key,
    setting: get('colour') ?? null,
    credential: exists('javascript.token'),
    year: new Date().getUTCFullYear(),
    drawn: Math.random(),
  };
}

async function read(input) {
  const response = await fetch(input.url);
  return { status: response.status, text: await response.text() };
}

export const tools = {
  definitions: () => [
    definition('javascript.echo', 'Says back what it was given.'),
    definition('javascript.fetch', 'Reads a page.'),
  ],
  async call({ tool, input, key }) {
    const given = JSON.parse(input);
    const said = tool === 'javascript.fetch' ? await read(given) : echo(given, key);
    return JSON.stringify(said);
  },
};
