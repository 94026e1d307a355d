/** What clients that mean no good do, endpoint by endpoint. Each attack is begun anew until its time is over. */
import {
  alike,
  costly,
  customTools,
  endless,
  fresh,
  keys,
  LINES,
  letters,
  long,
  megabyte,
  ruled,
  short,
  user,
  worded,
} from './bodies.js'
import { all, ask, left, type Outcome, open, pause, unread } from './clients.js'
import { NANO, type Server } from './server.js'

export interface Attack {
  readonly name: string
  /** Whom it goes to, as the table of endpoints has it. */
  readonly endpoints: readonly string[]
  /** Models that are offered beside nano: those of `models.ts`, and those of `liars.ts` by their addresses. */
  readonly models?: 'encoders' | 'hostile' | 'liars'
  run(server: Server): Promise<Outcome[]>
}

const CHAT = '/chat/completions'
const RESPONSES = '/responses'
const CONVERSATIONS = '/conversations'
const userItems = (content: string) => [{ id: 'msg_0', role: 'user', content }]
const post = (server: Server, path: string, body: object) => ask(server, { path, body })
const idOf = ({ text }: Outcome): string => (JSON.parse(text) as { id: string }).id

/** A conversation of so many megabytes, a response each; gives back the last one's id. */
async function conversation(server: Server, megabytes: number): Promise<string> {
  let previous: string | undefined
  for (let turn = 0; turn < megabytes; turn++) {
    // It is kept whether or not the model can read it.
    const body = { model: NANO, input: megabyte(), store: true, background: true, previous_response_id: previous }
    const made = await post(server, RESPONSES, body)
    if (made.status !== 200) return previous!
    previous = idOf(made)
    for (let status = 'queued'; status === 'queued' || status === 'in_progress'; ) {
      const { text } = await ask(server, { path: `${RESPONSES}/${previous}` })
      status = (JSON.parse(text) as { status: string }).status
    }
  }
  return previous!
}

/** Items of a kept response, by the ids that the client gave them. */
async function keptItems(server: Server, count: number): Promise<string[]> {
  const name = fresh()
  const input = Array.from({ length: count }, (_, i) => ({ id: `msg_${name}_${i}`, role: 'user', content: 'x' }))
  await post(server, RESPONSES, { model: NANO, input, store: true })
  return input.map(({ id }) => id)
}

const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make)
const choice = () => ({
  type: 'choice',
  instructions: fresh(),
  choices: many(12, () => ({ value: `${fresh()} ${fresh()}` })),
})
const kind = () => ({
  type: 'choice',
  instructions: fresh(),
  criteria: Object.fromEntries(many(12, () => [`${fresh()} ${fresh()}`, null])),
})

/** All models but the first are asked for a text, and for tokens. */
const strangers = (server: Server): Promise<Outcome[]> =>
  Promise.all(
    server.models
      .slice(1)
      .flatMap((model) => [
        post(server, CHAT, { model, messages: user(fresh()), max_tokens: 4 }),
        post(server, '/tokenize', { model, prompt: `${'a'.repeat(30)}!` }),
      ]),
  )

const question = () => ({ question: { type: 'choice', instructions: fresh(), choices: [fresh(), fresh()] } })
/** Endpoints that read a body, and what makes one right. */
const KEYED: readonly (readonly [string, () => object])[] = [
  [RESPONSES, () => ({ input: fresh(), max_output_tokens: 16 })],
  ['/responses/compact', () => ({ input: fresh() })],
  ['/responses/input_tokens', () => ({ input: fresh() })],
  [CONVERSATIONS, () => ({ metadata: keys(false) })],
  ['/completions', () => ({ prompt: fresh(), max_tokens: 4 })],
  ['/infill', () => ({ input_prefix: fresh(), input_suffix: fresh(), n_predict: 4 })],
  ['/embeddings', () => ({ input: fresh() })],
  ['/rerank', () => ({ query: fresh(), documents: [fresh()] })],
  ['/score', () => ({ text_1: fresh(), text_2: fresh() })],
  ['/classify', () => ({ input: fresh() })],
  ['/pooling', () => ({ input: fresh() })],
  ['/decisions', () => ({ input: fresh(), questions: question() })],
  ['/systemone', () => ({ input: fresh(), questions: question() })],
  ['/extractions', () => ({ state: fresh(), fields: { name: { type: 'text' } } })],
  ['/tokenize', () => ({ prompt: fresh() })],
  ['/detokenize', () => ({ tokens: [1, 2] })],
  ['/messages', () => ({ messages: user(fresh()), max_tokens: 4 })],
  ['/messages/count_tokens', () => ({ messages: user(fresh()) })],
  ['/api/chat', () => ({ messages: user(fresh()), stream: false, options: { num_predict: 4 } })],
  ['/api/generate', () => ({ prompt: fresh(), stream: false, options: keys(false) })],
  ['/api/embed', () => ({ input: fresh() })],
]

