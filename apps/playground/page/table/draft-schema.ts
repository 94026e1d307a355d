/** Fields from a sentence that says what is wanted: from its words alone, or by a model that understands it. */
import type { ChatBody } from '../api.js'
import type { FormField, Kind } from '../schema-fields.js'

/** What stands before the first thing that is wanted. */
const OPENING =
  /^(?:please\s+)?(?:(?:i|we)\s+(?:want|need|would like)(?:\s+to\s+(?:know|have|see|find))?|extract|find|get|give me|list|tell me|show me|read|pull out|take|make a table of|columns?|fields?)\b[\s:]*/i
/** `From each review: ...`, `of every mail, ...`, `for each ticket ...` */
const SUBJECT = /^(?:from|of|for|in|per)\s+(?:each|every|all|the|any|these|this)(?:\s+[\w-]+){1,3}\s*[:,;]\s*/i
const SUBJECT_BEFORE_ARTICLE =
  /^(?:from|of|for|in|per)\s+(?:each|every|any)\s+\w+\s+(?=(?:the|a|an|who|when|where|how|whether|if)\b)/i
const TRAILING_SUBJECT = /\s+(?:of|from|in|for)\s+(?:each|every|all)\s+\w+[.!]?$/i
const ARTICLE =
  /^(?:and|also|then|or|the|a|an|its|their|his|her|each|any|all|of|(?:what|which)(?:\s+(?:is|are|was|were))?)\s+/i
const WHETHER = /^(?:whether|if|is|are|was|were|does|do|did|has|have|had|can|should|will)\s+/i
const PRONOUN = /^(?:or not\s+)?(?:it|they|he|she|this|that|there|the \w+|someone|somebody|the author|the customer)\s+/i
const AUXILIARY =
  /^(?:is|are|was|were|be|been|has been|have been|has|have|had|does|do|did|would|will|should|can|could|may|might|must|wants? to)\s+/i

const DATE = /\b(?:date|day|deadline|due|birthday|born|expir\w+|when)\b/i
const NUMBER =
  /\b(?:price|total|amount|costs?|sum|salary|pay|fee|weight|height|length|width|distance|temperature|percent\w*|rate|share|budget|revenue|tax|discount|balance|score)\b/i
const INTEGER =
  /\b(?:stars?|rating|age|quantity|count|number of|how many|pages?|minutes|hours|days|weeks|months|years?|seats|rooms|people|pieces|units|copies|points)\b/i
const LIST = /^(?:(?:a|the)\s+)?(?:list of|lists of|all|every|any)\s+/i
/** What ends with an s and is one thing. */
const SINGULAR = /(?:ss|us|is|ous|news|address|status|business|series|species|address)$/i
const HOW_MANY = /^(?:how many|the number of|number of|a count of|count of)\s+/i
const HOW_MUCH = /^how much\s+/i

/** The fields that a sentence names, one for each thing between its commas. */
export function fieldsFromWords(sentence: string): FormField[] {
  const fields: FormField[] = []
  for (const part of partsOf(bare(sentence))) {
    const field = fieldOf(part)
    if (!field || fields.some(({ name }) => name === field.name)) continue
    fields.push(field)
  }
  return fields
}

function bare(sentence: string): string {
  let text = sentence
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/[.!?]+$/, '')
  for (let before = ''; before !== text; ) {
    before = text
    text = text.replace(OPENING, '').replace(SUBJECT, '').replace(SUBJECT_BEFORE_ARTICLE, '')
  }
  return text.replace(TRAILING_SUBJECT, '')
}

/** Cut at commas, semicolons, the ends of sentences and `and`, but not within brackets, nor between what may be chosen. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  const end = (at: number, skip: number) => {
    parts.push(text.slice(from, at))
    from = at + skip
  }
  for (let i = 0; i < text.length; i++) {
    const letter = text[i]!
    if (/[([{]/.test(letter)) depth++
    else if (/[)\]}]/.test(letter)) depth = Math.max(0, depth - 1)
    if (depth > 0) continue
    const joint = /^(?:[,;]|[.?!](?=\s)|\s+(?:and|plus|as well as)(?=\s))/.exec(text.slice(i))
    // `low, medium or high`: the last of a choice is behind an `or`.
    if (joint) end(i, joint[0].length)
  }
  end(text.length, 0)
  return joinedChoices(parts.map((part) => part.trim()).filter((part) => part !== ''))
}

/** `priority: low`, `medium or high` is one thing with three choices. */
function joinedChoices(parts: readonly string[]): string[] {
  const joined: string[] = []
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    const opens = /^[^(]*(?::|\b(?:one of|either|being|as))\s*\S/.test(part)
    const last = parts.findIndex((each, at) => at > i && /\bor\b/.test(each))
    if (!opens || last < 0 || last - i > 8) joined.push(part)
    else {
      joined.push(parts.slice(i, last + 1).join(', '))
      i = last
    }
  }
  return joined
}

function fieldOf(part: string): FormField | undefined {
  const { words, options } = choicesOf(part)
  const plain = words.replace(/^(?:and|or|also|then)\s+/i, '')
  const asks = WHETHER.test(plain)
  if (options.length > 1 && !isYesNo(options)) return named(plain, 'choice', options.join(', '))
  if (asks || (options.length > 1 && isYesNo(options))) return named(statementOf(plain), 'boolean')
  if (HOW_MANY.test(plain)) return named(plain.replace(HOW_MANY, ''), 'integer')
  if (HOW_MUCH.test(plain))
    return named(
      plain
        .replace(HOW_MUCH, '')
        .replace(AUXILIARY, '')
        .replace(/^(?:it|they)\s+/i, '') || 'amount',
      'number',
    )
  if (/^when\b/i.test(plain)) return named(questionName(plain, 'date'), 'date')
  if (/^where\b/i.test(plain)) return named(questionName(plain, 'place'), 'text')
  if (/^who\b/i.test(plain)) return named(questionName(plain, 'person'), 'text')
  const bareWords = stripped(plain)
  if (LIST.test(plain)) return named(plain.replace(LIST, ''), 'texts')
  return named(bareWords, kindOf(bareWords))
}

