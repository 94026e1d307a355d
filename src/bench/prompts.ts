/** Prompts made of common words by a seeded generator: anyone can make the same ones again. */

export const PROMPT_WORDS: readonly string[] =
  `time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point home water room
mother area money story fact month lot right study book eye job word business issue side kind head house service
friend father power hour game line end member law car city community name president team minute idea body information
back parent face others level office door health person art war history party result change morning reason research
girl guy moment air teacher force education`
    .split(/\s+/)
    .filter(Boolean)

/** `words` words; `prompt` stands at their beginning, so that no two prompts share more than the chat template. */
export function promptText(prompt: number, words: number): string {
  let state = (prompt * 2654435761 + 1) >>> 0
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return PROMPT_WORDS[(state >>> 8) % PROMPT_WORDS.length]!
  }
  const first = (Math.imul(prompt + 1, 2654435761) >>> 0).toString(36)
  return [first, ...Array.from({ length: Math.max(0, words - 1) }, next)].join(' ')
}

/** Texts to read and the documents to make of them: what strict JSON is measured on. */
export interface Task {
  readonly text: string
  readonly schema: Readonly<Record<string, unknown>>
}

const text = (maxLength: number) => ({ type: 'string', maxLength })
const object = (properties: Record<string, unknown>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

export const TASKS: readonly Task[] = [
  {
    text: 'I bought this kettle in March and give it 4 of 5 stars. It boils fast, but the lid is loose. I recommend it.',
    schema: object({
      product: text(40),
      stars: { type: 'integer', minimum: 1, maximum: 5 },
      recommended: { type: 'boolean' },
      sentiment: { enum: ['positive', 'neutral', 'negative'] },
      summary: text(60),
    }),
  },
  {
    text: 'Please send 12 desk lamps to the Berlin office by Friday, invoice to Anna Schmidt, anna@example.com.',
    schema: object({
      customer: object({ name: text(40), email: text(40) }),
      items: {
        type: 'array',
        minItems: 1,
        maxItems: 2,
        items: object({ product: text(30), quantity: { type: 'integer', minimum: 1, maximum: 999 } }),
      },
      city: text(20),
      urgent: { type: 'boolean' },
    }),
  },
  {
    text: 'The board meeting moved from Tuesday to 14 May at 10:30 in room 4. Bring the budget, the plan and your laptop.',
    schema: object({
      title: text(40),
      month: { enum: ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August'] },
      day: { type: 'integer', minimum: 1, maximum: 31 },
      room: { type: ['string', 'null'], maxLength: 10 },
      bring: { type: 'array', items: text(20), maxItems: 3 },
      remote: { type: 'boolean' },
    }),
  },
]
