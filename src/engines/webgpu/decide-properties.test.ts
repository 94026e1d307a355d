/**
 * What decides says the same bits in whatever order it is asked, beside whomever, with a state that was read before or not,
 * and on any number of threads; asked under all orders of the options, the one they came in changes nothing.
 */
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MARKS, minilm } from '../../../test/oracles/encoders/bert.js'
import { writeLaya } from '../../../test/oracles/encoders/laya.js'
import { llama } from '../../../test/oracles/families/llama.js'
import { qwen35 } from '../../../test/oracles/families/qwen3-5.js'
import { wordsTokenizer, writeEncoder } from '../../../test/oracles/files/repository.js'
import { Random } from '../../../test/oracles/random.js'
import { FULL, runs } from '../../../test/support/full.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { openWebGpuDevice } from '../../device/gpu/index.js'
import { createV1, type V1 } from '../../index.js'
import { made as clef } from '../../models/encoders/clef.test-helper.js'
import { made as d1Omni } from '../../models/encoders/d1-omni.test-helper.js'
import { describeRepository, openRepository } from '../../models/files/open.js'
import { WebGpuEngine } from './engine.js'
import { type MadeUp, writeMade } from './made.test-helper.js'
import { tinyRepository, writeRepository } from './tiny-repository.test-helper.js'

const STATE = 'I paid twice for one lamp.'
const LETTERED = `<s>{{ state }}{{ '\\n# ' }}{{ instructions }}{{ '\\n' }}{% for o in options %}{{ o.label }}. {{ o.key }}{{ '\\n' }}{% endfor %}</s>`
const POINTED =
  '<|fim_prefix|>{{ state }}<|fim_middle|>{{ instructions }}{% for o in options %}<|box_start|>{{ o.key }}<|box_end|>{% endfor %}<|fim_suffix|>'
const POINTS = ['<|fim_prefix|>', '<|fim_middle|>', '<|fim_suffix|>', '<|box_start|>', '<|box_end|>']

/** By labels of one token. */
const labelled: MadeUp = {
  ...{ of: llama, type: 'lev', template: LETTERED, texts: [LETTERED, STATE, 'A. B. C. D. E. F. G. H. I.'] },
  metadata: () => {},
}

/** By a head of its own, over layers that keep a state. */
function pointing(): MadeUp {
  const hidden = Number(qwen35.config.hidden_size)
  const random = new Random('pointing')
  const values = Float64Array.from({ length: 32 * hidden }, () => Math.fround(random.normal() / Math.sqrt(hidden)))
  return {
    ...{ of: qwen35, type: 'kev', template: POINTED, texts: [STATE, 'yes no'], controls: POINTS },
    metadata: (out) => out.u32(`${qwen35.gguf!.architecture}.embedding_length_out`, 32),
    tensors: [
      { name: 'cls.output.weight', dims: [hidden, 32], values },
      { name: 'cls.output.bias', dims: [32], values: new Float64Array(32) },
    ],
  }
}

interface Decider {
  readonly name: string
  /** Writes it somewhere beginning with this path, and says where. */
  write(path: string): Promise<string>
  /** What one answers hangs on the others. */
  readonly joint?: true
  /** It reads long options, and chats. */
  readonly whole?: true
  /** Without `LOCAL_V1_FULL` on a GPU in software, too. */
  readonly anywhere?: true
}

const file =
  (made: () => MadeUp) =>
  async (path: string): Promise<string> => {
    await writeMade(`${path}.gguf`, made())
    return `${path}.gguf`
  }
const folderOf =
  (write: (path: string) => Promise<void>) =>
  async (path: string): Promise<string> => {
    await write(path)
    return path
  }

const DECIDERS: readonly Decider[] = [
  {
    name: 'a decoder',
    write: folderOf((path) => writeRepository(tinyRepository(1, 1024), path)),
    whole: true,
    anywhere: true,
  },
  { name: 'a decoder made for it, by its letters', write: file(() => labelled) },
  { name: 'a decoder made for it, by its head', write: file(pointing) },
  { name: 'Laya', write: folderOf((path) => writeLaya(path)) },
  { name: 'd1-omni', write: file(d1Omni) },
  { name: 'clef', write: file(clef), joint: true },
]

