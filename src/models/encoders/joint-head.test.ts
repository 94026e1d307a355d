/** Clef's head alone: what is under it is the oracle's. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClefInput, clef, clefInputs, headScores } from '../../../test/oracles/encoders/clef.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import type { Batch, Device, Pass, Span } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { writeMade } from '../../engines/webgpu/made.test-helper.js'
import { openRepository } from '../files/open.js'
import { TensorLoader } from '../tensors.js'
import { made } from './clef.test-helper.js'
import { JointHead, loadJoint } from './joint-head.js'
import { cacheOfJoint, MOST_TOGETHER } from './joint-plan.js'
import { planEncoderLoad } from './load-encoder.js'

/** Of a score: what sums in f32 may lose. */
const BOUND = 3e-5
const ROWS = 128
const PAGES_OF_TEXT = 4

const weights = weightsOf(clef)
const inputs = clefInputs()
const rowsOf = new Map(inputs.map(({ tokens }, i) => [tokens, clef.rows(weights, inputs[i]!)]))
const truthOf = (input: ClefInput) => headScores(weights, rowsOf.get(input.tokens)!, input)
const furthest = (told: ArrayLike<number>, of: ArrayLike<number>) => {
  expect(told.length).toBe(of.length)
  return Array.from(of).reduce((most: number, value, i) => Math.max(most, Math.abs(value - told[i]!)), 0)
}

let folder: string
let device: Device
let head: JointHead
let loader: TensorLoader
let empty: Device['memory']
const spansOf = (texts: readonly ClefInput[]): Span[] =>
  texts.map(({ tokens }, i) => ({
    ...{ tokens: Int32Array.from(tokens), position: 0 },
    pages: Int32Array.from({ length: PAGES_OF_TEXT }, (_, page) => i * PAGES_OF_TEXT + page),
  }))

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-v1-'))
  const path = join(folder, 'clef.gguf')
  await writeMade(path, made())
  device = await openCpuDevice({ exact: true, threads: 1 })
  const options = { report: () => {}, signal: new AbortController().signal } as const
  const { weights: source } = await openRepository({ kind: 'folder', path }, options)
  const { body } = planEncoderLoad(source, device, { name: 'test/clef' })
  if (body.kind !== 'decoder' || !body.joint) throw new Error('This is no clef.')
  empty = device.memory
  const { planned } = body.joint
  loader = new TensorLoader(device, source)
  const own = await loadJoint(loader, planned, ROWS)
  await loader.close()
  const cache = device.cache({ ...cacheOfJoint(planned), pages: 3 * PAGES_OF_TEXT, type: 'f32' })
  loader.made.push(cache)
  const hidden = rowsOf.get(inputs[0]!.tokens)![0]!.length
  head = new JointHead(device, { weights: own, hidden, cache, embedding: own.words! }, ROWS)
})
afterAll(async () => {
  device.destroy()
  await rm(folder, { recursive: true })
})

/** What the head has of these texts. */
async function scored(texts: readonly ClefInput[]): Promise<Float32Array[]> {
  const rows = texts.flatMap(({ tokens }) => rowsOf.get(tokens)!)
  const columns = rows[0]!.length
  const hidden = device.activations(rows.length, columns)
  const spans = spansOf(texts)
  const pass = device.begin({ spans })
  pass.write(hidden, Float32Array.from(rows.flatMap((row) => [...row])))
  head.remember(pass, hidden)
  await pass.submit()
  const told = await head.scores(hidden, spans, texts)
  hidden.destroy()
  return told
}

describe('the head of clef', () => {
  it('scores options as in float64, texts side by side and each alone', async () => {
    const together = await scored(inputs)
    for (const [i, input] of inputs.entries()) {
      expect(furthest(together[i]!, truthOf(input))).toBeLessThan(BOUND)
      expect((await scored([input]))[0]).toEqual(together[i])
    }
  })

  it('scores each of more options than are read at a time', async () => {
    const [text] = inputs as [ClefInput]
    const [first, second] = text.fields as [ClefInput['fields'][number], ClefInput['fields'][number]]
    // However often the same is offered, it sums up as once.
    const once = { ...text, fields: [{ ...first, options: first.options.slice(0, 1) }, second] }
    const often = new Array(MOST_TOGETHER + 1).fill(first.options[0]!)
    const [told] = await scored([{ ...text, fields: [{ ...first, options: often }, second] }])
    const truth = truthOf(once)
    const expected = [...often.map(() => truth[0]!), ...truth.slice(1)]
    expect(furthest(told!, expected)).toBeLessThan(BOUND)
  })

  it('is rehearsed in passes that are those of a text, and of which none is run', async () => {
    const [text] = inputs as [ClefInput]
    const [begin, rehearsed] = followed(device.begin)
    const hidden = device.activations(ROWS, rowsOf.get(text.tokens)![0]!.length)
    const before = device.memory
    head.rehearse(begin, hidden, spansOf([text]))
    expect(rehearsed.every((pass) => !pass.includes('submit'))).toBe(true)
    const [real, ran] = followed(device.begin)
    const own = device.begin
    device.begin = real
    await scored([text])
    device.begin = own
    hidden.destroy()
    // The first is of what is under the head.
    const asked = new Set(ran.slice(1).map((pass) => pass.replace(/ submit$/, '')))
    expect(new Set(rehearsed)).toEqual(asked)
    expect(before.buffers).toBe(device.memory.buffers + 1)
  })

  it('gives back all that it took', () => {
    head.destroy()
    for (const one of loader.made) one.destroy()
    expect(device.memory).toEqual(empty)
  })
})

/** Begins passes as `begin` does, and tells of each what it was asked. */
function followed(begin: Device['begin']): [Device['begin'], string[]] {
  const told: string[] = []
  const follow = (batch: Batch): Pass => {
    const at = told.push('') - 1
    const pass = begin(batch)
    return new Proxy(pass, {
      get(_, name: keyof Pass) {
        const own = pass[name]
        if (typeof own !== 'function') return own
        return (...given: unknown[]) => {
          told[at] += ` ${name} ${(given[0] as { name?: string } | undefined)?.name ?? ''}`.trimEnd()
          return (own as (...given: unknown[]) => unknown).apply(pass, given)
        }
      },
    })
  }
  return [follow, told]
}
