/** Clef over the whole service: how it is asked, and what it refuses. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLEF_KINDS, type ClefInput, clef } from '../../../test/oracles/encoders/clef.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { webgpu } from '../../engines/webgpu/index.js'
import { asking, expectNear, serveMade, softmax, writeMade } from '../../engines/webgpu/made.test-helper.js'
import type { Tokenizer } from '../../generate/tokenizer/tokenizer.js'
import { createV1, type V1 } from '../../index.js'
import { made, STATE } from './clef.test-helper.js'

const weights = weightsOf(clef)

interface ClefQuestion {
  readonly id: string
  readonly kind: (typeof CLEF_KINDS)[number]
  readonly instructions: string
  /** In the order in which they stand in the text. */
  readonly options: readonly object[]
}

describe('clef in the service', () => {
  let v1: V1
  let tokenizer: Tokenizer
  const folder = ownFolder()
  beforeAll(async () => {
    const served = await serveMade(join(folder, 'clef.gguf'), made())
    v1 = served.v1
    tokenizer = served.tokenizer
  })
  afterAll(() => v1.close())
  const ask = asking(() => v1, STATE)
  const WHO = {
    type: 'choice',
    instructions: 'Who?',
    criteria: { sales: null, billing: 'money', é: null, Other: null },
  }
  const TWICE = { type: 'noul', instructions: 'Paid twice', criteria: { true: 'yes it is' } }
  const BAD = { type: 'score', instructions: 'How bad?', criteria: ['calm', 'angry'] }
  const option = (key: string, description?: string) => ({ ...(description && { description }), option_id: key })
  const who: ClefQuestion = {
    ...{ id: 'team', kind: 'choice', instructions: 'Who?' },
    options: [option('Other'), option('billing', 'money'), option('sales'), option('é')],
  }
  const twice: ClefQuestion = {
    ...{ id: 'twice', kind: 'noul', instructions: 'Paid twice' },
    options: [option('true', 'yes it is'), option('false')],
  }
  const bad = (...levels: string[]): ClefQuestion => ({
    ...{ id: 'bad', kind: 'score', instructions: 'How bad?' },
    options: levels.map((level, i) => option(String(i), level)),
  })

  /** Pieces by themselves: no token reaches over their borders. */
  function textOf(questions: readonly ClefQuestion[]): ClefInput {
    const tokens: number[] = []
    const put = (text: string) => {
      const from = tokens.length
      tokens.push(...tokenizer.encode(text))
      return { from, to: tokens.length }
    }
    for (const piece of ['<|im_start|>', STATE]) put(piece)
    const fields = questions.map(({ id, kind, instructions, options }, i) => {
      put(`${i + 1} ${id} ${kind} `)
      const question = put(instructions)
      const own = options.map((each, k) => {
        put(`${k + 1}:`)
        const found = put(JSON.stringify(each))
        put(';')
        return found
      })
      put('.')
      return { ...question, kind: CLEF_KINDS.indexOf(kind), options: own }
    })
    put('<|im_end|>')
    return { tokens, fields }
  }
  function sharesOf(questions: readonly ClefQuestion[]): number[][] {
    const scores = [...clef.scores(weights, textOf(questions))]
    return questions.map(({ options }) => softmax(scores.splice(0, options.length)))
  }

  it('is asked all questions in one text, the options of a choice by their names', async () => {
    const { status, body } = await ask({ team: WHO, twice: TWICE, bad: BAD })
    expect([status, body.error]).toEqual([200, undefined])
    const questions = [who, twice, bad('calm', 'angry')]
    const [[other, billing, sales, accented], [yes], levels] = sharesOf(questions) as [number[], number[], number[]]
    expect(Object.keys(body.answers.team.probabilities)).toEqual(['sales', 'billing', 'é', 'Other'])
    expectNear(Object.values(body.answers.team.probabilities), [sales!, billing!, accented!, other!])
    expectNear([body.answers.twice.noul], [yes!])
    expectNear(Object.values(body.answers.bad.probabilities), levels)
    expect(body.usage.input_tokens).toBe(textOf(questions).tokens.length)
    const again = await ask({ team: WHO, twice: TWICE, bad: BAD })
    expect(again.body.answers).toEqual(body.answers)
  })

  it('averages over both directions of levels, and names what has no name', async () => {
    const questions = [
      { type: 'score', instructions: '', levels: [{ label: 'calm' }, { label: 'angry' }] },
      { type: 'predicate', instructions: 'Paid twice' },
    ]
    const { status, body } = await ask(questions, { order: 'average' }, '/decisions')
    expect([status, body.error]).toEqual([200, undefined])
    const plain: ClefQuestion = { ...twice, id: '2', options: [option('true'), option('false')] }
    const level = (...levels: string[]): ClefQuestion => ({ ...bad(...levels), id: '1', instructions: '1' })
    const [there, back] = [level('calm', 'angry'), level('angry', 'calm')].map((each) => sharesOf([each, plain]))
    const mean = (a: number, b: number) => (a + b) / 2
    expectNear(
      body.answers[0].probabilities.map(({ probability }: { probability: number }) => probability),
      [0, 1].map((i) => mean(there![0]![i]!, back![0]![1 - i]!)),
    )
    expectNear([body.answers[1].probability], [mean(there![1]![0]!, back![1]![0]!)])
  })

  it('refuses pictures, what was never fitted and texts without room, by name; takes no text for its marks', async () => {
    const picture = [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }]
    const seen = await ask([{ type: 'predicate', instructions: 'It is red' }], { input: picture }, '/decisions')
    expect([seen.status, seen.body.error.param]).toEqual([400, 'input[0].content[0].type'])
    const fitted = await ask({ bad: BAD }, { calibrated: true })
    expect([fitted.status, fitted.body.error.param]).toEqual([400, 'calibrated'])
    const long = await asking(() => v1, 'word '.repeat(3000))({ bad: BAD })
    expect([long.status, long.body.error]).toMatchObject([400, { param: 'state', code: 'context_length_exceeded' }])
    const odd = { ...WHO, criteria: { 'a <|im_end|>': null, '\uFDD0\uFDD3b': null } }
    const marked = await ask({ odd })
    expect([marked.status, marked.body.error]).toEqual([200, undefined])
    expect(Object.keys(marked.body.answers.odd.probabilities)).toEqual(Object.keys(odd.criteria))
  })

  it('says so before it is loaded, however much stands in its file before what asks it', async () => {
    const path = join(folder, 'vast.gguf')
    await writeMade(path, made({ metadata: (out) => out.text('general.description', 'x'.repeat(1 << 17)) }))
    const engine = webgpu({ models: [{ id: 'test/vast', from: path }], device: 'cpu', worker: false, log: () => {} })
    const vast = createV1({ engine, keys: 'none' })
    const { data, models } = await (await vast.fetch(new Request('http://127.0.0.1/v1/models'))).json()
    expect(data[0]).toMatchObject({ capabilities: { decisions: true, chat: false }, metadata: { loaded: false } })
    expect(models).toMatchObject([{ name: 'test/vast' }])
    await vast.close()
  })

  it('says among the models that it decides', async () => {
    const response = await v1.fetch(new Request('http://127.0.0.1/v1/models'))
    const { data } = await response.json()
    expect(data[0]).toMatchObject({ id: 'test/model', capabilities: { decisions: true, chat: false } })
  })
})
