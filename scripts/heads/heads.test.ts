import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { ownFolder } from '../../test/support/own-folder.js'
import { damagedModels, FORMATS, randomOf } from './damage.js'
import { DECIDING, damagedDeciders } from './decisions.js'
import { type Device, type Outcome, tryModel } from './try.js'

let device: Device
beforeAll(async () => {
  device = await openCpuDevice({ threads: 1 })
})
afterAll(() => device.destroy())

describe('damaged heads', () => {
  it.each(FORMATS)('of %s are read or refused by name, none that overlaps', async (format) => {
    const make = (await damagedModels())[format]
    const outcomes: Outcome[] = []
    for (let seed = 0; seed < 150; seed++) {
      const outcome = await tryModel(make(randomOf(seed)), device)
      expect(outcome.fault, `${format} ${seed}`).toBeUndefined()
      outcomes.push(outcome)
    }
    // Else nothing was damaged, or everything beyond recognition.
    expect(outcomes.some(({ refusal }) => refusal === undefined)).toBe(true)
    expect(outcomes.some(({ refusal }) => refusal?.includes('share bytes'))).toBe(true)
  })
})

describe('damaged heads of models that decide', () => {
  const folder = ownFolder()

  it.each(DECIDING)('are read, and asked up to where they would compute, or refused by name: %s', async (format) => {
    const make = (await damagedDeciders(folder))[format]
    const refusals: (string | undefined)[] = []
    for (let seed = 0; seed < 120; seed++) {
      const { refusal, fault } = await tryModel(make(randomOf(seed)), device)
      expect(fault, `${format} ${seed}`).toBeUndefined()
      refusals.push(refusal)
    }
    expect(refusals).toContain(undefined)
    expect(new Set(refusals).size).toBeGreaterThan(20)
  })
})

describe('a number that nothing bears out is refused before it is walked', () => {
  type Json = Record<string, unknown>
  const refusal = async (name: string, change: (json: Json) => void) => {
    const { files } = tinyRepository()
    const json = JSON.parse(new TextDecoder().decode(files.get(name)!)) as Json
    change(json)
    const given = new Map([...files].map(([each, bytes]) => [each, new Blob([new Uint8Array(bytes)])]))
    given.set(name, new Blob([JSON.stringify(json)]))
    const { refusal, fault } = await tryModel({ what: name, files: given, overlaps: false }, device)
    expect(fault).toBeUndefined()
    return refusal
  }

  it('layers', async () => {
    const change = (json: Json) => Object.assign(json.model_config as Json, { num_hidden_layers: 1e9 })
    expect(await refusal('mlc-chat-config.json', change)).toMatch(/num_hidden_layers = 1000000000 with \d+ tensors/)
  })
  it('the id of a token', async () => {
    const change = (json: Json) => Object.assign((json.added_tokens as Json[])[0]!, { id: 1e9 })
    expect(await refusal('tokenizer.json', change)).toMatch(/<\|endoftext\|>.* has the id 1000000000/)
  })
  it.each([
    ['(a)\\1', 'the back-reference \\1'],
    ['(?<=a(?=b))', 'a lookahead within a lookbehind'],
    ['(?<=a)|(?<=b)|(?<=c)|(?<=d)|(?<=e)', 'more than 4 different lookbehinds'],
    ['a{2,5000}', 'more than 1000 states'],
    ['((){9000}){9000}', 'repeats to more than 20000 parts'],
    ['a'.repeat(6000), 'one of its patterns has 6000 characters'],
  ])('a pattern that cannot be run in a time that grows with the text alone: %.60s', async (Regex, why) => {
    const split = { type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false }
    const change = (json: Json) => Object.assign(json, { pre_tokenizer: { type: 'Sequence', pretokenizers: [split] } })
    expect(await refusal('tokenizer.json', change)).toContain(why)
  })
  it('how much longer a text becomes', async () => {
    const double = { type: 'Replace', pattern: { String: 'a' }, content: 'aa' }
    const change = (json: Json) =>
      Object.assign(json, { normalizer: { type: 'Sequence', normalizers: Array(40).fill(double) } })
    expect(await refusal('tokenizer.json', change)).toMatch(/normalizer would make texts \d+ times as long/)
  })
})
