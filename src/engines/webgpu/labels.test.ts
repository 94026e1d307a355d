/** Decoders that were made for decisions, as llama.cpp reads them: asked by their own template, told as float64 has it. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { llama } from '../../../test/oracles/families/llama.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Tokenizer } from '../../generate/tokenizer/tokenizer.js'
import { createV1, type V1 } from '../../index.js'
import { openRepository } from '../../models/files/open.js'
import { webgpu } from './index.js'
import { asking, softmax, tokenizerOf, writeMade } from './made.test-helper.js'

const STATE = 'I paid twice for one  lamp.'

const DESCRIBED = '{{ o.key }}{% if o.description %}: {{ o.description }}{% endif %}'
const LINES = `${DESCRIBED}{{ '\\n' }}{% endfor %}{% endif %}</s>`
const BEGIN = `<s>{{ state }}{{ '\\n# ' }}{{ instructions }}{{ '\\n' }}{% if type == 'noul' and scale %}0 to 8{% for o in options %}{% if o.description %} ${DESCRIBED}{% endif %}{% endfor %}{% else %}`
/** Their own words: a scale for statements, and labels that the model is told; or letters that the template knows. */
const TEMPLATES = {
  lev: `{% set scale = true %}${BEGIN}{% for o in options %}{{ o.label }}. ${LINES}`,
  openjev: `{% set scale = false %}${BEGIN}{% for o in options %}{{ 'ABCDEFGHIJ'[loop.index0] }}. ${LINES}`,
} as const
type Type = keyof typeof TEMPLATES
const TEMPERATURES = {
  lev: { 'choice.small': 1.5, 'choice.mid': 3, noul: 0.8, score: 1.25 },
  openjev: { 'choice.2': 2, 'choice.3_5': 1.5, choice: 4, noul: 0.8, 'score.3_5': 1.25 },
} as const

const written = (path: string, type: string, template: string | undefined, metadata: (out: Metadata) => void) =>
  writeMade(path, { of: llama, type, template, texts: [...Object.values(TEMPLATES), STATE], metadata })

const folder = ownFolder()
let tokenizer: Tokenizer
beforeAll(async () => {
  for (const type of ['lev', 'openjev'] as const) {
    // As converters write them: numbers, or texts.
    await written(join(folder, `${type}.gguf`), type, TEMPLATES[type], (out) => {
      for (const [name, value] of Object.entries(TEMPERATURES[type])) {
        if (type === 'lev') out.float(`llama.decision.temperature.${name}`, value)
        else out.text(`llama.decision.temperature.${name}`, value.toFixed(6))
      }
    })
  }
  tokenizer = await tokenizerOf(join(folder, 'lev.gguf'))
})

/** What float64 makes of the labels behind a prompt. */
function shares(prompt: string, labels: readonly string[], temperature: number): number[] {
  const reference = llama.reference(weightsOf(llama))
  const logits = tokenizer
    .encode(prompt)
    .map((token) => reference.step(token))
    .at(-1)!
  return softmax(labels.map((label) => logits[tokenizer.idOf(label)!]! / temperature))
}

const LETTERS = [...'ABCDEFGHI']
const lined = (lines: readonly string[]) => lines.map((line, i) => `${LETTERS[i]}. ${line}\n`).join('')
const promptOf = (instructions: string, rest: string) => `<s>${STATE}\n# ${instructions}\n${rest}</s>`
const near = (actual: number, truth: number) => expect(Math.abs(actual - truth)).toBeLessThan(1e-4)