const CPU = (threads: number) => ({
  name: `cpu, threads: ${threads}`,
  open: (): Promise<Device> => openCpuDevice({ threads }),
})
const GPU = (serial: boolean) => ({
  name: `webgpu, cut for ${serial ? 'software' : 'hardware'}`,
  open: async (): Promise<Device> => openWebGpuDevice({ gpu: await sharedGpu(), serial, half: false }),
})
/** The first says what the others must say. */
const KINDS = [
  { kind: 'cpu', devices: [CPU(1), CPU(3)] },
  { kind: 'a GPU in software', devices: [GPU(true)] },
  // What is cut for hardware takes minutes to compile there.
  ...(FULL ? [{ kind: 'a GPU', devices: [GPU(false)] }] : []),
]

type Endpoint = '/decisions' | '/systemone'
const ENDPOINTS: readonly Endpoint[] = ['/decisions', '/systemone']

interface Question {
  readonly name: string
  readonly type: 'predicate' | 'choice' | 'score'
  readonly instructions: string
  readonly options: readonly string[]
}

const question = (type: Question['type'], instructions: string, ...options: string[]): Question => {
  return { name: instructions.replace(/\W/g, ''), type, instructions, options }
}
const QUESTIONS = [
  question('predicate', 'Paid twice'),
  question('choice', 'Who?', 'sales', 'sales team', 'other', 'o'),
  question('score', 'How bad?', 'calm', 'so so', 'angry'),
  // More than a step has room for.
  ...Array.from({ length: 9 }, (_, i) => question('choice', `Is it ${i}?`, 'yes', 'no', 'no lamp')),
]
/** So long that it is read in pieces. */
const LONG = question('choice', 'Which text?', 'the old man and the sea. '.repeat(18), 'the old man', 'the sea')

type Answers = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** As either endpoint is asked, by name. */
function bodyOf(endpoint: Endpoint, state: string, questions: readonly Question[], more: object): object {
  if (endpoint === '/decisions') {
    const wireQuestions = questions.map(({ name, type, instructions, options }) => {
      if (type === 'choice') return { name, type, instructions, choices: options.map((value) => ({ value })) }
      if (type === 'score') return { name, type, instructions, levels: options.map((label) => ({ label })) }
      return { name, type, instructions }
    })
    return { input: state, questions: wireQuestions, ...more }
  }
  const wireQuestions = questions.map(({ name, type, instructions, options }) => {
    if (type === 'choice')
      return [name, { type, instructions, criteria: Object.fromEntries(options.map((each) => [each, null])) }]
    if (type === 'score') return [name, { type, instructions, criteria: options }]
    return [name, { type: 'noul', instructions }]
  })
  return { state, questions: Object.fromEntries(wireQuestions), ...more }
}

class Served {
  readonly v1: V1

  constructor(models: readonly { id: string; from: string }[], open: () => Promise<Device>) {
    const engine = new WebGpuEngine(
      { models, log: () => {} },
      {
        openDevice: open,
        openRepository: ({ location }, report, signal, check) => openRepository(location, { report, signal, check }),
        describe: ({ location }, signal) => describeRepository(location, { signal }),
      },
    )
    this.v1 = createV1({ engine, keys: 'none' })
  }

