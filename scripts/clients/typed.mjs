/** What is decided and extracted, in the forms of several clients, and what must come of it. */
import { experimental_decide as decide, experimental_extract as extract } from 'ai'
import * as told from './told.mjs'

export const MAIL = 'I was charged twice for order 2041. Please refund me today.'
export const INVOICE =
  'Invoice INV-2041 of 2026-03-04, total due 1250.50 USD by 14:30, warranty 2 years. Contacts: Ana Ruiz, Bo Lind. Call on 2026-05-06T10:00:00Z.'

/** As TypeSafe has them, which all of its kind take. */
export const QUESTIONS = {
  refund: { type: 'noul', instructions: 'Is a refund asked for?', criteria: { true: 'Money back', false: null } },
  team: { type: 'choice', instructions: 'Which team helps?', criteria: { billing: 'Money', tech: null } },
  urgency: { type: 'score', instructions: 'How urgent is it?', criteria: ['not at all', null, { due: 'today' }] },
}

/** Each field type there is, but those that foretell. */
export const FIELDS = {
  number_of_it: { type: 'text', instructions: 'the invoice number' },
  total: { type: 'number', unit: 'USD', decimals: 2 },
  issued: { type: 'date' },
  until: { type: 'time' },
  call: { type: 'datetime' },
  warranty: { type: 'duration', unit: 'years', integer: true },
  contacts: { type: 'list', items: 'text' },
}

/** By form: those that a schema holds by itself, and those whose form clients without extractions put into words. */
export const [HELD, WORDED] = [true, false].map((held) =>
  Object.fromEntries(Object.entries(FIELDS).filter(([, { type }]) => /time|date/.test(type) !== held)),
)

/** They sum to one. */
export function aDistribution(probabilities) {
  const sum = probabilities.reduce((total, each) => total + each, 0)
  if (Math.abs(sum - 1) < 1e-6) return probabilities
  throw new Error(`The probabilities ${JSON.stringify(probabilities)} sum to ${sum}.`)
}

export const aProbability = (value) => {
  if (value >= 0 && value <= 1) return value
  throw new Error(`${value} is no probability.`)
}

/** Answers by name, as TypeSafe and the AI SDK tell them: `yes` is what they call a statement's probability. */
export function decided({ refund, team, urgency }, yes) {
  aProbability(refund[yes])
  told.same(Object.keys(team.probabilities), ['billing', 'tech'])
  const [likeliest] = Object.entries(team.probabilities).sort(([, a], [, b]) => b - a)
  told.same(team.choice, likeliest[0])
  aDistribution(Object.values(team.probabilities))
  const levels = aDistribution(Object.values(urgency.probabilities))
  const mean = levels.reduce((sum, each, level) => sum + each * level, 0)
  if (Math.abs(mean - urgency.score) > 1e-6) throw new Error(`The score ${urgency.score} is not the mean ${mean}.`)
  return `${team.choice}, ${urgency.score.toFixed(2)}`
}

/** Answers by name, as the hosts of extractions tell them: of the type that was asked for, with stretches of the text. */
export function extracted(answers, fields, text) {
  told.same(Object.keys(answers), Object.keys(fields))
  for (const [name, { type }] of Object.entries(fields)) {
    const { type: got, value, span, spans } = answers[name]
    told.same(got, type)
    if (type === 'text' && value !== null && span) told.same(text.slice(...span), value)
    if (type === 'list' && value !== null) told.same(value.length, spans.length)
  }
  return JSON.stringify(Object.values(answers).map(({ value }) => value))
}

/** `experimental_decide` of the AI SDK, which holds answers to its contract itself. */
export function decidingBy(model, form = 'experimental_decide') {
  const questions = { ...QUESTIONS, refund: { ...QUESTIONS.refund, type: 'boolean' } }
  return {
    [`${form}: boolean, choice, score`]: async () =>
      decided((await decide({ model, state: MAIL, questions })).answers, 'probability'),
    [`${form}: an object, and parts of text and JSON`]: async () => {
      await decide({ model, state: { mail: MAIL }, questions })
      const state = [
        { type: 'text', text: MAIL },
        { type: 'json', value: [{ customer: 'gold' }] },
      ]
      return decided((await decide({ model, state, questions })).answers, 'probability')
    },
    [`${form}: again, and several at once`]: () =>
      told.sameAgain(async () => (await decide({ model, state: MAIL, questions })).answers),
  }
}

/** `experimental_extract` of the AI SDK, the same. */
export function extractingBy(model, fields = FIELDS, what = 'all types of fields') {
  return {
    [`experimental_extract: ${what}`]: async () => {
      const state = [
        { type: 'text', text: 'A letter:' },
        { type: 'text', text: INVOICE },
      ]
      const { answers } = await extract({ model, state, fields, referenceDate: '2026-11-26' })
      told.same(Object.keys(answers), Object.keys(fields))
      for (const { type, value, source } of Object.values(answers)) {
        if (type !== 'text' || value === null || source === undefined) continue
        told.same(state[source.part].text.slice(source.start, source.end), value)
      }
      return JSON.stringify(Object.values(answers).map(({ value }) => value))
    },
    [`experimental_extract: ${what}, again, and several at once`]: () =>
      told.sameAgain(async () => (await extract({ model, state: INVOICE, fields })).answers),
  }
}
