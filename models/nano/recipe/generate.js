/**
 * Texts, schemas and answers: `tsx generate.js --split train --seed 1 --count 1000 > train.jsonl`.
 * In the answer, \u0001 and \u0002 stand around what the model has to decide; the grammar writes the rest.
 */

import { INSTRUCTIONS, QUESTION, questionText, stateBlock } from '../../../src/generate/decide/questions.ts'
import { describeSchema } from '../../../src/generate/schema-prompt.ts'
import { chatExample } from './chat.js'
import { decidedQuestions, readDecided } from './decided.js'
import { decides, naturalDecisions } from './decisions.js'
import { wordDecision, wordProse } from './dictionary.js'
import { readDomains } from './domains.js'
import { answerOf, makeExample } from './fields.js'
import { naturalExample, naturalList, naturalThread, standsInList } from './natural.js'
import { readNatural } from './natural-format.js'
import { grouped, listOfRecords } from './nested.js'
import { hash, rng } from './random.js'
import { decisionExample, spanExample } from './spans.js'
import { makeText, nonceDomain, passage } from './text.js'
import { chance, pick, seedFakers } from './values.js'

const TRAIN = readDomains('train-business.txt', 'train-life.txt', 'train-records.txt')
const HELD_OUT = readDomains('heldout.txt')

export function example(split, length) {
  const evaluation = split !== 'train'
  for (;;) {
    const roll = rng.float()
    const domain =
      split === 'domains' ? pick(HELD_OUT) : roll < 0.12 && split !== 'templates' ? nonceDomain() : pick(TRAIN)
    const sentences = split === 'templates' ? domain.heldOut : domain.sentences
    const made = makeText(domain, sentences, evaluation, length)
    const parts = []
    for (let i = 0; i < (evaluation ? 1 : 2); i++) {
      const asked = makeExample(domain, made, split, dense)
      const deep = asked && !evaluation && chance(0.05) ? grouped(asked, domain) : asked
      if (deep) parts.push({ ...deep, text: made.text, domain: domain.name })
    }
    if (parts.length > 0) return parts
  }
}

/** Many fields of short texts: more choices to learn from per token read. */
let dense = false

/** Examples of the encoder: queries and stretches instead of a prompt and an answer. */
let spans = false

/** Of the encoder's examples without a choice in them, the share that is left out: choices are rarer than stretches. */
let without = 0
const kept = ({ queries }) => queries.some((query) => query.options) || !chance(without)

/** The share of the examples that are decisions: half of texts written with their questions, half of `natural/`. */
let decisions = 0

/** The share that is running text, and the share that asks what words mean. */
let prose = 0
let words = 0

/** The share of the other examples by hand whose texts list something. */
let lists = 0

const SPLITS = ['values', 'templates', 'fields', 'domains']
const plain = (v) => (v !== null && typeof v === 'object' && 'raw' in v ? Number(v.raw) : v)

function evaluationCase(split) {
  const [made] = example(split, pick([2, 4, 6]))
  const answer = Object.fromEntries(
    made.fields.filter((f) => f.value !== undefined).map((f) => [f.name, plain(f.value)]),
  )
  return {
    split,
    domain: made.domain,
    system: made.instruction,
    described: describeSchema(made.schema),
    user: made.text,
    schema: made.schema,
    answer,
    kinds: Object.fromEntries(made.fields.map((f) => [f.name, f.kind])),
  }
}

const NATURAL = readNatural()
const DECIDED = readDecided()

/** Those that can be said of several things, one after the other. */
let SHORT = []

/** The share of examples from `natural/`; the rest is made of patterns. */
let natural = 0.7

/** The texts that say something to decide, and those that list something. */
let DECIDING = []
let LISTING = []

function trainingPair(length) {
  if (chance(prose)) return [{ prose: chance(0.15) ? wordProse() : passage(rng.int(200, 1800)) }]
  if (chance(words)) return decisionsAsked(wordDecision())
  if (chance(decisions)) {
    const own = DECIDED.length > 0 && chance(0.65)
    const made = own ? decidedQuestions(pick(DECIDED)) : naturalDecisions(pick(chance(0.5) ? DECIDING : NATURAL))
    if (!made) return []
    return spans ? [decisionExample(made)] : decisionsAsked(made)
  }
  if (!spans && chance(0.06)) return [chatExample()]
  if (chance(natural)) {
    const roll = rng.float()
    const made =
      roll < 0.1
        ? naturalList(pick(SHORT))
        : roll < 0.19
          ? naturalThread([pick(NATURAL), pick(NATURAL), ...(chance(0.3) ? [pick(NATURAL)] : [])], dense)
          : naturalExample(pick(chance(lists) ? LISTING : NATURAL), dense)
    return made ? [inPrompt(made)] : []
  }
  if (!spans && chance(0.04)) {
    const records = listOfRecords(pick(TRAIN))
    if (records) return [records]
  }
  return example('train', length).map((made) => {
    const described = describeSchema(made.schema)
    const asked = { text: made.text, schema: made.schema, value: plainValues(made.fields) }
    return inPrompt({ system: made.instruction, described, user: made.text, answer: answerOf(made.fields), asked })
  })
}

