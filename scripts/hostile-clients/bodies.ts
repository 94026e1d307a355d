/** Requests that share nothing: no request is to find in a cache what an earlier one has left there. */
import { NANO } from './server.js'

let made = 0
/** Another word each time. */
export const fresh = (): string => `${(made++).toString(36)}-${Math.random().toString(36).slice(2)}`

export const user = (content: string) => [{ role: 'user', content }]
export const short = (content = fresh()) => ({ model: NANO, messages: user(content), max_tokens: 4 })
/** A prompt about as long as fits, and like no other. */
export const long = () => `${fresh()} ${Array.from({ length: 300 }, fresh).join(' ').slice(0, 3000)}`

/** About a megabyte, in which no two keys are the same: half of them in objects of their own. */
export function keys(apart: boolean): object {
  const names = Array.from({ length: apart ? 38_000 : 50_000 }, fresh)
  return apart ? names.map((name) => ({ [name]: 0 })) : Object.fromEntries(names.map((name) => [name, 0]))
}

export const strict = (schema: object) => ({
  model: NANO,
  messages: user(`Anna Berg is 31 years old and lives in Bern. ${fresh()}`),
  response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
})
export const PERSON = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 12 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
  required: ['name', 'age'],
  additionalProperties: false,
}
/** Whether an answer to `strict(PERSON)` is what it asks for. */
export function isPerson(text: string): boolean {
  const { choices } = JSON.parse(text) as { choices: { message: { content: string } }[] }
  const { name, age } = JSON.parse(choices[0]!.message.content) as { name: unknown; age: unknown }
  return typeof name === 'string' && Number.isInteger(age)
}

/** Long whatever the model would like to say: more than the system keeps of a stream that nobody reads. */
export const endless = (n: number) => ({
  ...strict({ type: 'array', items: { type: 'boolean' }, minItems: 170 }),
  ...{ max_tokens: 900, n, stream: true, logprobs: true, top_logprobs: 20 },
})

/** Small to send, and not to compile: each of some objects excludes each of the others. */
export function costly() {
  const name = fresh()
  const parts = Array.from({ length: 6 }, (_, k) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 3 }, (_, p) => [`f${p}_${name}_${k}`, { type: 'string', maxLength: 9 }]),
    ),
    required: [`f0_${name}_${k}`],
  }))
  return strict({ oneOf: parts })
}

const LEVELS = Array.from({ length: 17 }, (_, i) => i)
/** Small to send, with more readings than there are atoms; a precedence ladder; and what is repeated within repetitions. */
const MANY_READINGS = (name: string) =>
  [`root ::= "${name}" r0`, ...LEVELS.map((i) => `r${i} ::= r${i + 1} r${i + 1}`), 'r17 ::= "a" | ""'].join('\n')
const LADDER = (name: string) =>
  [
    `root ::= "${name}" e0`,
    ...LEVELS.map((i) => `e${i} ::= e${i + 1} "${'+-*/'[i % 4]}" e${i} | e${i + 1}`),
    'e17 ::= [0-9]+ | "(" e0 ")"',
  ].join('\n')
const REPEATED = (name: string) => `root ::= "${name}" r\nr ::= ((r | "a") r+)*`

/** An answer that is held by a grammar that no other request has. */
export function ruled(i: number) {
  const grammar = [MANY_READINGS, LADDER, REPEATED][i % 3]!(fresh())
  return { model: NANO, messages: user(fresh()), max_tokens: 60, grammar }
}

const LARK = (name: string) =>
  ['start: item+', `item: "${name}" WORD ("," WORD)*`, 'WORD: /([a-z]+[0-9]?){1,20}/', '%ignore " "'].join('\n')
const formats = (name: string) => [
  { syntax: 'lark', definition: LARK(name) },
  { syntax: 'regex', definition: `${name}((a|b)*(b|c)*){1,40}(x|y){0,200}` },
]

/** Tools whose input is held by Lark and regular expressions, as chat and responses each want them. */
export function customTools(count: number): { readonly chat: object[]; readonly responses: object[] } {
  const named = Array.from({ length: count }, (_, i) => {
    const name = fresh()
    return { name: `t_${name}`, format: formats(name)[i % 2]! }
  })
  return {
    chat: named.map(({ name, format }) => ({
      type: 'custom',
      custom: { name, format: { type: 'grammar', grammar: format } },
    })),
    responses: named.map(({ name, format }) => ({ type: 'custom', name, format: { type: 'grammar', ...format } })),
  }
}

/** What is no schema and takes long to compile: expressions of many readings, and rules by the thousand. */
export function worded(i: number): object {
  const rules = Array.from({ length: 8000 }, (_, k) => `r${k} ::= "${k}" [a-z]`)
  const guided = [
    { guided_regex: `${fresh()}((a|b)*(b|c)*){1,40}(x|y){0,200}` },
    { guided_regex: `${fresh()}(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z]).{8,64}` },
    { guided_regex: `${fresh()}([a-z]{1,9}-?){1,60}[0-9]` },
    { grammar: `root ::= "${fresh()}" (${rules.map((_, k) => `r${k}`).join(' | ')})\n${rules.join('\n')}` },
  ]
  return { model: NANO, messages: user(fresh()), max_tokens: 20, ...guided[i % guided.length] }
}

/** Messages of one letter, as many as a body holds. */
export const letters = () =>
  Array.from({ length: 20_000 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: 'x' }))

/** Texts that a search compares at length wherever it looks for the one in the other. */
export const alike = () => ({
  model: NANO,
  messages: [
    { role: 'system', content: fresh() },
    { role: 'user', content: 'a'.repeat(40_000) },
    { role: 'system', content: `${'a'.repeat(450_000)}b${'a'.repeat(450_000)}` },
  ],
})

export const LINES = '{"a": 12}\n'
export const megabyte = (piece = 'word ') =>
  `${fresh()} ${piece.repeat(Math.floor(950_000 / JSON.stringify(piece).length))}`