  async post(path: string, body: object) {
    const headers = { 'content-type': 'application/json' }
    const request = new Request(`http://localhost/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const response = await this.v1.fetch(request)
    const json = await response.json()
    expect(json.error, path).toBeUndefined()
    return json
  }

  async decide(endpoint: Endpoint, questions: readonly Question[], state = STATE, more: object = {}): Promise<Answers> {
    const { answers } = await this.post(endpoint, {
      model: 'test/decider',
      ...bodyOf(endpoint, state, questions, more),
    })
    if (endpoint === '/systemone') return answers
    return Object.fromEntries(questions.map(({ name }, i) => [name, answers[i]]))
  }
}

/** What else is asked at the same time, and of whom. */
type Company = 'chat' | 'embeddings' | 'decisions' | 'the same'

const OTHERS = [question('choice', 'Whose?', 'mine', 'yours'), question('predicate', 'It rains')]

function ask(served: Served, company: Company, model: string): Promise<unknown> {
  if (company === 'embeddings') return served.post('/embeddings', { model: 'test/vectors', input: ['w7 w9', 'w12'] })
  if (company === 'decisions') return served.decide('/decisions', OTHERS, 'The sea was grey.')
  if (company === 'the same') return served.decide('/systemone', QUESTIONS.slice(2, 5))
  const messages = [{ role: 'user', content: 'Hello' }]
  return served.post('/chat/completions', { model, messages, max_tokens: 12, n: 2, seed: 3 })
}

describe.each(DECIDERS)('decisions of $name', ({ write, joint, whole, anywhere }) => {
  const folder = ownFolder()
  let models: { id: string; from: string }[]
  beforeAll(async () => {
    await writeRepository(tinyRepository(), join(folder, 'chat'))
    await writeEncoder(minilm, join(folder, 'vectors'), wordsTokenizer(minilm, MARKS))
    models = [
      { id: 'test/decider', from: await write(join(folder, 'decider')) },
      { id: 'test/chat', from: join(folder, 'chat') },
      { id: 'test/vectors', from: join(folder, 'vectors') },
    ]
  })

  describe.each(KINDS.filter(({ kind }) => kind === 'cpu' || anywhere || FULL))('on $kind', ({ kind, devices }) => {
    const few = kind !== 'cpu' && !whole && !FULL
    const all = whole ? [...QUESTIONS, LONG] : QUESTIONS.slice(0, few ? 4 : undefined)
    // Another model's kernels take long to compile in software: beside one of them is enough.
    const others: readonly Company[] = whole && !FULL ? ['chat'] : whole ? ['chat', 'embeddings'] : []
    const beside: readonly Company[] =
      kind === 'cpu' ? ['chat', 'embeddings', 'decisions', 'the same'] : [...others, 'decisions', 'the same']
    const served: Served[] = []
    beforeAll(() => {
      served.push(...devices.map(({ open }) => new Served(models, open)))
    })
    afterAll(() => Promise.all(served.map(({ v1 }) => v1.close())))

    it('are the same bits in any order, beside whomever, and whatever was read before', async () => {
      const [first] = served as [Served]
      const alone = new Map<Endpoint, Answers>()
      for (const endpoint of ENDPOINTS) {
        const each = joint ? [all] : all.map((one) => [one])
        const answers: Answers[] = []
        for (const questions of each) answers.push(await first.decide(endpoint, questions))
        alone.set(endpoint, Object.assign({}, ...answers))
      }
      await fc.assert(
        fc.asyncProperty(
          joint ? fc.constant(all) : fc.shuffledSubarray([...all], { minLength: 3 }),
          fc.constantFrom(...served),
          fc.constantFrom(...ENDPOINTS),
          fc.uniqueArray(fc.constantFrom(...beside), { maxLength: 3 }),
          fc.integer({ min: 0, max: 3 }),
          async (questions, to, endpoint, company, between) => {
            const wanted = Object.fromEntries(questions.map(({ name }) => [name, alone.get(endpoint)![name]]))
            for (let times = 0; times < 2; times++) {
              for (let i = 0; i < between; i++) await to.decide(endpoint, OTHERS, `Another state, ${i}.`)
              const others = company.map((each) => ask(to, each, whole ? 'test/decider' : 'test/chat'))
              expect(await to.decide(endpoint, questions)).toEqual(wanted)
              await Promise.all(others)
            }
          },
        ),
        { numRuns: kind === 'cpu' ? runs(8) : 2 },
      )
    }, 600_000)

    it('averaged over the orders of options do not hang on the one that these came in', async () => {
      const { name, type, instructions, options } = QUESTIONS[1]!
      const shares = async (to: Served, endpoint: Endpoint, order: readonly string[]) => {
        const answers = await to.decide(endpoint, [{ name, type, instructions, options: order }], STATE, {
          order: 'average',
        })
        const probabilities = answers[name]!.probabilities as
          | Record<string, number>
          | { readonly value: string; readonly probability: number }[]
        return new Map(
          Array.isArray(probabilities)
            ? probabilities.map(({ value, probability }) => [value, probability])
            : Object.entries(probabilities),
        )
      }
      const given = await shares(served[0]!, '/decisions', options)
      expect(given.size).toBe(options.length)
      await fc.assert(
        fc.asyncProperty(
          fc.shuffledSubarray([...options], { minLength: options.length }),
          fc.constantFrom(...served),
          fc.constantFrom(...ENDPOINTS),
          async (order, to, endpoint) => {
            for (let times = 0; times < 2; times++) {
              for (const [option, share] of await shares(to, endpoint, order)) {
                expect(Math.abs(given.get(option)! - share)).toBeLessThan(1e-6)
              }
            }
          },
        ),
        { numRuns: kind === 'cpu' ? runs(8) : 2 },
      )
    }, 600_000)
  })
})
