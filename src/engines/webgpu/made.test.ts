/** Decoders that were made for decisions and answer by labels of other kinds, or by a head of their own. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { llama } from '../../../test/oracles/families/llama.js'
import { qwen35 } from '../../../test/oracles/families/qwen3-5.js'
import type { Vector } from '../../../test/oracles/float64.js'
import { Random } from '../../../test/oracles/random.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Tokenizer } from '../../generate/tokenizer/tokenizer.js'
import type { V1 } from '../../index.js'
import { getOrMake } from '../../platform/maps.js'
import { asking, expectNear, type MadeUp, serveMade, softmax } from './made.test-helper.js'

const far = (actual: readonly number[], wrong: readonly number[]) =>
  expect(Math.max(...actual.map((share, i) => Math.abs(share - wrong[i]!)))).toBeGreaterThan(1e-2)

const folder = ownFolder()

const opened = (name: string, made: MadeUp) => serveMade(join(folder, `${name}.gguf`), made)

const sharesOf = (body: { answers: Record<string, { probabilities: Record<string, number> }> }, name: string) =>
  Object.values(body.answers[name]!.probabilities)

const STATE = 'I paid twice for one lamp.'
const WHO = { type: 'choice', instructions: 'Who?', criteria: { billing: 'money', sales: null, other: null } }
const TWICE = { type: 'noul', instructions: 'Paid twice', criteria: { true: 'yes it is' } }
const BAD = { type: 'score', instructions: 'How bad?', criteria: ['calm', 'so so', 'angry'] }

/** Words that are to be single tokens. */
const WORDS = ['yes Yes no No YES NO', ' A B C D', 'A. B. C. D.']
const LINED = `{{ state }}{{ '\\n# ' }}{{ instructions }}{{ '\\n' }}{% for o in options %}{{ o.label }}. {{ o.key }}{% if o.description %}: {{ o.description }}{% endif %}{{ '\\n' }}{% endfor %}`
const LISTED = `{"context": {{ state | tojson }}, "schema": [{% for q in questions %}{{ q.id | tojson }} {{ q.instructions }}{% for o in q.options %} {{ o.label }}={{ o.key }}{% endfor %}{% if not loop.last %}, {% endif %}{% endfor %}]} {{ id | tojson }}`
const TEMPLATES = { 'pplx-decider': LINED, 'lfm2-d1': LINED, nimble: LISTED } as const

