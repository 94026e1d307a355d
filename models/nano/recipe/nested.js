/** Schemas with depth: fields gathered in an object, and several records of one kind in a list. */
import { describeSchema } from '../../../src/generate/schema-prompt.ts'
import { answerOf, makeField, styled } from './fields.js'
import { rng } from './random.js'
import { fill, render, shuffle } from './text.js'
import { chance, pick } from './values.js'

const objectOf = (fields) => ({
  type: 'object',
  properties: Object.fromEntries(fields.map((f) => [f.name, f.schema])),
  required: fields.filter((f) => !f.optional).map((f) => f.name),
  additionalProperties: false,
})

/** Some neighbours among the fields move into an object of their own. */
export function grouped(made, domain) {
  const from = rng.int(0, Math.max(0, made.fields.length - 2))
  const inside = made.fields.slice(from, from + rng.int(2, 4))
  if (inside.length < 2 || made.fields.some((f) => f.optional)) return made
  const name = pick(['details', 'info', 'data', domain.name.replaceAll(' ', '_'), 'summary', 'record'])
  if (made.fields.some((f) => f.name === name)) return made
  const whole = { name, schema: objectOf(inside), inside }
  const fields = [...made.fields.slice(0, from), whole, ...made.fields.slice(from + inside.length)]
  return { ...made, fields, schema: objectOf(fields) }
}

const sentencesFor = (domain) =>
  domain.sentences.filter((s) => {
    const slots = slotsOf(s)
    return slots.length >= 2 && slots.every((n) => domain.slots[n].type !== 'list' && domain.slots[n].type !== 'bool')
  })
const slotsOf = (sentence) => [...new Set([...sentence.matchAll(/\{(\w+)\}/g)].map((m) => m[1]))]

/** What `filled` is in a field that was made for another value of the same slot. */
function like(field, filled) {
  if (field.schema.enum) return filled.value
  if (field.kind === 'iso date') return filled.iso
  if (field.kind === 'number' && field.schema.type !== 'string') return { raw: filled.raw ?? String(filled.value) }
  return filled.text
}

/** One sentence said of several things, as a list of objects. */
export function listOfRecords(domain) {
  const sentence = pick(sentencesFor(domain))
  const slots = shuffle(slotsOf(sentence)).slice(0, rng.int(2, 4))
  const style = pick([0, 0, 1, 2])
  const drawn = Array.from({ length: rng.int(1, 4) }, () =>
    Object.fromEntries(slotsOf(sentence).map((n) => [n, fill(domain.slots[n], false)])),
  )
  const fields = slots.map((n) => ({
    ...makeField(domain.slots[n], drawn[0][n], true, 'plain'),
    name: styled(pick(domain.slots[n].names.filter((_, i) => i !== 1 || domain.slots[n].names.length < 4)), style),
  }))
  if (new Set(fields.map((f) => f.name)).size < fields.length) return null
  if (
    fields.some((f) => f.kind === 'iso date') &&
    drawn.some((d) => slots.some((n) => domain.slots[n].type === 'date' && !d[n].iso))
  )
    return null
  const records = drawn.map((d) => fields.map((f, i) => ({ ...f, value: like(f, d[slots[i]]) })))
  const name = pick(['items', 'entries', 'records', 'rows', 'list', `${domain.name.replaceAll(' ', '_')}s`, 'results'])
  const schema = {
    type: 'object',
    properties: {
      [name]: {
        type: 'array',
        items: objectOf(fields),
        ...(chance(0.4)
          ? { description: pick(['all of them', `every ${domain.name}`, `each ${domain.name} in the text`]) }
          : {}),
      },
    },
    required: [name],
    additionalProperties: false,
  }
  const text = drawn.map((d) => render(sentence, d)).join(chance(0.4) ? '\n' : ' ')
  const list = records.map((r, i) => `${i > 0 ? '\u0001,\u0002' : ''}${answerOf(r)}`).join('')
  return {
    system: chance(0.5)
      ? describeSchema(schema)
      : `Extract every ${domain.name} from the text.\n\n${describeSchema(schema)}`,
    user: text,
    answer: `{${JSON.stringify(name)}:[${list}\u0001]\u0002}`,
  }
}
