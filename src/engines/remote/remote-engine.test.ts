import { readdir, readFile, writeFile } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bundle } from '../../../test/support/bundle.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { ChatCall, DecideCall, Decided, Engine, LoadProgress } from '../../contract/engine.js'
import { call, collect, setUp } from '../../generate/testing/call.test-helper.js'
import { compile } from '../../grammar/structured.js'
import type { Pulse } from '../../platform/pulse.js'
import { scripted } from '../scripted.js'
import {
  farThread,
  portOf,
  portPair,
  RemoteEngine,
  type RemoteOptions,
  serveEngine,
  type WorkerThread,
} from './index.js'

const silent = { options: {}, log: () => {} }
const folder = ownFolder()
let script: string

beforeAll(async () => {
  script = join(folder, 'worker.mjs')
  await writeFile(script, await bundle('src/engines/remote/worker-entry.test-helper.ts'))
})

/** The engine in a real thread. */
function remote(file = script, options: Partial<RemoteOptions> = {}) {
  const threads: Worker[] = []
  const logged: string[] = []
  const pulses: Pulse[] = []
  const log = (message: string) => void logged.push(message)
  const engine = new RemoteEngine({
    start() {
      const thread = new Worker(file, { stderr: true })
      threads.push(thread)
      const far = farThread(thread as unknown as WorkerThread, { options: {}, log, watched: true })
      pulses.push(far.pulse!)
      return far
    },
    log,
    ...options,
  })
  onTestFinished(() => engine.close())
  return { engine, threads, logged, pulses }
}

const ask = (engine: RemoteEngine, content = 'Hello', part: Partial<ChatCall> = {}) =>
  collect(engine.generate(call({ messages: [{ role: 'user', content }], maxTokens: 20, ...part })), part.n)
const here = (part: Partial<ChatCall> = {}) =>
  collect(setUp().decoder.generate(call({ maxTokens: 20, ...part })), part.n)

test.each<[string, Partial<ChatCall>]>([
  ['text', {}],
  ['three choices with log probabilities', { n: 3, topLogprobs: 2 }],
  ['a bias', { sampling: { ...call().sampling, logitBias: new Map([[40, 8]]) } }],
  ['more parts than may be under way at once', { n: 4, maxTokens: 120 }],
])('an answer is the same from another thread: %s', async (_, part) => {
  const { engine } = remote()
  const [there, expected] = [await ask(engine, 'Hello', part), await here(part)]
  expect(there.texts).toEqual(expected.texts)
  expect(there.reasons).toEqual(expected.reasons)
  expect(there.logprobs).toEqual(expected.logprobs)
  expect(there.usage).toEqual(expected.usage)
})

// Elsewhere a priority is the whole process's.
test.runIf(process.platform === 'linux')('who answers HTTP goes before the thread that computes', async () => {
  const mine = getPriority()
  /** The threads that go behind this one. */
  const behind = async () => {
    const tasks = await readdir('/proc/self/task')
    const stats = await Promise.all(
      tasks.map((task) => readFile(`/proc/self/task/${task}/stat`, 'utf8').catch(() => '')),
    )
    // Behind the name, which may hold anything, the seventeenth.
    const niceOf = (stat: string) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
    return tasks.filter((_, i) => stats[i] !== '' && niceOf(stats[i]!) > mine)
  }
  // Those of an engine that was closed may take a while to end.
  const earlier = await behind()
  const { engine } = remote()
  await ask(engine)
  expect((await behind()).filter((task) => !earlier.includes(task))).toHaveLength(1)
  expect(getPriority()).toBe(mine)
})

test.each([true, false])('a schema is enforced there (strict: %s)', async (isStrict) => {
  const schema = {
    type: 'object',
    properties: { status: { enum: ['open', 'closed'] }, tags: { type: 'array', items: { type: 'integer' } } },
    required: ['status', 'tags'],
    additionalProperties: false,
  }
  const { engine } = remote()
  const grammar = compile(schema, { strict: isStrict })
  const output = { type: 'json_schema', name: 'x', strict: isStrict, schema } as const
  for (let seed = 0; seed < 5; seed++) {
    const sampling = { ...call().sampling, seed }
    const { texts, reasons } = await ask(engine, 'Hello', { grammar, output, maxTokens: 60, sampling })
    expect(grammar.accepts(texts[0]!)).toBe(true)
    expect(reasons).toEqual(['stop'])
  }
})

