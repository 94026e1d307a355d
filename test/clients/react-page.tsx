import { StrictMode, useState } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { useChat, useDecision, useModel, useObject, useReview } from '../../adapters/react/index.js'
import { scripted } from '../../src/engines/scripted.js'
import { createV1, type Engine, type Part } from '../../src/index.js'

const schema = {
  type: 'object',
  properties: { title: { type: 'string' }, stars: { type: 'integer' }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['title', 'stars', 'tags'],
  additionalProperties: false,
} as const

/** What the page lets through, one part at a time: streams are seen as they come. */
const gate = { open: false, wake: () => {} }
Object.assign(globalThis, { gate })
const passing = async () => {
  while (!gate.open) {
    await new Promise<void>((resolve) => {
      gate.wake = resolve
    })
  }
}

const TEXT = 'A kettle, 4 stars: good, red, 4 cups.'
const evidencePart = (pointer: string, confidence: number, start?: number, end?: number): Part => ({
  type: 'evidence',
  choice: 0,
  evidence: {
    ...{ pointer, confidence },
    // The instructions come first.
    ...(start !== undefined && end !== undefined && { source: { message: 1, part: 0, start, end } }),
  },
})

const scriptedEngine = scripted({
  capabilities: { evidence: true },
  models: {
    'test/review': async function* (call) {
      if (!call.evidence) throw new Error('Evidence was not asked for.')
      yield { type: 'text-delta', choice: 0, text: '{"title":"A kettle"' }
      yield evidencePart('/title', 0.95, 0, 8)
      // Only what follows a number says that it has ended.
      yield { type: 'text-delta', choice: 0, text: ',"stars":4,' }
      yield evidencePart('/stars', 0.5, 10, 11)
      await passing()
      yield { type: 'text-delta', choice: 0, text: '"tags":["good","red"]}' }
      yield evidencePart('/tags/0', 0.7, 19, 23)
      yield evidencePart('/tags/1', 0.25)
      yield { type: 'finish', choice: 0, reason: 'stop' }
    },
    'test/chat': async function* (call) {
      yield { type: 'text-delta', choice: 0, text: `You said ${call.messages.length}: ` }
      await passing()
      call.signal.throwIfAborted()
      yield { type: 'text-delta', choice: 0, text: String(call.messages.at(-1)?.content) }
      yield { type: 'finish', choice: 0, reason: 'stop' }
    },
    'test/object': async function* () {
      yield { type: 'text-delta', choice: 0, text: '{"title":"A ket' }
      await passing()
      yield { type: 'text-delta', choice: 0, text: 'tle","stars":4,"tags":["good","red"]}' }
      yield { type: 'finish', choice: 0, reason: 'stop' }
    },
  },
})
let loaded = false
const engine: Engine = {
  ...scriptedEngine,
  get models() {
    return scriptedEngine.models.map((model) => ({ ...model, metadata: { loaded } }))
  },
  generate: (call) => scriptedEngine.generate(call),
  async load(model, onProgress) {
    if (model !== 'test/chat') return
    onProgress({ model, phase: 'download', bytesLoaded: 5, bytesTotal: 10, filesLoaded: 0, filesTotal: 1 })
    await passing()
    loaded = true
  },
  async unload() {
    loaded = false
  },
}
const v1 = createV1({ engine, keys: 'none', manageModels: true, log: () => {} })

/** What was asked about, and what came of it. */
const states: string[] = []
Object.assign(globalThis, { states })
const judge = scripted({
  models: { 'test/decides': 'Hi' },
  capabilities: { decisions: true },
  decide: ({ options }) => options.map((_, i) => (i === 0 ? 3 : 1)),
})
const judges = createV1({
  engine: {
    ...judge,
    generate: (call) => judge.generate(call),
    async decide(call) {
      const state = String(call.state)
      const nth = states.push(`${state} ...`) - 1
      const givenUp = new Promise<never>((_, reject) => {
        call.signal.addEventListener('abort', () => {
          states[nth] = `${state} given up`
          reject(call.signal.reason)
        })
      })
      await Promise.race([passing(), givenUp])
      states[nth] = `${state} answered`
      return await judge.decide!(call)
    },
  },
  keys: 'none',
  log: () => {},
})

function Model() {
  const [model, setModel] = useState('test/chat')
  const { state, progress, metadata, load, unload } = useModel(v1, model)
  return (
    <section>
      <output id="model">{`${state} ${progress?.bytesLoaded ?? ''}`.trim()}</output>
      <output id="model-loaded">{String(metadata?.loaded)}</output>
      <button type="button" onClick={() => void load()}>load</button>
      <button type="button" onClick={() => void unload()}>unload</button>
      <button type="button" onClick={() => setModel('no/model')}>watch another</button>
      <button type="button" onClick={() => setModel('test/chat')}>watch it again</button>
    </section>
  )
}

/** How often a model was looked up by an address. */
const lookups: string[] = []
Object.assign(globalThis, { lookups })

function ByAddress() {
  const { state } = useModel(
    {
      baseURL: 'http://device/v1',
      fetch: (input, init) => {
        lookups.push(input)
        return v1.fetch(new Request(input, init))
      },
    },
    'test/chat',
  )
  return <output id="by-address">{state}</output>
}

function Chat({ model }: { model: string }) {
  const chat = useChat(v1, { model, system: 'Be kind.' })
  return (
    <section>
      <output id="chat">{JSON.stringify(chat.messages.map(({ content }) => content))}</output>
      <output id="chat-state">{chat.error ? `failed: ${chat.error.message}` : chat.busy ? 'busy' : 'idle'}</output>
      <button type="button" onClick={() => void chat.send('hello')}>send</button>
      <button type="button" onClick={() => chat.stop()}>stop</button>
      <button type="button" onClick={() => chat.clear()}>clear</button>
      <button
        type="button"
        onClick={() => {
          chat.clear()
          void chat.send('anew')
        }}
      >
        begin anew
      </button>
      <button
        type="button"
        onClick={() => {
          void chat.send('one')
          void chat.send('two')
        }}
      >
        send two
      </button>
    </section>
  )
}

function Extraction() {
  const { partial, object, busy, submit } = useObject(v1, { model: 'test/object', schema })
  // What the types say: fields may not have come yet, and then are all there.
  const stars: number | undefined = object?.stars
  const title: string | undefined = partial?.title
  return (
    <section>
      <output id="partial">{JSON.stringify(partial ?? null)}</output>
      <output id="object">{`${title} ${stars ?? 'not yet'} ${busy ? 'busy' : 'idle'}`}</output>
      <button type="button" onClick={() => void submit('A kettle, 4 stars.')}>submit</button>
    </section>
  )
}

function Reviewing() {
  const used = useObject(v1, { model: 'test/review', schema, evidence: true, instructions: 'Read it.' })
  const [threshold, setThreshold] = useState(0.9)
  const review = useReview(used, { threshold })
  // What the types say.
  const stars: number | undefined = review.document?.stars
  const sure: number | undefined = used.evidence?.['/tags/0']?.confidence
  const shown = review.fields.map(
    ({ pointer, value, said, doubtful, state }) => `${pointer}=${value}<${said ?? ''}>${doubtful ? '?' : ''} ${state}`,
  )
  return (
    <section>
      <output id="review">{shown.join('; ')}</output>
      <output id="reviewed">{`${stars ?? 'not yet'} ${sure ?? ''} ${review.document?.tags ?? ''} open ${review.open}`}</output>
      <button type="button" onClick={() => void used.submit(TEXT)}>read</button>
      <button type="button" onClick={() => review.accept('/stars')}>accept stars</button>
      <button type="button" onClick={() => review.edit('/tags/1', 'blue')}>edit tag</button>
      <button type="button" onClick={() => review.reopen('/stars')}>reopen stars</button>
      <button type="button" onClick={() => setThreshold(0.6)}>lower</button>
    </section>
  )
}

function Decision({ model }: { model?: string }) {
  const [text, setText] = useState('')
  const [more, setMore] = useState(false)
  const { answers, busy, error, stop } = useDecision(
    judges,
    {
      team: { type: 'choice', instructions: 'Who helps?', choices: ['billing', { value: 'tech' }] },
      ...(more && { angry: { type: 'predicate', instructions: 'They are angry.' } }),
    },
    text,
    { ...(model !== undefined && { model }), delayMs: 200 },
  )
  // What the types say.
  const team: 'billing' | 'tech' | undefined = answers?.team.choice
  const tech: number | undefined = answers?.team.probabilities.tech
  const type = async (letters: string) => {
    for (let i = 1; i <= letters.length; i++) {
      flushSync(() => setText(letters.slice(0, i)))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return (
    <section>
      <output id="decision">{error ? `failed: ${error.message}` : `${team} ${tech} ${busy ? 'busy' : 'idle'}`}</output>
      <button type="button" onClick={() => void type('abc')}>type abc</button>
      <button type="button" onClick={() => void type('xyz')}>type xyz</button>
      <button type="button" onClick={() => setText('')}>empty</button>
      <button type="button" onClick={() => setMore(true)}>ask more</button>
      <button type="button" onClick={stop}>stop deciding</button>
    </section>
  )
}

function App() {
  const [model, setModel] = useState('test/chat')
  const [shown, setShown] = useState(true)
  return (
    <>
      <Model />
      <ByAddress />
      {shown && <Chat model={model} />}
      <Extraction />
      <Reviewing />
      {shown && <Decision {...(model === 'no/model' && { model })} />}
      <button type="button" onClick={() => setModel('no/model')}>other model</button>
      <button type="button" onClick={() => setModel('test/chat')}>first model</button>
      <button type="button" onClick={() => setShown(false)}>hide</button>
    </>
  )
}

createRoot(document.querySelector('main')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
