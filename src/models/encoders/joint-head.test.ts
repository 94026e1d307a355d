/** Clef's head alone, on made-up rows. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type ClefInput, clef, clefInputs, headGguf, headScores } from '../../../test/oracles/encoders/clef.js'
import { Random } from '../../../test/oracles/random.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { type Batch, type Device, PAGE, type Pass, type Span } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import type { RawTensor, WeightSource } from '../files/source.js'
import { TensorLoader } from '../tensors.js'
import { JointHead, type JointParts, loadJoint } from './joint-head.js'
import { cacheOfJoint, MOST_TOGETHER, planJoint } from './joint-plan.js'

/** Of a score: what sums in f32 may lose. */
const BOUND = 3e-5
const ROWS = 128
const PAGES_OF_TEXT = 4

const weights = weightsOf(clef)
const inputs = clefInputs()
const hidden = weights('hidden_norm.weight').length
const random = new Random('rows under a head')
const madeUp = (tokens: readonly number[]) =>
  tokens.map(() => Float64Array.from({ length: hidden }, () => random.normal()))
const rowsOf = new Map(inputs.map(({ tokens }) => [tokens, madeUp(tokens)]))
const truthOf = (input: ClefInput) => headScores(weights, rowsOf.get(input.tokens)!, input)
const furthest = (actual: ArrayLike<number>, of: ArrayLike<number>) => {
  expect(actual.length).toBe(of.length)
  return Array.from(of).reduce((most: number, value, i) => Math.max(most, Math.abs(value - actual[i]!)), 0)
}

/** The head's tensors, as its file has them. */
function headSource(): WeightSource {
  const tensors = new Map(
    headGguf(weights).map(({ name, dims, values }): [string, RawTensor] => {
      const data = new Uint8Array(Float32Array.from(values).buffer)
      return [name, { name, shape: dims.toReversed(), dtype: 'f32', data }]
    }),
  )
  return {
    ...{ naming: 'gguf', chatConfig: {}, digest: '', names: [...tensors.keys()] },
    has: (name) => tensors.has(name),
    describe: (name) => tensors.get(name)!,
    read: async (name) => tensors.get(name)!,
  }
}

let device: Device
let head: JointHead
let parts: JointParts
let loader: TensorLoader
let empty: Device['memory']
const spansOf = (texts: readonly ClefInput[]): Span[] =>
  texts.map(({ tokens }, i) => ({
    ...{ tokens: Int32Array.from(tokens), position: 0 },
    pages: Int32Array.from({ length: PAGES_OF_TEXT }, (_, page) => i * PAGES_OF_TEXT + page),
  }))

beforeAll(async () => {
  device = await openCpuDevice({ exact: true, threads: 1 })
  const source = headSource()
  const model = { hidden, vocabulary: clef.config.vocab_size }
  const { planned } = planJoint(source, clef.head, model, 'test/clef')
  empty = device.memory
  loader = new TensorLoader(device, source)
  const own = await loadJoint(loader, planned, ROWS)
  await loader.close()
  const cache = device.cache({ ...cacheOfJoint(planned), pages: 3 * PAGES_OF_TEXT, type: 'f32' })
  loader.made.push(cache)
  const { vocabulary: rows } = model
  const data = new Uint8Array(rows * hidden * 4)
  // It has words of its own: what its model says of them is not asked.
  const embedding = device.matrix({ format: 'f32', rows, columns: hidden, data })
  loader.made.push(embedding)
  parts = { weights: own, hidden, cache, embedding }
  head = new JointHead(device, parts, ROWS)
})
afterAll(() => device.destroy())

/** What the head has of these texts. */
async function scored(texts: readonly ClefInput[], by = head): Promise<Float32Array[]> {
  const rows = texts.flatMap(({ tokens }) => rowsOf.get(tokens)!)
  const given = device.activations(rows.length, hidden)
  const spans = spansOf(texts)
  const pass = device.begin({ spans })
  pass.write(given, Float32Array.from(rows.flatMap((row) => [...row])))
  by.remember(pass, given)
  await pass.submit()
  const reply = await by.scores(given, spans, texts)
  given.destroy()
  return reply
}