function kindOf(words: string): Kind {
  if (DATE.test(words)) return 'date'
  if (INTEGER.test(words)) return 'integer'
  if (NUMBER.test(words)) return 'number'
  const last = words.split(/\s+/).at(-1) ?? ''
  return /[a-z]{3}s$/i.test(last) && !SINGULAR.test(last) ? 'texts' : 'text'
}

/** `priority (low, medium, high)`, `priority: low/high`, `priority, one of low or high`. */
function choicesOf(part: string): { words: string; options: string[] } {
  const [, words, inside] =
    /^(.*?)\s*[([{]([^)\]}]+)[)\]}]\s*$/.exec(part) ??
    /^(.*?)\s*(?::|\bone of\b|\beither\b)\s*(.+)$/i.exec(part) ??
    /^(\w[\w ]*?)\s+((?:\w+\s*\/\s*)+\w+)$/.exec(part) ??
    []
  if (words === undefined || inside === undefined || words.trim() === '') return { words: part, options: [] }
  // `stars (1-5)` and `price (in euros)` say something else.
  if (!/[,/|]|\bor\b/.test(inside)) return { words, options: [] }
  const options = inside
    .split(/\s*(?:,|\/|\||\bor\b)\s*/)
    .map((each) => each.trim().replace(/^['"“]|['"”]$/g, ''))
    .filter((each) => each !== '')
  return options.every((option) => /^\d+$/.test(option))
    ? { words, options: [] }
    : { words, options: [...new Set(options)] }
}

const isYesNo = (options: readonly string[]): boolean =>
  options.length === 2 && /^(?:yes|true)$/i.test(options[0]!) && /^(?:no|false)$/i.test(options[1]!)

/** `whether they would recommend it`: recommend. */
function statementOf(words: string): string {
  let text = words.replace(WHETHER, '').replace(PRONOUN, '')
  for (let before = ''; before !== text; ) {
    before = text
    text = text.replace(AUXILIARY, '')
  }
  return text.replace(/\s+(?:it|them|this|that|or not)$/i, '')
}

/** `who reported it`: reported by; `when it is due`: due date. */
function questionName(words: string, what: string): string {
  let rest = words.replace(/^(?:who|when|where)\s+/i, '')
  for (let before = ''; before !== rest; ) {
    before = rest
    rest = rest.replace(PRONOUN, '').replace(AUXILIARY, '')
  }
  rest = rest.replace(/\s+(?:it|them|this|that)$/i, '').trim()
  if (rest === '') return what
  return what === 'person' ? `${rest} by` : `${rest} ${what}`
}

function stripped(words: string): string {
  let text = words
  for (let before = ''; before !== text; ) {
    before = text
    text = text.replace(ARTICLE, '')
  }
  return text
}

const LONGEST = 4

function named(words: string, kind: Kind, options = ''): FormField | undefined {
  const name = stripped(words)
    .toLowerCase()
    .replace(/['’]s\b/g, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .match(/[\p{L}\p{N}]+/gu)
    ?.slice(0, LONGEST)
    .join('_')
  return name === undefined ? undefined : { name, kind, options }
}

/** What a larger model is asked, and what its answer must be. */
export function draftRequest(model: string, sentence: string, sample: string): ChatBody {
  const kinds = ['text', 'integer', 'number', 'boolean', 'date', 'choice', 'texts']
  const field = {
    type: 'object',
    properties: {
      name: { type: 'string', pattern: '^[a-z][a-z0-9_]{0,39}$' },
      kind: { enum: kinds },
      choices: { type: 'array', items: { type: 'string', maxLength: 40 }, maxItems: 12 },
    },
    required: ['name', 'kind', 'choices'],
    additionalProperties: false,
  }
  const schema = {
    type: 'object',
    properties: { fields: { type: 'array', items: field, minItems: 1, maxItems: 16 } },
    required: ['fields'],
    additionalProperties: false,
  }
  const system =
    'You design the columns of a table. The user says what is wanted of each text, and shows one of the texts. ' +
    'Answer with the columns: a short snake_case name for each, and its kind: text, integer, number, boolean, date, ' +
    'choice (with its choices) or texts (a list). Choices are empty for every other kind.'
  const user = `Wanted: ${sentence}\n\nOne of the texts: ${sample.slice(0, 1500)}`
  return {
    model,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ],
    temperature: 0,
    max_tokens: 900,
    response_format: { type: 'json_schema', json_schema: { name: 'columns', strict: true, schema } },
  }
}

export function fieldsFromAnswer(text: string): FormField[] {
  const { fields } = JSON.parse(text) as { fields: { name: string; kind: Kind; choices: string[] }[] }
  const seen = new Set<string>()
  return fields.flatMap(({ name, kind, choices }) => {
    if (seen.has(name)) return []
    seen.add(name)
    const options = [...new Set(choices.map((each) => each.replaceAll(',', ' ').trim()).filter((each) => each !== ''))]
    // A choice among nothing is a text.
    if (kind === 'choice' && options.length < 2) return [{ name, kind: 'text' as const, options: '' }]
    return [{ name, kind, options: kind === 'choice' ? options.join(', ') : '' }]
  })
}
