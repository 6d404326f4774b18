// An app of Slack's own library for JavaScript, before the other side of these tests: if it takes what that says for
// Slack's, so may the office.
//
//   node bolt.cjs http <origin of the API> <port>       installed over OAuth; signed events over HTTP
//   node bolt.cjs socket <origin of the API> <token> <app token>
//
// It tells what it hears, a line each.
const { createRequire } = require('node:module');
const { App, LogLevel } = createRequire(process.cwd() + '/')('@slack/bolt');
const [, , mode, origin, first, second] = process.argv;
const clientOptions = { slackApiUrl: `${origin}/api/`, retryConfig: { retries: 0 } };
const say = (...words) => console.log(words.join(' '));

const listen = (app) => {
  app.event('app_mention', async ({ event, context, say: answer }) => {
    say('mention', context.teamId, context.botUserId, event.text, `retry=${context.retryNum ?? 0}`, context.retryReason || 'first');
    await answer({ text: `heard ${event.ts}`, thread_ts: event.ts });
  });
  app.message(async ({ message }) => say('message', message.channel, message.text));
  app.action('approval.yes', async ({ ack, action, body }) => {
    await ack();
    say('click', body.user.id, action.value);
  });
  app.shortcut('chancery.question', async ({ ack, shortcut, client }) => {
    await ack();
    const text = (words) => ({ type: 'plain_text', text: words });
    const words = { type: 'input', block_id: 'words', label: text('What?'), element: { type: 'plain_text_input', action_id: 'form.words' } };
    const view = { type: 'modal', callback_id: 'chancery.question', title: text('Ask'), submit: text('Ask'), close: text('Cancel'), blocks: [words] };
    const opened = await client.views.open({ trigger_id: shortcut.trigger_id, view }).catch((error) => error.data);
    say('shortcut', shortcut.user.id, opened.ok ? opened.view.callback_id : opened.error);
  });
  app.view('chancery.question', async ({ ack, view, body }) => {
    await ack();
    const { words, place } = view.state.values;
    say('asked', body.user.id, words['form.words'].value, place['form.place'].selected_conversation);
  });
  app.action('home.mode', async ({ ack, action, body }) => {
    await ack();
    say('home', body.view.type, action.block_id, action.selected_option.value);
  });
  app.error(async (error) => say('error', error.code, error.message));
};

const overHttp = async (port) => {
  const installed = new Map();
  const app = new App({
    signingSecret: 'test-signing-secret',
    clientId: '1234567890.1234567890',
    clientSecret: 'client-secret-0123456789abcdef',
    stateSecret: 'a state of this test',
    scopes: ['chat:write', 'app_mentions:read'],
    redirectUri: `http://127.0.0.1:${port}/slack/oauth_redirect`,
    installationStore: {
      storeInstallation: async (one) => {
        installed.set(one.team.id, one);
        const ends = one.bot.expiresAt === undefined ? 'for-good' : 'ends';
        say('installed', one.team.id, one.bot.userId, one.user.id, one.bot.scopes.includes('chat:write'), ends, one.bot.token);
      },
      fetchInstallation: async (asked) => installed.get(asked.teamId),
    },
    installerOptions: {
      directInstall: true,
      redirectUriPath: '/slack/oauth_redirect',
      authorizationUrl: `${origin}/oauth/v2/authorize`,
      clientOptions,
    },
    clientOptions,
    logLevel: LogLevel.ERROR,
  });
  listen(app);
  await app.start({ port: Number(port), host: '127.0.0.1' });
  say('listening');
};

const overSocket = async (token, appToken) => {
  const app = new App({ token, appToken, socketMode: true, clientOptions, logLevel: LogLevel.ERROR });
  listen(app);
  await app.start();
  say('listening');
};

(mode === 'http' ? overHttp(first) : overSocket(first, second)).catch((error) => {
  say('error', error.code, error.message);
  process.exit(1);
});