describe.each(['lev', 'openjev'] as const)('a decoder of the type %s', (type: Type) => {
  let v1: V1
  beforeAll(() => {
    const models = [{ id: 'test/model', from: join(folder, `${type}.gguf`) }]
    v1 = createV1({ engine: webgpu({ models, device: 'cpu', threads: 1, worker: false, log: () => {} }), keys: 'none' })
  })
  afterAll(() => v1.close())

  const ask = asking(() => v1, STATE)

  const lines = ['billing: money', 'sales', 'other']
  const choice = { type: 'choice', instructions: 'Who?', criteria: { billing: 'money', sales: null, other: null } }

  it('answers a choice by its letters, at its temperature', async () => {
    const { status, body } = await ask({ team: choice })
    expect(status).toBe(200)
    const probabilities = Object.values(body.answers.team.probabilities) as number[]
    const given = shares(promptOf('Who?', lined(lines)), LETTERS.slice(0, 3), 1.5)
    const turned = shares(promptOf('Who?', lined([...lines].reverse())), LETTERS.slice(0, 3), 1.5).reverse()
    const truth = type === 'lev' ? given.map((share, i) => (share + turned[i]!) / 2) : given
    for (const [i, share] of truth.entries()) near(probabilities[i]!, share)
    // What is usually wrong shows: no temperature, the other number of orders, letters one further on.
    const plain = shares(promptOf('Who?', lined(lines)), LETTERS.slice(0, 3), 1)
    const further = shares(promptOf('Who?', lined(lines)), LETTERS.slice(1, 4), 1.5)
    const other = type === 'lev' ? given : given.map((share, i) => (share + turned[i]!) / 2)
    for (const wrong of [plain, further, other]) {
      expect(Math.max(...probabilities.map((share, i) => Math.abs(share - wrong[i]!)))).toBeGreaterThan(1e-2)
    }
  })

  it('answers a statement and a score', async () => {
    const { body } = await ask({
      twice: { type: 'noul', instructions: 'Paid twice', criteria: { true: 'yes it is' } },
      bad: { type: 'score', instructions: 'How bad?', criteria: ['calm', 'so so', 'angry'] },
    })
    const levels = lined(['0: calm', '1: so so', '2: angry'])
    const bad = shares(promptOf('How bad?', levels), LETTERS.slice(0, 3), 1.25)
    const probabilities = Object.values(body.answers.bad.probabilities) as number[]
    for (const [i, share] of bad.entries()) near(probabilities[i]!, share)
    const ratings = promptOf('Paid twice', '0 to 8 true: yes it is')
    const pair = promptOf('Paid twice', lined(['true: yes it is', 'false']))
    const truth =
      type === 'lev'
        ? shares(ratings, LETTERS, 0.8).reduce((sum, share, i) => sum + (share * i) / 8, 0)
        : shares(pair, ['A', 'B'], 0.8)[0]!
    near(body.answers.twice.noul, truth)
    const digits = type === 'lev' ? shares(ratings, [...'012345678'], 0.8) : shares(pair, ['B', 'A'], 0.8)
    const wrong = type === 'lev' ? digits.reduce((sum, share, i) => sum + (share * i) / 8, 0) : digits[0]!
    expect(Math.abs(body.answers.twice.noul - wrong)).toBeGreaterThan(1e-2)
  })

  it('answers the same whatever else is asked, and in OpenAI\u2019s form', async () => {
    const alone = await ask({ team: choice })
    const beside = { type: 'noul', instructions: 'It rains.' }
    const both = await ask({ one: beside, team: choice, two: { ...choice, instructions: 'Whose lamp?' } })
    expect(both.body.answers.team).toEqual(alone.body.answers.team)
    const choices = [{ value: 'billing', description: 'money' }, { value: 'sales' }, { value: 'other' }]
    const question = { type: 'choice', instructions: 'Who?', choices }
    const openAi = await ask([question], {}, '/decisions')
    const probabilities = openAi.body.answers[0].probabilities.map(
      ({ probability }: { probability: number }) => probability,
    )
    expect(probabilities).toEqual(Object.values(alone.body.answers.team.probabilities))
    // Its makers have calibrated it.
    expect((await ask([question], { calibrated: true }, '/decisions')).body.answers).toEqual(openAi.body.answers)
    const turned = { ...question, choices: [...choices].reverse() }
    const [given, averaged] = [
      await ask([question], { order: 'average' }, '/decisions'),
      await ask([turned], { order: 'average' }, '/decisions'),
    ]
    const byValue = ({ body }: typeof given) =>
      new Map<string, number>(
        body.answers[0].probabilities.map((one: { value: string; probability: number }) => [
          one.value,
          one.probability,
        ]),
      )
    for (const [value, share] of byValue(given)) {
      expect(Math.abs(byValue(averaged).get(value)! - share)).toBeLessThan(1e-6)
    }
  })

  it('says nothing that is spelled as a control token, and refuses what it cannot tell apart', async () => {
    const criteria = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`o${i}`, null]))
    const answered = await ask({ q: { ...choice, instructions: 'Who?</s><s>' } })
    const truth = shares(promptOf('Who?', lined(lines)), LETTERS.slice(0, 3), 1.5)
    expect(answered.status).toBe(200)
    expect(Object.values(answered.body.answers.q.probabilities)).not.toEqual(truth)
    const refused = await ask({ q: { ...choice, criteria: criteria(255) } })
    expect(refused.status).toBe(400)
    expect(refused.body.error.message).toMatch(/supports at most \d+ options, not 255/)
  })
})

describe('a GGUF file', () => {
  const opened = (path: string) =>
    openRepository({ kind: 'folder', path }, { report: () => {}, signal: new AbortController().signal })

  it.each([
    ['that nobody knows how to ask', 'lev', undefined, () => {}, /does not say how it is asked/],
    [
      'with a temperature that is none',
      'lev',
      'x',
      (out) => out.text('llama.decision.temperature.noul', '-1'),
      /temperature.noul is -1/,
    ],
    [
      'with more than is known',
      'lev',
      'x',
      (out) => out.u32('llama.decision.pointer', 1),
      /decision.pointer is not known/,
    ],
    ['of a type that is not run', 'clef', 'x', () => {}, /type "clef" over llama .* cannot be run/],
  ] as [string, string, string | undefined, (out: Metadata) => void, RegExp][])(
    '%s is refused by name',
    async (_, type, template, metadata, message) => {
      const path = join(folder, 'odd.gguf')
      await written(path, type, template, metadata)
      await expect(opened(path)).rejects.toThrow(message)
    },
  )
})
