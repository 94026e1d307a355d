/** d1-omni over the whole service: how it is asked, and what it refuses. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { d1Omni } from '../../../test/oracles/encoders/d1-omni.js'
import { KINDS } from '../../../test/oracles/encoders/laya.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { asking, expectNear, serveMade, softmax } from '../../engines/webgpu/made.test-helper.js'
import type { Tokenizer } from '../../generate/tokenizer/tokenizer.js'
import type { V1 } from '../../index.js'
import { made, STATE } from './d1-omni.test-helper.js'

const weights = weightsOf(d1Omni)

describe('d1-omni in the service', () => {
  let v1: V1
  let tokenizer: Tokenizer
  const folder = ownFolder()
  beforeAll(async () => {
    const served = await serveMade(join(folder, 'd1-omni.gguf'), made())
    v1 = served.v1
    tokenizer = served.tokenizer
  })
  afterAll(() => v1.close())
  const ask = asking(() => v1, STATE)
  const WHO = { type: 'choice', instructions: 'Who?', criteria: { billing: 'money', sales: null, other: null } }
  const TWICE = { type: 'noul', instructions: 'Paid twice', criteria: { true: 'yes it is' } }
  const BAD = { type: 'score', instructions: 'How bad?', criteria: ['calm', 'so so', 'angry'] }

  /** Pieces by themselves: no token reaches over their borders. */
  function tokensOf(instructions: string, options: readonly string[], state = STATE): number[] {
    const head = ['<|startoftext|><|reserved_7|>', state, `<|reserved_8|>${instructions}`]
    const tail = options.flatMap((option) => ['<|reserved_9|><|mask|>', ` ${option}`, '<|reserved_10|>'])
    return [...head, ...tail, '<|reserved_11|>'].flatMap((piece) => tokenizer.encode(piece))
  }
  function shares(kind: (typeof KINDS)[number], instructions: string, options: readonly string[], temperature: number) {
    const tokens = tokensOf(instructions, options)
    const mark = tokenizer.idOf('<|mask|>')
    const marks = tokens.flatMap((token, i) => (token === mark ? [i] : []))
    const scores = d1Omni.scores(weights, { tokens, marks, kind: KINDS.indexOf(kind) })
    return softmax(Array.from(scores, (score) => score / temperature))
  }

  it('is asked by its template, piece by piece, at the temperatures of its makers', async () => {
    const { status, body } = await ask({ team: WHO, twice: TWICE, bad: BAD })
    expect([status, body.error]).toEqual([200, undefined])
    const team = ['billing: money', 'sales', 'other']
    expectNear(Object.values(body.answers.team.probabilities), shares('choice', 'Who?', team, 1.25))
    const [, yes] = shares('noul', 'Paid twice', ['false', 'true: yes it is'], 2)
    expectNear([body.answers.twice.noul], [yes!])
    const bad = ['level 0: calm', 'level 1: so so', 'level 2: angry']
    expectNear(Object.values(body.answers.bad.probabilities), shares('score', 'How bad?', bad, 1))
    const alone = await ask({ bad: BAD })
    expect(alone.body.answers.bad).toEqual(body.answers.bad)
    expect(alone.body.usage.input_tokens).toBe(tokensOf('How bad?', bad).length)
  })

  it('reads options as far as it was taught, and refuses what would be alike or has no room', async () => {
    const long = Array.from({ length: 60 }, (_, i) => `w${i}`).join(' ')
    const choice = (...keys: string[]) => ({ ...WHO, criteria: Object.fromEntries(keys.map((key) => [key, null])) })
    const cut = await ask({ q: choice(`a ${long}`, `b ${long}`) })
    // 96 for all of two options, three of each of which are marks.
    const options = ['a', 'b'].map((key) => tokenizer.encode(` ${key} ${long}`).slice(0, 45))
    expect(options.every(({ length }) => length === 45)).toBe(true)
    const around = tokensOf('Who?', ['', '']).length - 2 * tokenizer.encode(' ').length
    expect(cut.body.usage.input_tokens).toBe(around + 90)
    const alike = await ask({ q: choice(`${long} a`, `${long} b`) })
    expect([alike.status, alike.body.error]).toMatchObject([
      400,
      { param: 'questions.q', message: expect.stringContaining('45 tokens of each option') },
    ])
    const refused = await ask({ q: { ...choice('a', 'b'), instructions: long } })
    expect([refused.status, refused.body.error]).toMatchObject([
      400,
      { param: 'questions.q', code: 'context_length_exceeded' },
    ])
    const state = asking(() => v1, 'word '.repeat(3000))
    expect(await state({ q: choice('a', 'b') })).toMatchObject({
      status: 400,
      body: { error: { param: 'state', code: 'context_length_exceeded' } },
    })
  })

  it('takes nothing in a text for its marks', async () => {
    const { status, body } = await ask({ q: { ...WHO, criteria: { 'a <|mask|>': null, '\uFDD0\uFDD3b': null } } })
    expect([status, body.error]).toEqual([200, undefined])
    expect(Object.keys(body.answers.q.probabilities)).toEqual(['a <|mask|>', '\uFDD0\uFDD3b'])
  })
})