test('errors keep their form', async () => {
  const { engine } = remote()
  await expect(ask(engine, 'refuse')).rejects.toMatchObject({
    status: 429,
    message: 'Too much.',
    type: 'rate_limit_error',
    param: 'n',
    code: 'c',
    retryAfter: 7,
    headers: { 'x-a': 'b' },
  })
  await expect(ask(engine, 'stumble')).rejects.toMatchObject({ name: 'RangeError', message: 'stumbled' })
  // Where nothing can be cloned, nothing is under way either.
  await expect(ask(engine, 'Hello', { templateOptions: { f: () => {} } })).rejects.toThrow()
  expect((await ask(engine)).texts).toEqual((await here()).texts)
})

test('the list is there once the other side has told it, and follows what happens there', async () => {
  const { engine } = remote()
  expect(engine.models).toEqual([])
  await engine.ready
  expect(engine.models).toMatchObject([{ id: 'test/small', metadata: { loaded: false } }])
  const seen: LoadProgress[] = []
  await engine.load('test/small', (progress) => seen.push(progress), new AbortController().signal)
  expect(seen).toMatchObject([{ model: 'test/small', phase: 'ready' }])
  expect(engine.models).toMatchObject([{ metadata: { loaded: true } }])
})

test('an abort ends a call at once and leaves the others alone', async () => {
  const { engine, threads } = remote()
  const controller = new AbortController()
  const other = ask(engine, 'Hello', { maxTokens: 60 })
  const parts = engine.generate(call({ maxTokens: 400, signal: controller.signal }))
  await parts.next()
  controller.abort(new Error('left'))
  await expect(collect(parts)).rejects.toThrow('left')
  expect((await other).texts).toEqual((await here({ maxTokens: 60 })).texts)
  await expect(ask(engine, 'Hello', { signal: controller.signal })).rejects.toThrow('left')
  expect(threads).toHaveLength(1)
})

test.each(['exit', 'throw'])(
  'a thread that dies (%s) fails what runs, and the next request has a new one',
  async (how) => {
    const { engine, threads } = remote()
    const running = [ask(engine, how, { maxTokens: 400 }), ask(engine, 'Hello', { n: 4, maxTokens: 400 })]
    for (const settled of await Promise.allSettled(running)) {
      expect(settled).toMatchObject({ reason: { status: 503, code: 'engine_lost', retryAfter: 1 } })
    }
    expect(engine.models).toMatchObject([{ metadata: { loaded: false } }])
    expect((await ask(engine)).texts).toEqual((await here()).texts)
    expect(threads).toHaveLength(2)
  },
)

test('a thread shows life while somebody waits for it, and rests when nobody does', async () => {
  const { engine, pulses } = remote()
  const rests = async () => {
    const beatsOf = async (ms: number) => {
      const { beats } = pulses[0]!
      await new Promise((resolve) => setTimeout(resolve, ms))
      return pulses[0]!.beats - beats
    }
    // What it ends with may be on its way.
    await expect.poll(() => beatsOf(500)).toBe(0)
  }
  await engine.ready
  await rests()
  const { beats } = pulses[0]!
  await ask(engine)
  expect(pulses[0]!.beats).toBeGreaterThan(beats)
  await rests()
  await Promise.all([ask(engine), ask(engine, 'Hello', { maxTokens: 60 })])
  await rests()
})

test('a thread that cannot start is told to each request, and holds up neither the list nor the end', async () => {
  const { engine } = remote(join(folder, 'nothing.mjs'))
  await engine.ready
  for (let i = 0; i < 2; i++) await expect(ask(engine)).rejects.toMatchObject({ status: 503, code: 'engine_lost' })
  await engine.survey()
  await engine.unload('test/small')
  await engine.close()
})