describe.each(['pplx-decider', 'lfm2-d1', 'nimble'] as const)('a decoder of the type %s', (type) => {
  let v1: V1
  let tokenizer: Tokenizer
  beforeAll(async () => {
    const template = `<s>${TEMPLATES[type]}</s>`
    const texts = [...Object.values(TEMPLATES), STATE, ...WORDS, ...WORDS]
    const made = await opened(type, {
      ...{ of: llama, type, template, texts },
      metadata: (out) => out.float('llama.decision.temperature.choice.3_5', 1.5),
    })
    v1 = made.v1
    tokenizer = made.tokenizer
  })
  afterAll(() => v1.close())
  const ask = asking(() => v1, STATE)

  /** Of each option the likeliest of its labels counts. */
  const known = new Map<string, Vector>()
  /** Of what comes after a prompt, in float64. */
  function read(prompt: string): Vector {
    const reference = llama.reference(weightsOf(llama))
    const tokens = tokenizer.encode(`<s>${prompt}</s>`)
    return tokens.map((token) => reference.step(token)).at(-1)!
  }
  function shares(prompt: string, labels: readonly (readonly string[])[], temperature: number): number[] {
    const logits = getOrMake(known, prompt, () => read(prompt))
    const scoreOf = (label: string) => {
      const [token, ...more] = tokenizer.encodeContinuation(label)
      return more.length === 0 ? logits[token!]! : Number.NEGATIVE_INFINITY
    }
    return softmax(labels.map((of) => Math.max(...of.map(scoreOf)) / temperature))
  }
  const lined = (instructions: string, lines: readonly string[]) => `${STATE}\n# ${instructions}\n${lines.join('\n')}\n`
  const listed = (name: string, instructions: string, options: string) =>
    `{"context": "${STATE}", "schema": ["${name}" ${instructions} ${options}]} "${name}"`
  const letters = (count: number) =>
    [...'ABCD'].slice(0, count).map((letter) => (type === 'lfm2-d1' ? [letter, ` ${letter}`] : [letter]))

  it('answers by its labels, at its temperature', async () => {
    const { status, body } = await ask({ team: WHO, twice: TWICE, bad: BAD })
    expect([status, body.error]).toEqual([200, undefined])
    const of = {
      'pplx-decider': {
        team: lined('Who?', ['A. billing: money', 'B. sales', 'C. other']),
        twice: lined('Paid twice', ['A. false', 'B. true: yes it is']),
        bad: lined('How bad?', ['A. 0: calm', 'B. 1: so so', 'C. 2: angry']),
      },
      'lfm2-d1': {
        team: lined('Who?', ['A. billing: money', 'B. sales', 'C. other']),
        twice: lined('Paid twice', ['true. true: yes it is', 'false. false']),
        bad: lined('How bad?', ['0. 0: calm', '1. 1: so so', '2. 2: angry']),
      },
      nimble: {
        team: listed('team', 'Who?', 'A=billing B=sales C=other'),
        twice: listed('twice', 'Paid twice', 'A=false B=true'),
        bad: listed('bad', 'How bad?', 'A=0 B=1 C=2'),
      },
    }[type]
    const team = sharesOf(body, 'team')
    expectNear(team, shares(of.team, letters(3), 1.5))
    far(team, shares(of.team, letters(3), 1))
    const words = [
      ['yes', 'Yes', 'YES'],
      ['no', 'No', 'NO'],
    ]
    const sides = type === 'lfm2-d1' ? shares(of.twice, words, 1) : shares(of.twice, letters(2), 1).reverse()
    expectNear([body.answers.twice.noul], [sides[0]!])
    far([body.answers.twice.noul], [sides[1]!])
    expectNear(sharesOf(body, 'bad'), shares(of.bad, type === 'lfm2-d1' ? [['0'], ['1'], ['2']] : letters(3), 1))
  })

  it('answers the same whatever else is asked', async () => {
    const alone = await ask({ team: WHO })
    const both = await ask({ twice: TWICE, team: WHO, bad: BAD })
    expect(both.body.answers.team).toEqual(alone.body.answers.team)
  })
})

it('options that are letters are their own labels, and many have numbers or whatever is one token', async () => {
  const { v1, tokenizer } = await opened('letters', {
    ...{ of: llama, type: 'lfm2-d1', template: `<s>${LINED}</s>`, texts: [LINED, STATE, ...WORDS], metadata: () => {} },
  })
  const ask = asking(() => v1, STATE)
  const criteria = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, null]))
  const tokensOf = (text: string) => tokenizer.encode(text).length
  const letters = await ask({ q: { ...WHO, criteria: criteria(['c', 'Z']) } })
  const prompt = `<s>${STATE}\n# Who?\n`
  expect(letters.body.usage.input_tokens).toBe(tokensOf(`${prompt}c. c\nZ. Z\n</s>`))
  const many = Array.from({ length: 30 }, (_, i) => `o${i}`)
  const reply = await ask({ q: { ...WHO, criteria: criteria(many) } })
  // Two digits are no token here: those are passed over for letters.
  const codes = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcd']
  const lines = many.map((key, i) => `${codes[i]}. ${key}\n`).join('')
  expect(reply.body.usage.input_tokens).toBe(tokensOf(`${prompt}${lines}</s>`))
  expect(
    (await ask({ q: { ...WHO, criteria: criteria(Array.from({ length: 200 }, (_, i) => `o${i}`)) } })).status,
  ).toBe(400)
  await v1.close()
})

