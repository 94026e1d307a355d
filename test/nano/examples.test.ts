import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { questionOf } from '../../apps/playground/page/decision-draft.js'
import { decisionExamples } from '../../apps/playground/page/decision-examples.js'
import { examples } from '../../apps/playground/page/examples.js'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1, type V1 } from '../../src/index.js'
import { FULL } from '../support/full.js'
import { useSwiftshader } from '../support/swiftshader.js'
import { canUnpack } from '../support/unpack.js'

/** What a visitor of the playground sees first is right: each example, greedily, and the first of them on both devices. */

const RIGHT: Record<string, unknown> = {
  Ticket: {
    ticket: '#3310',
    problem: 'the export is empty',
    priority: 'high',
    reporter: 'Maya Lindt',
    version: '2.4.1',
    os: 'Windows 11',
  },
  Review: { author: 'Brenda', product: 'backpack', stars: 4, price: 27, recommends: true },
  Invoice: {
    invoice_number: 'DZ-7760',
    vendor: 'Harbour Supplies',
    customer: 'The Lantern Company',
    total: 5041,
    invoice_date: 'March 10, 2024',
    due_date: 'April 20, 2024',
  },
  Meeting: {
    topic: 'the budget',
    date: 'May 14',
    time: '3:30 pm',
    duration_minutes: 45,
    room: 'room 12',
    attendees: ['Ana', 'Ben', 'Chidi'],
  },
  Order: {
    customer: { name: 'Ines Prado', phone: '234 118 220' },
    order: { id: '5512', quantity: 3, total: 87.5 },
  },
  Job: {
    company: 'Marlow Optics',
    job: 'accountant',
    city: 'Jena',
    salary: 41000,
    experience_years: 3,
    deadline: '15 June',
  },
}

/** Of each question the likeliest option, or whether the statement is true. */
const DECIDED: Record<string, readonly (string | boolean)[]> = {
  Ticket: ['high', 'the export', false],
  Spam: ['a card number', 'dangerous', false],
  Train: ['snow', 'Lyon', false],
  Order: ['mirrors', false],
}

interface Decided {
  readonly answers: readonly {
    readonly probability: number
    readonly probabilities?: readonly { readonly probability: number }[]
  }[]
}

/** npm has a GPU in software for Linux on x64. */
const DEVICES = canUnpack ? (['cpu', 'webgpu'] as const) : (['cpu'] as const)

describe.each(DEVICES)("the playground's examples on %s", (device) => {
  let v1: V1

  beforeAll(async () => {
    if (device === 'webgpu') await useSwiftshader()
    const from = new URL('../../models/nano', import.meta.url).pathname
    const models = [{ id: 'local-v1/nano', from, contextLength: 1024 }]
    v1 = createV1({ engine: webgpu({ models, device, log: () => {} }), keys: 'none' })
  })
  afterAll(() => v1.close())

  // Software takes seconds for each, and for the first the longer.
  const chosen = device === 'cpu' || FULL ? examples : examples.slice(0, 1)
  it.each(chosen.map((example) => [example.name, example] as const))('%s', async (name, example) => {
    const body = {
      model: 'local-v1/nano',
      temperature: 0,
      messages: [
        { role: 'system', content: example.instructions },
        { role: 'user', content: example.text },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'it', strict: true, schema: example.schema } },
    }
    const response = await v1.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
    const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] }
    expect(JSON.parse(choices[0].message.content)).toEqual(RIGHT[name])
  })

  // On one device: that both decide alike is shown elsewhere.
  const decided = device === 'cpu' ? decisionExamples : []
  it.each(decided.map((example) => [example.name, example] as const))(
    'decides %s',
    async (name, { text, questions, average }) => {
      const body = {
        model: 'local-v1/nano',
        input: text,
        questions: questions.map(questionOf),
        ...(average && { order: 'average' }),
      }
      const response = await v1.fetch(
        new Request('http://localhost/v1/decisions', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      )
      const { answers } = (await response.json()) as Decided
      const likeliest = answers.map(({ probability, probabilities }, i) => {
        if (probabilities === undefined) return probability > 0.5
        const shares = probabilities.map((p) => p.probability)
        return questions[i]!.options[shares.indexOf(Math.max(...shares))]
      })
      expect(likeliest).toEqual(DECIDED[name])
    },
  )
})