describe('a thread that computes without end', () => {
  const STANDS_MS = 500

  test('is ended: who it was for is told where it stood, the others that they may ask again; twice', async () => {
    const { engine, threads, logged } = remote(script, { standsMs: STANDS_MS })
    for (let round = 0; round < 2; round++) {
      const other = ask(engine, 'Hello', { maxTokens: 400, id: `chatcmpl-other-${round}` })
      const [stood, left] = await Promise.allSettled([ask(engine, 'stand', { id: `chatcmpl-${round}` }), other])
      expect(stood).toMatchObject({
        reason: {
          status: 500,
          code: 'engine_stood',
          headers: { 'x-should-retry': 'false' },
          message: expect.stringMatching(
            `while reading its prompt \\(chat template, tokenizer\\) \\(an answer of test/small, request chatcmpl-${round}\\)`,
          ),
        },
      })
      // Another's request is named to nobody.
      expect(left).toMatchObject({
        reason: { status: 503, code: 'engine_lost', retryAfter: 1, message: expect.not.stringContaining('chatcmpl-') },
      })
      expect((await ask(engine)).texts).toEqual((await here()).texts)
    }
    expect(threads).toHaveLength(3)
    expect(logged).toHaveLength(2)
    expect(logged[1]).toContain('request chatcmpl-1')
  })

  test('keeps nobody waiting for the list', async () => {
    const { engine } = remote(script, { standsMs: 4 * STANDS_MS })
    await ask(engine)
    let over = false
    const stood = ask(engine, 'stand').catch((error: unknown) => {
      over = true
      return error
    })
    for (let i = 0; i < 5; i++) await engine.survey()
    expect(over).toBe(false)
    expect(engine.models).toMatchObject([{ id: 'test/small' }])
    expect(await stood).toMatchObject({ code: 'engine_stood' })
  })

  test('and is alone there is known although it says nothing', async () => {
    const { engine } = remote(script, { standsMs: STANDS_MS })
    await expect(ask(engine, 'stand without a word')).rejects.toMatchObject({ status: 500, code: 'engine_stood' })
  })

  test.each(['wait for good', 'stand in native code'])(
    'that nothing interrupts is given up, and another one answers: %s',
    async (prompt) => {
      const { engine, threads } = remote(script, { standsMs: STANDS_MS })
      await ask(engine)
      await expect(ask(engine, prompt)).rejects.toMatchObject({ status: 500, code: 'engine_stood' })
      expect((await ask(engine)).texts).toEqual((await here()).texts)
      expect(threads).toHaveLength(2)
    },
  )

  test('is another than one that is slow and goes on', async () => {
    const { engine, threads } = remote(script, { standsMs: STANDS_MS })
    expect((await ask(engine, `work for ${3 * STANDS_MS}`)).reasons).toEqual(['length'])
    expect(threads).toHaveLength(1)
  })
})

describe('where no thread can begin', () => {
  const inside = () => {
    const [port, far] = portPair()
    serveEngine(scripted({ models: { 'a/b': 'x' } }), far)
    return { port, gone: new Promise<unknown>(() => {}), end: () => {} }
  }
  const say = (engine: RemoteEngine) => collect(engine.generate(call({ model: 'a/b' })))

  test.each<[string, () => RemoteOptions['start']]>([
    [
      'it cannot be found',
      () => () => farThread(new Worker(join(folder, 'nothing.mjs')) as unknown as WorkerThread, silent),
    ],
    [
      'it is forbidden',
      () => () => {
        throw new Error('not allowed')
      },
    ],
  ])('because %s, what stands in for it has every request, and nobody hears of it', async (_, start) => {
    const causes: unknown[] = []
    const models = [{ id: 'a/b', ownedBy: 'a' }]
    const instead = (cause: unknown) => {
      causes.push(cause)
      return inside()
    }
    const { engine } = remote(script, { start: start(), lazily: true, models, instead })
    const answers = await Promise.all([say(engine), say(engine)])
    expect(answers.map(({ texts }) => texts)).toEqual([['x'], ['x']])
    expect((await say(engine)).texts).toEqual(['x'])
    expect(causes).toHaveLength(1)
  })
})