describe('the head of clef', () => {
  it('scores options as in float64, texts side by side and each alone', async () => {
    const together = await scored(inputs)
    for (const [i, input] of inputs.entries()) {
      expect(furthest(together[i]!, truthOf(input))).toBeLessThan(BOUND)
      expect((await scored([input]))[0]).toEqual(together[i])
    }
  })

  it('reads what its model says of words, where it has none of its own', async () => {
    const { words, ...weights } = parts.weights
    const other = new JointHead(device, { ...parts, weights, embedding: words! }, ROWS)
    expect(await scored(inputs, other)).toEqual(await scored(inputs))
    other.destroy()
  })

  it('takes more questions than a page has, each for the kind that it is', async () => {
    // Three, so that the first of another page is another question.
    const text = inputs.at(-1)!
    const { length } = text.fields
    const fields = Array.from({ length: PAGE + 1 }, (_, i) => {
      return { ...text.fields[i % length]!, kind: text.fields[(i + 1) % length]!.kind }
    })
    // And goes on behind the last of them.
    const tokens = [...text.tokens, 301, 302]
    rowsOf.set(tokens, madeUp(tokens))
    const [scores] = await scored([{ tokens, fields }])
    expect(furthest(scores!, truthOf({ tokens, fields }))).toBeLessThan(BOUND)
  })

  it('scores each of more options than are read at a time', async () => {
    const [text] = inputs as [ClefInput]
    const [first, second] = text.fields as [ClefInput['fields'][number], ClefInput['fields'][number]]
    // However often the same is offered, it sums up as once.
    const once = { ...text, fields: [{ ...first, options: first.options.slice(0, 1) }, second] }
    const often = new Array(MOST_TOGETHER + 1).fill(first.options[0]!)
    const [scores] = await scored([{ ...text, fields: [{ ...first, options: often }, second] }])
    const truth = truthOf(once)
    const expected = [...often.map(() => truth[0]!), ...truth.slice(1)]
    expect(furthest(scores!, expected)).toBeLessThan(BOUND)
  })

  it('has no score for a text of which nothing is asked, beside others', async () => {
    const [text, other] = inputs as [ClefInput, ClefInput]
    const reply = await scored([text, { tokens: other.tokens } as ClefInput, text])
    const alone = (await scored([text]))[0]!
    expect(reply).toEqual([alone, new Float32Array(), alone])
  })

  it('norms a text once, and once more for each layer of options', async () => {
    const [text] = inputs as [ClefInput]
    const [begin, ran] = followed(device.begin)
    const given = device.activations(ROWS, hidden)
    const pass = begin({ spans: spansOf([text]) })
    head.remember(pass, given)
    await pass.submit()
    given.destroy()
    expect(ran[0]!.match(/addNorm/g)).toHaveLength(1 + clef.head.routing)
  })

  it('is rehearsed in passes that are those of a text, and of which none is run', async () => {
    const [text] = inputs as [ClefInput]
    const [begin, rehearsed] = followed(device.begin)
    const given = device.activations(ROWS, hidden)
    const before = device.memory
    head.rehearse(begin, given, spansOf([text]))
    expect(rehearsed.every((pass) => !pass.includes('submit'))).toBe(true)
    const [real, ran] = followed(device.begin)
    const own = device.begin
    device.begin = real
    await scored([text])
    device.begin = own
    given.destroy()
    // The first is of what is under the head.
    const performed = new Set(ran.slice(1).map((pass) => pass.replace(/ submit$/, '')))
    expect(new Set(rehearsed)).toEqual(performed)
    expect(before.buffers).toBe(device.memory.buffers + 1)
  })

  it('has room for all that is taken together, in full, and for no more', () => {
    const { still } = parts.weights
    expect(still.length).toBe(Math.max(ROWS, MOST_TOGETHER) * parts.cache.shape.headSize)
    const made = vi.spyOn(device, 'cache')
    new JointHead(device, parts, ROWS).destroy()
    const own = { ...parts.cache.shape, layers: 1, pages: MOST_TOGETHER / PAGE, type: 'f32' }
    expect(made.mock.calls).toEqual([[own]])
    made.mockRestore()
  })

  it('gives back all that it took', () => {
    head.destroy()
    for (const one of loader.made) one.destroy()
    expect(device.memory).toEqual(empty)
  })
})

/** Begins passes as `begin` does, and tells of each what it was asked. */
function followed(begin: Device['begin']): [Device['begin'], string[]] {
  const reported: string[] = []
  const follow = (batch: Batch): Pass => {
    const at = reported.push('') - 1
    const pass = begin(batch)
    expect(pass.rows).toBeGreaterThan(0)
    for (const { pages } of batch.spans) expect(Math.max(...pages)).toBeLessThan(3 * PAGES_OF_TEXT)
    return new Proxy(pass, {
      get(_, name: keyof Pass) {
        const own = pass[name]
        if (typeof own !== 'function') return own
        return (...given: unknown[]) => {
          reported[at] += ` ${name} ${(given[0] as { name?: string } | undefined)?.name ?? ''}`.trimEnd()
          return (own as (...given: unknown[]) => unknown).apply(pass, given)
        }
      },
    })
  }
  return [follow, reported]
}
