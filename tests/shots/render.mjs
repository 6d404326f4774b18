// Draws scenes as pages: node render.mjs <scenes.json> <folder>. Run where package.json is installed.
//
// The blocks are drawn by slack-blocks-to-jsx, which knows nothing of this office. What it leaves out is put in here:
// what a menu has chosen, the frame of a thread, a Home and a form, and the words beside a private message.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import fs from 'node:fs';
import path from 'node:path';

const require = createRequire(path.join(process.cwd(), 'package.json'));
const { createElement: h } = require('react');
const { renderToStaticMarkup } = require('react-dom/server');
const drawn = require.resolve('slack-blocks-to-jsx').replace(/index\.js$/, 'index.mjs');
const { Message } = await import(pathToFileURL(drawn));
const css = fs.readFileSync(path.join(path.dirname(drawn), 'style.css'), 'utf8');

const people = { U01ALICE: 'Alice', U01OWNER: 'Olivia', U0BOT: 'Chancery', U02BOB: 'Bob' };
const places = { C01GEN: 'general', C02: 'deploys', C09: 'leadership' };
const named = (names) => Object.entries(names).map(([id, name]) => ({ id, name }));
const data = { users: named(people), channels: named(places), user_groups: [] };

// Slack draws notation where `verbatim` is set too: it only keeps from looking for bare names and addresses. And a
// line's beginning keeps its room, which the library drops.
const outside = (text) => text.replace(/^ +/gm, (room) => '\u2800'.repeat(room.length));
const words = (text) => text.replace(/```\n/g, '```').replace(/\n```/g, '```').split('```')
  .map((piece, n) => (n % 2 ? piece : outside(piece))).join('```');
const chosen = (element) => {
  const option = element.initial_option?.text?.text;
  const one = element.initial_conversation && `# ${places[element.initial_conversation] ?? element.initial_conversation}`;
  const many = element.initial_conversations?.map((id) => `# ${places[id] ?? id}`).join(', ');
  return option ?? one ?? many;
};
const seen = (value) => {
  if (Array.isArray(value)) return value.map(seen);
  if (!value || typeof value !== 'object') return value;
  const made = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, seen(inner)]));
  if (made.type === 'mrkdwn') {
    delete made.verbatim;
    made.text = words(made.text);
  }
  // Without emoji a colon is a colon: one that the library takes for nothing else.
  if (made.type === 'plain_text' && made.emoji === false) made.text = made.text.replace(/:/g, '\ua789');
  if (chosen(made)) made.placeholder = { type: 'plain_text', text: `\u2063${chosen(made)}` };
  return made;
};

// What is chosen is not pale.
const draw = (props) => renderToStaticMarkup(h(Message, props)).replace(/text-black-primary\.3 dark:text-dark-text-secondary"([^>]*>(?:<[^>]*>)*)\u2063/g, '"$1');

const face = (name, colour) => {
  const letter = encodeURIComponent(name[0]);
  return `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='36' height='36'%3E%3Crect width='36' height='36' rx='4' fill='%23${colour}'/%3E%3Ctext x='18' y='25' font-size='20' font-family='sans-serif' fill='white' text-anchor='middle'%3E${letter}%3C/text%3E%3C/svg%3E`;
};

const message = (said, n, theme) => {
  const name = said.user ? people[said.user] : 'Chancery';
  const blocks = said.blocks ?? [{ type: 'section', text: { type: 'mrkdwn', text: said.text } }];
  const html = draw({
    blocks: seen(blocks), name, logo: face(name, said.user ? '4a154b' : '1264a3'), theme, data,
    time: new Date(Date.UTC(2026, 10, 30, 10, 41 + n)),
  });
  const line = said.alone ? '<p class="alone">Only visible to you</p>' : '';
  return `<div class="message">${line}${said.user ? html.replace(/<[^>]*>APP<[^>]*>/, '') : html}</div>`;
};

const view = (scene, theme) => {
  const blocks = seen(scene.view.blocks);
  const html = draw({ blocks, name: 'x', logo: face('x', '000000'), theme, data, withoutWrapper: true });
  if (scene.view.type === 'home') return `<div class="home">${html}</div>`;
  const bar = `<footer><span class="button">${scene.view.close.text}</span><span class="button main">${scene.view.submit.text}</span></footer>`;
  return `<div class="form"><header>${scene.view.title.text}<span>✕</span></header>${html}${bar}</div>`;
};

const frame = `
  body { margin: 0; padding: 20px; width: 680px; font-family: Lato, "Noto Sans", "DejaVu Sans", sans-serif; background: #fff; color: #1d1c1d; }
  body.dark { background: #1a1d21; color: #d1d2d3; }
  h1 { font-size: 18px; margin: 0 0 16px; padding-bottom: 12px; border-bottom: 1px solid #8884; }
  .message { margin-bottom: 18px; }
  .alone { margin: 0 0 4px 44px; font-size: 12px; opacity: 0.7; }
  .form { border: 1px solid #8886; border-radius: 8px; padding: 16px 24px; width: 520px; }
  .form header { font-size: 20px; font-weight: 900; display: flex; justify-content: space-between; margin-bottom: 8px; }
  .form footer { display: flex; justify-content: flex-end; gap: 12px; margin-top: 20px; }
  .button { border: 1px solid #8888; border-radius: 4px; padding: 6px 14px; font-weight: 700; font-size: 15px; }
  .button.main { background: #007a5a; color: #fff; border-color: #007a5a; }
  body { overflow-wrap: anywhere; }
  pre, code { white-space: pre-wrap; }
`;

const [, , from, to] = process.argv;
for (const scene of JSON.parse(fs.readFileSync(from, 'utf8'))) {
  for (const theme of ['light', 'dark']) {
    const body = scene.view ? view(scene, theme) : scene.messages.map((said, n) => message(said, n, theme)).join('');
    const page = `<!doctype html><html><head><meta charset="utf-8"><title>${scene.name}</title><style>${css}${frame}</style></head>` +
      `<body class="${theme}" data-theme="${theme}"><h1>${scene.title}</h1>${body}` +
      `<script>document.documentElement.dataset.height = document.body.scrollHeight + 40</script></body></html>`;
    fs.writeFileSync(path.join(to, `${scene.name}-${theme}.html`), page);
  }
}
