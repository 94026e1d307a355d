/**
 * Typed questions, typed fields, a strict document and vectors, asked of real models in every runtime: where the CPU
 * computes, what comes is the same everywhere, to the last bit. Not a test framework's: this also runs in pages.
 */

export type Ask = (path: string, init: RequestInit) => Promise<Response>

export interface TypedModels {
  readonly model: string
  /** One that makes vectors. */
  readonly encoder: string
}

type Asked = readonly [path: string, body: object]

const MAIL = 'I was charged twice for order 2041. Please refund me today.'
const INVOICE =
  'Invoice INV-2041 of 2026-03-04, total due 1250.50 USD by 14:30, warranty 2 years. Contacts: Ana Ruiz, Bo Lind. Call on 2026-05-06T10:00:00Z.'

const choice = {
  type: 'choice',
  name: 'team',
  instructions: 'Which team helps?',
  choices: [{ value: 'billing', description: 'Money' }, { value: 'the technicians' }, { value: false }],
}
const questions = [
  { type: 'predicate', name: 'refund', instructions: 'The customer wants money back.' },
  choice,
  { type: 'score', instructions: 'How urgent is it?', levels: ['low', 'some', 'high'].map((label) => ({ label })) },
]
const named = {
  refund: { type: 'noul', instructions: 'Is a refund asked for?', criteria: { true: 'Money back', false: null } },
  team: { type: 'choice', instructions: 'Which team helps?', criteria: { billing: 'Money', tech: null } },
  urgency: { type: 'score', instructions: 'How urgent is it?', criteria: ['not at all', null, { due: 'today' }] },
}
const fields = {
  number_of_it: { type: 'text', instructions: 'the invoice number' },
  total: { type: 'number', unit: 'USD', decimals: 2 },
  issued: { type: 'date' },
  until: { type: 'time' },
  call: { type: 'datetime' },
  warranty: { type: 'duration', unit: 'years', integer: true },
  contacts: { type: 'list', items: 'text' },
}
const schema = {
  type: 'object',
  properties: { order: { type: 'integer' }, refund: { type: 'boolean' }, tone: { enum: ['calm', 'angry'] } },
  required: ['order', 'refund', 'tone'],
  additionalProperties: false,
}

const requestsOf = ({ model, encoder }: TypedModels): Readonly<Record<string, Asked>> => ({
  'decisions: a text': ['/decisions', { model, input: MAIL, questions }],
  'decisions: a conversation, in every order': [
    '/decisions',
    {
      model,
      input: [
        { role: 'user', content: [{ type: 'input_json', data: { mail: MAIL } }] },
        { type: 'function_call', call_id: 'c', name: 'order', arguments: '{"id":2041}' },
        { type: 'function_call_output', call_id: 'c', output: 'paid twice' },
      ],
      questions,
      order: 'average',
    },
  ],
  systemone: ['/systemone', { model, state: { mail: MAIL }, questions: named }],
  extractions: ['/extractions', { model, state: INVOICE, fields, reference_date: '2026-11-26' }],
  'a strict document': [
    '/chat/completions',
    {
      ...{ model, temperature: 0, logprobs: true, top_logprobs: 2, messages: [{ role: 'user', content: MAIL }] },
      response_format: { type: 'json_schema', json_schema: { name: 'mail', strict: true, schema } },
    },
  ],
  vectors: ['/embeddings', { model: encoder, input: ['w300 w301 w302', 'w310'] }],
})

/** What is asked, alone and all at once, and what must be the same in any company; throws where it is not. */
export async function typedAnswers(ask: Ask, models: TypedModels): Promise<Record<string, unknown>> {
  const all = requestsOf(models)
  const answerTo = async (name: string): Promise<string> => {
    const [path, body] = all[name]!
    const headers = { 'content-type': 'application/json' }
    const response = await ask(`/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${name}: ${text}`)
    // Not ids, times and what was cached.
    const { answers, choices, data } = JSON.parse(text) as Record<string, unknown>
    return JSON.stringify(answers ?? choices ?? data)
  }
  const alone: Record<string, string> = {}
  for (const name of Object.keys(all)) alone[name] = await answerTo(name)
  const together = await Promise.all(Object.keys(all).map(async (name) => [name, await answerTo(name)] as const))
  for (const [name, text] of together) {
    if (text !== alone[name]) throw new Error(`${name}: alone ${alone[name]}, in company ${text}`)
  }
  return Object.fromEntries(together.map(([name, text]) => [name, JSON.parse(text)]))
}
