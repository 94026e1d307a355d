/**
 * Decisions asked of a text of `natural/`: `{ text, questions: [{ question, options, right }] }`, `right` a place among
 * the options. What a text is asked for by name becomes a choice too: its value among what else the text says of the
 * same sort, the distractors; and each choice a statement that is true or false.
 */
import { meant, render } from './natural.js'
import { rng } from './random.js'
import { shuffle } from './text.js'
import { chance, pick } from './values.js'

const MOST = 60
const TRULY = ['true', 'false']

/** What a value is beside: a number, a day or an hour, a name or words. */
const sortOf = (text) =>
  /^\W{0,2}\d[\d,. ]*\W{0,2}$/.test(text)
    ? 'number'
    : /\d{1,2}:\d\d|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b\d{1,2} [A-Z][a-z]{2}|^\d{4}-\d\d/.test(text)
      ? 'time'
      : 'words'

const wordsOf = (name) =>
  name
    .replace(/[_-]/g, ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()

/** The question's subject: a description where there is one, else the field's name in words. */
function subject(field) {
  const names = field.names.filter((name) => !name.includes('{'))
  if (field.notes.length > 0 && (field.always || names.length === 0 || chance(0.6)))
    return pick(field.notes).replace(/^(is it true: |whether )/, '')
  if (names.length === 0) return undefined
  return `the ${field.group ? `${wordsOf(field.group.replaceAll('.', ' '))} ` : ''}${wordsOf(pick(names))}`
}

const asks = (what) => /^(what|which|who|whose|how|why|when|where|is|does|has|must|can)\b/.test(what)
const asQuestion = (what) => (asks(what) ? what : pick([what, what, `which is ${what}`, `what is ${what}`]))
const asStatement = (what, value) =>
  asks(what) ? `${what}: ${value}` : pick([`${what} is ${value}`, `${what}: ${value}`, `${value} is ${what}`])

function statement(said, true_) {
  const question = chance(0.85) ? `is it true: ${said}` : said
  return { question, options: TRULY, right: true_ ? 0 : 1 }
}

/** Of several options the right one, or a statement about one of them. */
function choice(what, all, right) {
  if (chance(0.3)) {
    const true_ = chance(0.5)
    const said = true_ ? right : pick(all.filter((option) => option !== right))
    return statement(asStatement(what, said), true_)
  }
  return { question: asQuestion(what), options: all, right: all.indexOf(right) }
}

function questionOf(field, said, told) {
  if (field.records || field.value.list) return undefined
  const what = subject(field)
  const value = meant(field, said)
  if (what === undefined) return undefined
  if (field.type === 'bool') return typeof value === 'boolean' ? statement(what, value) : undefined
  if (field.type.includes('|')) {
    if (value === undefined) return undefined
    const all = field.type.split('|')
    const order = pick([all, all, [...all].reverse()])
    return choice(what, chance(0.5) ? shuffle(all) : order, value)
  }
  const here = field.value.id === undefined ? undefined : told.find(({ id }) => id === field.value.id)?.text
  if (value !== undefined && (here === undefined || field.value.part)) return undefined
  const sort = sortOf(here ?? told[0]?.text ?? '')
  const others = [...new Set(told.map(({ text }) => text))].filter((text) => text !== here)
  const alike = others.filter((text) => sortOf(text) === sort)
  const some = shuffle(alike.length > 1 || chance(0.2) ? alike : others).slice(0, rng.int(1, 4))
  if (some.length === 0) return undefined
  const nothing = here === undefined || chance(0.15) ? [pick(['not said', 'none of them', 'not mentioned'])] : []
  return choice(what, shuffle([...some, ...nothing, ...(here ? [here] : [])]), here ?? nothing[0])
}

/** Texts that say something to decide: kinds, moods, steps, what is true. */
export const decides = (source) => source.fields.some((field) => field.type === 'bool' || field.type?.includes('|'))

export function naturalDecisions(source) {
  const { text, said } = render(source)
  const told = [...said]
    .map(([id, { text, key }]) => ({ id, text, key }))
    .filter(({ text, key }) => key === undefined && text !== '' && text.length <= MOST)
  const first = shuffle(source.fields.filter((field) => field.type === 'bool' || field.type?.includes('|')))
  const rest = shuffle([...source.fields, ...source.absent.slice(0, 1)].filter((field) => !first.includes(field)))
  const questions = [...first, ...rest]
    .slice(0, rng.int(3, 8))
    .map((field) => questionOf(field, said, told))
    .filter(Boolean)
  return questions.length > 0 ? { text, questions: shuffle(questions) } : undefined
}