test('one that is begun lazily is begun with the first thing that is asked', async () => {
  const models = [{ id: 'test/small', ownedBy: 'test' }]
  const { engine, threads } = remote(script, { lazily: true, models })
  await engine.ready
  expect(engine.models).toEqual(models)
  expect(threads).toHaveLength(0)
  await ask(engine)
  expect(threads).toHaveLength(1)
})

test('who goes away without a word is left too', async () => {
  let freed = () => {}
  const over = new Promise<void>((resolve) => {
    freed = resolve
  })
  const far: Engine = {
    models: [],
    async *generate() {
      try {
        for (;;) yield { type: 'text-delta', choice: 0, text: 'tick' }
      } finally {
        freed()
      }
    },
  }
  const { port1, port2 } = new MessageChannel()
  serveEngine(far, portOf(port2))
  const engine = new RemoteEngine({
    start: () => ({ port: portOf(port1), gone: new Promise(() => {}), end: () => {} }),
  })
  await engine.generate(call()).next()
  port1.close()
  await over
})

test('a closed engine ends its thread and refuses', async () => {
  const { engine, threads } = remote()
  await ask(engine)
  const ended = new Promise((resolve) => threads[0]!.once('exit', resolve))
  await engine.close()
  await ended
  await expect(ask(engine)).rejects.toMatchObject({ status: 503, code: 'engine_closed' })
})

test('what has one result comes from the other side, and so does a refusal', async () => {
  const { port1, port2 } = new MessageChannel()
  const [near, far] = [port1, port2].map((port) => portOf(port as unknown as Parameters<typeof portOf>[0]))
  const behind = scripted({
    models: { 'a/b': 'x' },
    embed: (input) => Float32Array.of(input.length, 0.5),
    decide: () => [1, 3],
  })
  serveEngine({ ...behind, detokenize: undefined }, far!)
  const engine = new RemoteEngine({ start: () => ({ port: near!, gone: new Promise(() => {}), end: () => {} }) })
  onTestFinished(() => [port1, port2].forEach((port) => void port.close()))
  const request = { model: 'a/b', signal: new AbortController().signal }
  expect(await engine.embed({ ...request, id: 'embd-1', inputs: ['abc', [1, 2]] })).toEqual({
    vectors: [Float32Array.of(3, 0.5), Float32Array.of(2, 0.5)],
    promptTokens: 5,
  })
  const question = { type: 'predicate', instructions: 'So?', options: [{ text: 'Yes' }, { text: 'No' }] } as const
  const call = {
    ...request,
    id: 'dec-1',
    state: 'x',
    questions: [question],
    order: 'given',
    calibrated: false,
  } as const
  expect((await engine.decide(call)).answers).toEqual([{ probabilities: [0.25, 0.75] }])
  // What the other side does not point at is written.
  expect(await engine.point({ ...request, id: 'ext-1', text: 'x', questions: [] })).toBeUndefined()
  expect((await engine.tokenize({ ...request, prompt: 'hé' })).tokens).toEqual([104, 195, 169])
  await expect(engine.detokenize({ ...request, tokens: [104] })).rejects.toMatchObject({ status: 400, param: 'model' })
  await expect(engine.tokenize({ ...request, prompt: 'x', signal: AbortSignal.abort('left') })).rejects.toBe('left')
})

test('what is left is over only once the other side has noticed: else it would begin what nobody waits for', async () => {
  let freed = false
  const decide = async ({ signal }: DecideCall): Promise<Decided> => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await new Promise((resolve) => setTimeout(resolve, 20))
    freed = true
    throw signal.reason
  }
  const [near, far] = portPair()
  serveEngine({ ...scripted({ models: { 'a/b': 'x' } }), decide }, far)
  const engine = new RemoteEngine({ start: () => ({ port: near, gone: new Promise(() => {}), end: () => {} }) })
  const aborter = new AbortController()
  const call = { model: 'a/b', id: 'dec-1', state: 'x', questions: [], order: 'given', calibrated: false } as const
  const left = engine.decide({ ...call, signal: aborter.signal })
  setTimeout(() => aborter.abort('left'), 20)
  await expect(left).rejects.toBe('left')
  expect(freed).toBe(true)
})