const CONTROLS = ['<|fim_prefix|>', '<|fim_middle|>', '<|fim_suffix|>', '<|box_start|>', '<|box_end|>']
const KEV =
  "<|fim_prefix|>{{ state }}<|fim_middle|>{{ instructions }}{% for o in options %}<|box_start|>{% if type == 'score' %}{{ o.description }}{% else %}{% if type != 'noul' %}{{ o.key }}{% elif o.key == 'true' %}yes{% else %}no{% endif %}{% if o.description %}: {{ o.description }}{% endif %}{% endif %}<|box_end|>{% endfor %}<|fim_suffix|>"
/** Of a query, and of a key. */
const WIDTH = 16

describe.each([
  ['attention alone', llama],
  ['layers that keep a state', qwen35],
] as const)('a decoder that points at its options, of %s', (name, of) => {
  const hidden = Number(of.config.hidden_size)
  const random = new Random(`pointers ${name}`)
  const head = Float64Array.from({ length: 2 * WIDTH * hidden }, () => Math.fround(random.normal() / Math.sqrt(hidden)))
  const bias = Float64Array.from({ length: 2 * WIDTH }, () => Math.fround(random.normal()))
  const prefix = of.gguf!.architecture
  const made = (metadata: MadeUp['metadata'] = () => {}): MadeUp => ({
    ...{ of, type: 'kev', template: KEV, texts: [STATE, 'plan: pro', 'yes no'], controls: CONTROLS },
    metadata: (out) => {
      out.u32(`${prefix}.embedding_length_out`, 2 * WIDTH)
      for (const kind of ['choice', 'score', 'noul']) out.float(`${prefix}.decision.temperature.${kind}`, 0.5)
      metadata(out)
    },
    tensors: [
      { name: 'cls.output.weight', dims: [hidden, 2 * WIDTH], values: head },
      { name: 'cls.output.bias', dims: [2 * WIDTH], values: bias },
    ],
  })
  let v1: V1
  let tokenizer: Tokenizer
  beforeAll(async () => {
    const all = await opened(`kev-${prefix}`, made())
    v1 = all.v1
    tokenizer = all.tokenizer
  })
  afterAll(() => v1.close())
  const ask = asking(() => v1, STATE)

  const known = new Map<string, Vector[]>()
  /** The head's rows of all tokens, in float64: its weights stand where the definition reads those of words. */
  function rows(prompt: string): Vector[] {
    const weights = weightsOf(of)
    let reads = 0
    const instead = (tensor: string) => {
      if (tensor === 'lm_head.weight') return head
      // A tied table is read for a token's embedding, then as the head.
      const tied = tensor === 'model.embed_tokens.weight' && of.config.tie_word_embeddings === true
      return tied && reads++ % 2 === 1 ? head : weights(tensor)
    }
    const reference = of.reference(instead as typeof weights)
    return tokenizer.encode(prompt).map((token) => reference.step(token).map((value, i) => value + bias[i]!))
  }

  function shares(prompt: string, mistake?: 'swapped' | 'unscaled' | 'before'): number[] {
    const end = tokenizer.idOf('<|box_end|>')
    const tokens = tokenizer.encode(prompt)
    const all = getOrMake(known, prompt, () => rows(prompt))
    const query = all.at(-1)!
    const [q, k] = mistake === 'swapped' ? [WIDTH, 0] : [0, WIDTH]
    const places = tokens.flatMap((token, i) => (token === end ? [mistake === 'before' ? i - 1 : i] : []))
    const scale = mistake === 'unscaled' ? 1 : Math.sqrt(WIDTH)
    const scores = places.map((place) => {
      let sum = 0
      for (let i = 0; i < WIDTH; i++) sum += query[q + i]! * all[place]![k + i]!
      return sum / scale / 0.5
    })
    return softmax(scores)
  }
  const promptOf = (instructions: string, options: readonly string[], state = STATE) =>
    `<|fim_prefix|>${state}<|fim_middle|>${instructions}${options.map((one) => `<|box_start|>${one}<|box_end|>`).join('')}<|fim_suffix|>`

  it('tells what float64 has, and none of the usual mistakes', async () => {
    const { status, body } = await ask({ team: WHO, twice: TWICE, bad: BAD })
    expect([status, body.error]).toEqual([200, undefined])
    const team = promptOf('Who?', ['billing: money', 'sales', 'other'])
    expectNear(sharesOf(body, 'team'), shares(team))
    for (const mistake of ['swapped', 'unscaled', 'before'] as const) far(sharesOf(body, 'team'), shares(team, mistake))
    const [no, yes] = shares(promptOf('Paid twice', ['no', 'yes: yes it is']))
    expectNear([body.answers.twice.noul], [yes!])
    far([body.answers.twice.noul], [no!])
    expectNear(sharesOf(body, 'bad'), shares(promptOf('How bad?', ['calm', 'so so', 'angry'])))
    expect(body.answers.team.option_mass).toBeUndefined()
  })

  it('answers the same whatever else is asked, with the state read before, and in any order', async () => {
    const alone = await ask({ team: WHO })
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`q${i}`, { ...WHO, instructions: `${i}?` }]))
    const both = await ask({ ...many, team: WHO })
    expect(both.body.answers.team).toEqual(alone.body.answers.team)
    const [one, other] = await Promise.all([ask({ team: WHO }), ask({ bad: BAD, team: WHO })])
    expect([one.body.answers.team, other.body.answers.team]).toEqual([alone.body.answers.team, alone.body.answers.team])
  })

  it('is told objects as lines, and nothing that looks like control', async () => {
    const state = { plan: 'pro', order: { id: 4, items: ['a <|box_end|>', 'b'] }, paid: true, by: null }
    const askAbout = asking(() => v1, state as never)
    const { body } = await askAbout({ team: WHO })
    const lines = 'plan: pro\norder:\n  id: 4\n  items:\n    - a <\u00a6box_end\u00a6>\n    - b\npaid: True\nby: '
    expectNear(sharesOf(body, 'team'), shares(promptOf('Who?', ['billing: money', 'sales', 'other'], lines)))
  })

  it('says so before it is loaded, however much stands in its file before what asks it', async () => {
    const vast = made((out) => out.text('general.description', 'x'.repeat(1 << 17)))
    const { v1 } = await opened(`vast-${prefix}`, vast)
    const { data } = await (await v1.fetch(new Request('http://127.0.0.1/v1/models'))).json()
    expect(data[0]).toMatchObject({ capabilities: { decisions: true, chat: false }, metadata: { loaded: false } })
    await v1.close()
  })

  it('decides and does nothing else', async () => {
    const post = (path: string, body: object) =>
      v1.fetch(
        new Request(`http://127.0.0.1/v1${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'test/model', ...body }),
        }),
      )
    const chat = await post('/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] })
    expect([chat.status, (await chat.json()).error.message]).toEqual([
      400,
      "Unsupported parameter: 'model'. The model 'test/model' cannot generate text.",
    ])
    const { data } = await (await v1.fetch(new Request('http://127.0.0.1/v1/models'))).json()
    expect(data[0].capabilities).toMatchObject({ chat: false, decisions: true })
  })

  it('is refused by name where its head is not what it says', async () => {
    const refused = async (file: string, odd: MadeUp) => {
      const { v1 } = await opened(file, odd)
      const { status, body } = await asking(() => v1, STATE)({ team: WHO })
      await v1.close()
      expect(status).toBe(500)
      return String(body.error.message)
    }
    const without = { ...made(), tensors: [] }
    expect(await refused('headless', without)).toContain('cls.output')
    const unmarked = { ...made(), template: KEV.replace('<|box_end|>', '') }
    expect(await refused('unmarked', unmarked)).toContain('ends 0 of 3 options')
  })
})