const decisionsAsked = (made) =>
  chance(0.4) ? [enumsExample(made)] : made.questions.slice(0, 4).map((each) => asked(made.text, each))

/** What a question is that does not say it: of a text of `natural/`. */
function typeOf({ question, options }) {
  if (options.length === 2 && options[0] === 'true') return 'predicate'
  return /^how /.test(question) ? 'score' : 'choice'
}

/** A question as `POST /decisions` asks it. */
function asked(text, made) {
  const { question, options, right } = made
  const said = {
    type: made.type ?? typeOf(made),
    instructions: question.replace(/^is it true: /, ''),
    options: options.map((option) => ({ text: option })),
  }
  const order = options.map((_, i) => i)
  const user = `${stateBlock(text, '')}${QUESTION}${questionText(said, order)}`
  return { system: INSTRUCTIONS, user, answer: `\u0001${options[right]}\u0002`, decision: true }
}

/** The questions of a text as enums of one object, or one of them alone: more to decide per token read. */
function enumsExample({ text, questions }) {
  const alone = chance(0.3)
  const some = alone ? questions.slice(0, 1) : questions
  const name = (i) => (alone ? 'answer' : `${pick(['q', 'a', 'answer_'])}${i + 1}`)
  const named = some.map((each, i) => ({ ...each, name: name(i) }))
  const properties = Object.fromEntries(
    named.map(({ name, question, options }) => [name, { enum: options, description: question }]),
  )
  const schema = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
  const answer = named.map(({ name, options, right }) => `"${name}":\u0001${JSON.stringify(options[right])}\u0002`)
  return { system: describeSchema(schema), user: text, answer: `{${answer.join(',')}}` }
}

const plainValues = (fields) =>
  Object.fromEntries(fields.map((f) => [f.name, f.inside ? plainValues(f.inside) : f.value]))

/** The instruction stands before the schema, or in the user's message. */
function inPrompt({ system, described, user, answer, asked }) {
  if (spans) return spanExample(asked)
  const join = '\n\n'
  if (system && chance(0.12))
    return { system: described, user: chance(0.5) ? `${system}${join}${user}` : `${user}${join}${system}`, answer }
  return {
    system: system ? (chance(0.95) ? system + join + described : described + join + system) : described,
    user,
    answer,
  }
}

const options = Object.fromEntries(
  process.argv
    .slice(2)
    .join(' ')
    .split('--')
    .filter(Boolean)
    .map((o) => o.trim().split(' ')),
)
const seed = Number(options.seed ?? 1)
rng.seed(hash(`${options.split}:${seed}`))
seedFakers(seed)
const count = Number(options.count ?? 10)
dense = options.dense !== undefined
spans = options.form === 'spans'
without = Number(options.choices ?? 0)
decisions = Number(options.decisions ?? 0)
prose = Number(options.prose ?? 0)
words = Number(options.words ?? 0)
natural = Number(options.natural ?? natural)
DECIDING = NATURAL.filter(decides)
lists = Number(options.lists ?? 0)
LISTING = NATURAL.filter(({ fields }) => fields.some(({ value }) => value?.list))
SHORT = NATURAL.filter(standsInList)
const lines = []
const write = (o) => {
  lines.push(JSON.stringify(o))
  if (lines.length > 500) process.stdout.write(`${lines.splice(0).join('\n')}\n`)
}
if (options.split === 'eval') for (let i = 0; i < count; i++) write(evaluationCase(SPLITS[i % 4]))
else {
  for (let i = 0; i < count; i++) {
    // Short texts first: the heads that copy form sooner on them.
    const progress = (Number(options.reach ?? 1) * i) / count
    const length = Math.round(1 + (1 + 8 * progress) * rng.float())
    for (const pair of trainingPair(length)) if (!spans || kept(pair)) write(pair)
  }
}
if (lines.length) process.stdout.write(`${lines.join('\n')}\n`)