export const ATTACKS: readonly Attack[] = [
  {
    name: 'eight prompts of 1 MB, and eight as long as fits',
    endpoints: [CHAT],
    run: (server) => all(16, (i) => post(server, CHAT, short(i < 8 ? megabyte() : long()))),
  },
  {
    name: '1 MB of keys that are all different, in one object and in an object each',
    endpoints: [CHAT],
    run: (server) =>
      all(16, (i) => post(server, CHAT, i % 2 ? keys(true) : { ...keys(false), model: NANO, messages: user(fresh()) })),
  },
  {
    name: '1 MB of keys that are all different, wherever a body is read',
    endpoints: KEYED.map(([path]) => path),
    run: (server) =>
      all(KEYED.length, (i) => {
        const [path, body] = KEYED[i]!
        return post(server, path, { ...keys(false), ...body(), model: NANO })
      }),
  },
  {
    name: '20,000 messages of a letter',
    endpoints: [CHAT],
    run: (server) => all(4, () => post(server, CHAT, { model: NANO, messages: letters(), max_tokens: 4 })),
  },
  {
    name: 'texts that are alike almost everywhere',
    endpoints: [CHAT],
    run: (server) => all(4, () => post(server, CHAT, alike())),
  },
  {
    name: '600 prompts that are left within 60 ms',
    endpoints: [CHAT],
    run: (server) => left(server, 600, 60, () => ({ path: CHAT, body: short(long()) })),
  },
  {
    name: 'eight readable answers of eight choices',
    endpoints: [CHAT],
    run: (server) => all(8, () => post(server, CHAT, { ...endless(8), logprobs: undefined, top_logprobs: undefined })),
  },
  {
    name: 'eight unread answers of eight choices',
    endpoints: [CHAT],
    run: (server) => unread(server, 8, 6000, { path: CHAT, body: endless(8) }),
  },
  {
    name: '100 costly schemas',
    endpoints: [CHAT],
    run: (server) => all(100, () => post(server, CHAT, costly())),
  },
  {
    name: 'grammars of many readings, ladders and repetitions within repetitions',
    endpoints: [CHAT, '/completions'],
    run: (server) =>
      all(24, (i) => {
        const { messages, ...body } = ruled(i)
        return i % 4 === 3
          ? post(server, '/completions', { ...body, prompt: fresh() })
          : post(server, CHAT, { ...body, messages })
      }),
  },
  {
    name: 'regular expressions that take long to compile, and grammars of 8,000 rules',
    endpoints: [CHAT],
    run: (server) => all(8, (i) => post(server, CHAT, worded(i))),
  },
  {
    name: '64 custom tools each, held by Lark and regular expressions',
    endpoints: [CHAT, RESPONSES],
    run: (server) =>
      all(16, (i) => {
        const { chat, responses } = customTools(64)
        const shared = { model: NANO, tool_choice: 'required' }
        return i % 2
          ? post(server, RESPONSES, { ...shared, input: fresh(), tools: responses, max_output_tokens: 40 })
          : post(server, CHAT, { ...shared, messages: user(fresh()), tools: chat, max_tokens: 40 })
      }),
  },
  {
    name: 'a flood of 320',
    endpoints: [CHAT],
    run: (server) => all(320, () => post(server, CHAT, short())),
  },
  {
    name: '300 bodies of 1 MB that never end',
    endpoints: [CHAT],
    async run(server) {
      const half = Array.from({ length: 300 }, () => {
        const sent = open(server, { path: CHAT, body: {} }).on('error', () => {})
        sent.on('response', (response) => response.resume())
        sent.setHeader('content-length', 1_000_000)
        sent.write(Buffer.alloc(900_000, 0x20))
        return sent
      })
      await pause(4000)
      for (const sent of half) sent.destroy()
      return []
    },
  },
  {
    name: '2,000 projects of one key',
    endpoints: [CHAT],
    run: (server) =>
      all(100, () => ask(server, { path: CHAT, body: {}, headers: { 'openai-project': `team/p${fresh()}` } })),
  },
  {
    name: '256 prompts, four answers each',
    endpoints: ['/completions'],
    run: (server) =>
      all(4, () => post(server, '/completions', { model: NANO, prompt: Array.from({ length: 256 }, fresh), n: 4 })),
  },
  {
    name: 'gaps between texts of 1 MB, and 100 fields of what was said',
    endpoints: ['/infill'],
    run: (server) =>
      all(16, (i) =>
        post(server, '/infill', {
          ...{ model: NANO, input_prefix: i % 2 ? megabyte() : fresh(), input_suffix: megabyte(), n_predict: 4 },
          response_fields: Array.from({ length: 100 }, () => 'timings/'.repeat(100)),
        }),
      ),
  },
  {
    name: 'prompts as long as fits, told again with the log probabilities of every token',
    endpoints: ['/completions'],
    run: (server) =>
      all(16, (i) =>
        post(server, '/completions', {
          model: NANO,
          prompt: i % 4 === 3 ? megabyte() : Array.from({ length: 4 }, () => long().slice(0, 1500)),
          max_tokens: i % 2 ? 0 : 4,
          echo: true,
          logprobs: 5,
        }),
      ),
  },
  {
    name: '3,000 references to items, and 3,000 to none',
    endpoints: [RESPONSES],
    async run(server) {
      const ids = await keptItems(server, 3000)
      const refer = (some: readonly string[]) => some.map((id) => ({ type: 'item_reference', id }))
      return all(8, (i) =>
        post(server, RESPONSES, {
          model: NANO,
          input: refer(i % 2 ? ids : ids.map((id) => `${id}x`)),
          max_output_tokens: 16,
        }),
      )
    },
  },
  {
    name: 'a kept conversation of 30 MB, gone on with and listed eight times',
    endpoints: [RESPONSES, '/responses/{id}/input_items', '/responses/{id}'],
    async run(server) {
      const id = await conversation(server, 30)
      const body = { model: NANO, input: 'And?', previous_response_id: id, max_output_tokens: 16 }
      return all(24, (i) => {
        if (i % 3 === 0) return post(server, RESPONSES, { ...body, truncation: 'auto' })
        return ask(server, { path: `${RESPONSES}/${id}${i % 3 === 1 ? '' : '/input_items?order=asc'}` })
      })
    },
  },
  {
    name: 'conversations as long as they may be, gone on with, added to, listed and cut',
    endpoints: [
      CONVERSATIONS,
      `${CONVERSATIONS}/{id}`,
      `${CONVERSATIONS}/{id}/items`,
      `${CONVERSATIONS}/{id}/items/{item}`,
      RESPONSES,
    ],
    async run(server) {
      const made = await all(8, () => post(server, CONVERSATIONS, { items: userItems(megabyte()) }))
      const ids = made.filter(({ status }) => status === 200).map(idOf)
      // Of each the fourth has no room.
      const added = await all(4 * ids.length, (i) =>
        post(server, `${CONVERSATIONS}/${ids[i % ids.length]}/items`, { items: userItems(megabyte()) }),
      )
      const answered = await all(6 * ids.length, (i) => {
        const path = `${CONVERSATIONS}/${ids[i % ids.length]}`
        const body = { model: NANO, input: 'And?', truncation: 'auto', max_output_tokens: 16 }
        if (i % 3 === 0) return post(server, RESPONSES, { ...body, conversation: ids[i % ids.length] })
        if (i % 3 === 1) return ask(server, { path: `${path}/items?order=asc&limit=100` })
        return i % 2
          ? ask(server, { path: `${path}/items/msg_0`, method: 'DELETE' })
          : post(server, path, { metadata: {} })
      })
      const gone = await all(ids.length, (i) => ask(server, { path: `${CONVERSATIONS}/${ids[i]}`, method: 'DELETE' }))
      return [...made, ...added, ...answered, ...gone]
    },
  },
  {
    name: '20,000 messages, cut where they are too many',
    endpoints: [RESPONSES],
    run: (server) =>
      all(4, () =>
        post(server, RESPONSES, { model: NANO, input: letters(), truncation: 'auto', max_output_tokens: 16 }),
      ),
  },
  {
    name: '300 in the background, cancelled and deleted',
    endpoints: [RESPONSES, '/responses/{id}/cancel', '/responses/{id}'],
    async run(server) {
      const made = await all(300, () => post(server, RESPONSES, { model: NANO, input: long(), background: true }))
      const ids = made.filter(({ status }) => status === 200).map(idOf)
      return Promise.all(
        ids.map((id, i) =>
          i % 2
            ? ask(server, { path: `${RESPONSES}/${id}`, method: 'DELETE' })
            : ask(server, { path: `${RESPONSES}/${id}/cancel`, method: 'POST' }),
        ),
      )
    },
  },
  {
    name: 'long conversations, summed up and counted',
    endpoints: ['/responses/compact', '/responses/input_tokens'],
    run: (server) =>
      all(16, (i) =>
        post(server, i % 2 ? '/responses/compact' : '/responses/input_tokens', {
          model: NANO,
          input: i % 4 < 2 ? megabyte(LINES) : [...letters().slice(0, 15_000), { role: 'user', content: 'x' }],
        }),
      ),
  },
  {
    name: 'sixteen texts of 1 MB, of words, lines and letters, and their tokens',
    endpoints: ['/tokenize', '/detokenize'],
    run: (server) =>
      all(16, (i) =>
        i % 4 === 3
          ? post(server, '/detokenize', { model: NANO, tokens: Array.from({ length: 180_000 }, (_, k) => k % 1000) })
          : post(server, '/tokenize', { model: NANO, prompt: megabyte([LINES, 'word ', 'x'][i % 4]) }),
      ),
  },
  {
    name: '400 questions about a text as long as fits, options of many tokens, and texts of 1 MB',
    endpoints: ['/decisions', '/systemone', '/api/alpha/decisions'],
    run: (server) =>
      all(16, (i) => {
        const text = i % 4 < 2 ? long() : megabyte()
        if (i % 2) return post(server, '/decisions', { model: NANO, input: text, questions: many(400, choice) })
        const questions = Object.fromEntries(many(400, kind).map((question) => [fresh(), question]))
        return post(server, i % 4 ? '/systemone' : '/api/alpha/decisions', { model: NANO, state: text, questions })
      }),
  },
  {
    name: '250 options of 3 KB, and eight lists of 200,000 tokens',
    endpoints: ['/decisions', '/detokenize'],
    run: (server) =>
      all(16, (i) => {
        if (i % 2) return post(server, '/detokenize', { model: NANO, tokens: many(200_000, () => 42) })
        const choices = many(250, () => ({ value: long().slice(0, 3000) }))
        return post(server, '/decisions', { model: NANO, input: 'x', questions: [{ ...choice(), choices }] })
      }),
  },
  {
    name: '600 decisions that are left within 60 ms',
    endpoints: ['/decisions'],
    run: (server) =>
      left(server, 600, 60, () => ({
        path: '/decisions',
        body: { model: NANO, input: long(), questions: many(8, choice) },
      })),
  },
  {
    name: '40 fields of a text, lists among them, and 100 of texts of 1 MB',
    endpoints: ['/extractions', '/extraction', '/api/alpha/extractions'],
    run: (server) =>
      all(16, (i) => {
        const kinds = [{ type: 'text' }, { type: 'date' }, { type: 'list', items: 'text' }, { type: 'number' }]
        const count = i % 4 < 2 ? 40 : 100
        const fields = Object.fromEntries(Array.from({ length: count }, (_, k) => [`f${k}`, kinds[k % kinds.length]]))
        const path = ['/extractions', '/extraction', '/api/alpha/extractions'][i % 3]!
        return post(server, path, { model: NANO, state: i % 4 < 2 ? long().slice(0, 2000) : megabyte(), fields })
      }),
  },
  {
    name: 'a number and a date, of texts that say them everywhere',
    endpoints: ['/extractions'],
    run: (server) =>
      all(8, (i) => {
        const state = `${fresh()} ${i % 2 ? '15 '.repeat(1000) : '03/04/2026 '.repeat(300)}`
        return post(server, '/extractions', {
          model: NANO,
          state,
          fields: { n: { type: 'number' }, d: { type: 'date' } },
        })
      }),
  },
  {
    name: '300 extractions that are left within 60 ms',
    endpoints: ['/extractions'],
    run: (server) =>
      left(server, 300, 60, () => ({
        path: '/extractions',
        body: { model: NANO, state: long(), fields: { [fresh()]: { type: 'text' }, [fresh()]: { type: 'date' } } },
      })),
  },
  {
    name: "Anthropic's messages, long ones and many, counted",
    endpoints: ['/messages', '/messages/count_tokens'],
    run: (server) =>
      all(16, (i) =>
        post(server, i % 2 ? '/messages' : '/messages/count_tokens', {
          model: NANO,
          max_tokens: 4,
          messages: i % 4 < 2 ? user(megabyte()) : letters().slice(0, 19_999),
        }),
      ),
  },
  {
    name: "Ollama's chats of 20,000 messages and of 1 MB, calls without results, and texts to go on from",
    endpoints: ['/api/chat', '/api/generate', '/api/show'],
    run: (server) => {
      const call = { function: { name: 'f', arguments: {} } }
      const calls = Array.from({ length: 10_000 }, () => ({ role: 'assistant', content: '', tool_calls: [call, call] }))
      const bodies = [
        { messages: letters() },
        { messages: user(megabyte()) },
        { messages: calls },
        { prompt: megabyte(), raw: true },
      ]
      return all(16, (i) => {
        const body = { model: NANO, stream: i % 8 < 4, options: { num_predict: 4 }, ...bodies[i % 4] }
        return post(server, 'prompt' in body ? '/api/generate' : '/api/chat', body)
      }).then(async (outcomes) => [...outcomes, ...(await all(100, () => post(server, '/api/show', { model: NANO })))])
    },
  },
  {
    name: "Ollama's streams that nobody reads, and chats that are left within 60 ms",
    endpoints: ['/api/chat'],
    async run(server) {
      const format = { type: 'array', items: { type: 'boolean' }, minItems: 170 }
      const options = { num_predict: 900 }
      const body = { model: NANO, messages: user(fresh()), format, options, logprobs: true, top_logprobs: 20 }
      await unread(server, 8, 3000, { path: '/api/chat', body })
      return left(server, 300, 60, () => ({ path: '/api/chat', body: { ...body, messages: user(long()) } }))
    },
  },
  {
    name: 'models pulled 300 times and left, deleted, made, copied and pushed',
    endpoints: ['/api/pull', '/api/delete', '/api/create', '/api/copy', '/api/push'],
    async run(server) {
      await left(server, 300, 60, () => ({ path: '/api/pull', body: { model: NANO } }))
      return all(100, (i) =>
        i % 4 === 0
          ? ask(server, { path: '/api/delete', method: 'DELETE', body: { model: NANO } })
          : post(server, ['/api/create', '/api/copy', '/api/push'][(i % 4) - 1]!, { model: NANO, from: megabyte() }),
      )
    },
  },
  {
    name: "Ollama's 2,000 texts to embed, and texts of 1 MB that are cut",
    endpoints: ['/api/embed', '/api/embeddings'],
    models: 'encoders',
    run: (server) => {
      const [, model] = server.models
      return all(8, (i) =>
        i % 2
          ? post(server, '/api/embeddings', { model, prompt: megabyte('w300 ') })
          : post(server, '/api/embed', {
              model,
              input: many(i % 4 ? 2000 : 8, () => (i % 4 ? 'w301 w302' : megabyte('w301 '))),
            }),
      )
    },
  },
  {
    name: '2,000 texts to embed, to rank, to classify and to score pair by pair, and texts of 1 MB',
    endpoints: ['/embeddings', '/pooling', '/rerank', '/v2/rerank', '/classify', '/score'],
    models: 'encoders',
    run: (server) => {
      const [, embeds, ranks] = server.models
      const words = () =>
        Array.from({ length: 40 }, (_, i) => `w${300 + ((i * 7 + Math.floor(Math.random() * 90)) % 100)}`).join(' ')
      return all(12, (i) => {
        const texts = i % 4 < 2 ? Array.from({ length: 2000 }, words) : [megabyte('w300 ')]
        if (i % 3 === 0) return post(server, i % 2 ? '/embeddings' : '/pooling', { model: embeds, input: texts })
        if (i % 6 === 4) return post(server, '/classify', { model: ranks, input: texts })
        if (i % 3 === 1) return post(server, '/score', { model: ranks, queries: texts.map(words), documents: texts })
        return post(server, i % 2 ? '/v2/rerank' : '/rerank', { model: ranks, query: 'w301 w302', documents: texts })
      })
    },
  },
  {
    name: 'lists, usage and health, 300 at a time',
    endpoints: [
      ...['/models', '/models/{model}', '/organization/usage/completions', '/health', '/tokenizer_info'],
      ...['', '/ping', '/version', '/load', '/api/version', '/api/tags', '/api/ps'],
    ],
    run: (server) => {
      const usage = '/organization/usage/completions?start_time=0&limit=31'
      const lists = ['/models', `/models/${NANO}`, usage, '/health', `/tokenizer_info?model=${NANO}`]
      const paths = [...lists, '', '/ping', '/version', '/load', '/api/version', '/api/tags', '/api/ps']
      return all(300, (i) => ask(server, { path: paths[i % paths.length]! }))
    },
  },
  {
    name: 'models of strangers: templates without an end, layers and tokens without number',
    endpoints: [CHAT, '/tokenize'],
    models: 'hostile',
    run: strangers,
  },
  {
    name: 'repositories that lie: files without end, places elsewhere, redirects, damaged heads, bytes that drip',
    endpoints: [CHAT, '/tokenize'],
    models: 'liars',
    run: strangers,
  },
]
