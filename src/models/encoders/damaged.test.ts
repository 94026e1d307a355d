/** Files of models that decide, of which one thing is wrong: what it is, is named before weights are read. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { writeMade } from '../../engines/webgpu/made.test-helper.js'
import { takeMade } from '../files/formats/gguf/decision.js'
import { vectorForm } from '../files/formats/gguf/encoder.js'
import { openRepository } from '../files/open.js'
import type { WeightOutline } from '../files/source.js'
import { made as madeClef } from './clef.test-helper.js'
import { made as madeOmni } from './d1-omni.test-helper.js'
import { planEncoderLoad } from './load-encoder.js'

const folder = ownFolder()
let device: Device
beforeAll(async () => {
  device = await openCpuDevice({ threads: 1 })
})
afterAll(() => device.destroy())

describe.each([
  ['clef', madeClef, /^(decision|dec|token_types)\./],
  ['d1-omni', madeOmni, /^(type_emb|head|scorer)\./],
] as const)('the head of %s', (name, made, head) => {
  let whole: WeightOutline
  let tensors: readonly string[]
  beforeAll(async () => {
    const path = join(folder, `${name}.gguf`)
    await writeMade(path, made())
    const options = { report: () => {}, signal: new AbortController().signal } as const
    const { weights } = await openRepository({ kind: 'folder', path }, options)
    whole = weights
    tensors = whole.names.filter((each) => head.test(each))
    expect(tensors.length).toBeGreaterThan(20)
  })
  /** What is said of it; nothing: it would be loaded. */
  const saidOf = (own: Partial<WeightOutline>) => {
    try {
      planEncoderLoad({ ...whole, describe: (each) => whole.describe(each), ...own }, device)
      return ''
    } catch (error) {
      return String(error)
    }
  }

  it('is named by the tensor that it lacks', () => {
    for (const lost of tensors)
      expect(saidOf({ names: whole.names.filter((each) => each !== lost) })).toContain(`no tensor ${lost}.`)
  })

  it('is named by the tensor of another shape', () => {
    for (const odd of tensors) {
      const describe: WeightOutline['describe'] = (each) => {
        const { shape, ...rest } = whole.describe(each)
        return { ...rest, shape: each === odd ? [...shape.slice(0, -1), shape.at(-1)! + 8] : shape }
      }
      expect(saidOf({ describe })).toContain(`Tensor ${odd} is `)
    }
  })

  it('is named by the tensor that it has no use for', () => {
    const strange = tensors[0]!.replace(/[^.]+$/, 'strange')
    const describe: WeightOutline['describe'] = (each) => whole.describe(each === strange ? tensors[0]! : each)
    expect(saidOf({ names: [...whole.names, strange], describe })).toContain(`${strange} would not be used`)
  })
})

const COUNTED = { 'decision.block_count': 2 }
const TYPES = {
  laya: { model_type: 'modern-bert', block_count: 4, ...COUNTED, 'decision.max_head_tokens': 192 },
  'lfm2-d1-omni': { model_type: 'lfm2', block_count: 4, ...COUNTED },
  clef: { model_type: 'clef', block_count: 4, ...COUNTED, 'decision.routing_block_count': 2, 'decision.head_count': 2 },
}

describe.each(Object.entries(TYPES))('what a file says of %s', (type, own) => {
  const form = (more: object, template: unknown = 'x') =>
    vectorForm('a.gguf', { 'decision.type': type, ...own, ...more }, template)

  it('is named by the key whose value is none', () => {
    expect(form({})).toMatchObject({ decision: { type } })
    const counts = Object.keys(own).filter((key) => key.startsWith('decision.'))
    for (const key of counts)
      for (const value of [0, -1, 1.5, '2', null, undefined, [2], Number.NaN])
        expect(() => form({ [key]: value })).toThrow(key)
    for (const value of [0, -1, 'warm', Number.POSITIVE_INFINITY, null])
      expect(() => form({ 'decision.temperature.noul': value })).toThrow('decision.temperature.noul')
    for (const key of ['decision.temperature.choice.7', 'decision.pointer'])
      expect(() => form({ [key]: 1 })).toThrow(`${key} is not known`)
    expect(() => form({}, null)).toThrow('tokenizer.chat_template.systemone')
    for (const value of ['unheard-of', 7, null])
      expect(() => form({ 'decision.type': value })).toThrow(`${own.model_type}.decision.type`)
  })
})

describe('what a file says of kev', () => {
  const made = (more: object, template: unknown = 'x') =>
    takeMade('a.gguf', { 'decision.type': 'kev', model_type: 'llama', embedding_length_out: 64, ...more }, template)

  it('is named by the key whose value is none', () => {
    expect(made({})).toMatchObject({ made: { type: 'kev' }, rowLength: 64 })
    for (const value of [0, -2, 63, 1.5, '64', null, undefined])
      expect(() => made({ embedding_length_out: value })).toThrow('embedding_length_out')
    expect(() => made({ 'decision.temperature.noul': 0 })).toThrow('decision.temperature.noul is 0')
    expect(() => made({ 'decision.block_count': 2 })).toThrow('decision.block_count is not known')
    expect(() => made({}, null)).toThrow('tokenizer.chat_template.systemone')
  })
})
