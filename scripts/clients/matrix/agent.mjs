/**
 * An agent of ten turns with five tools, whatever client it goes through: what is asked, how a history begins, and what
 * must hold of every answer. Behind it are made-up weights, so that form alone is judged.
 */
import { z } from 'zod'

export const TOOLS = {
  weather: {
    description: 'The weather of a place.',
    schema: z.object({ city: z.string(), unit: z.enum(['C', 'F']), days: z.number().int() }),
  },
  search: {
    description: 'Searches the files.',
    schema: z.object({
      query: z.string(),
      limit: z.number().int().nullable(),
      filters: z.array(z.object({ field: z.string(), value: z.string() })),
    }),
  },
  send: {
    description: 'Sends a mail.',
    schema: z.object({ to: z.array(z.string()), subject: z.string(), urgent: z.boolean() }),
  },
  calculate: {
    description: 'Calculates.',
    schema: z.object({ op: z.enum(['add', 'mul']), values: z.array(z.number()) }),
  },
  done: { description: 'Ends the work.', schema: z.object({}) },
}
export const NAMES = Object.keys(TOOLS)
export const SYSTEM = 'You are an agent. "Use" your <tools>, and be brief.'
export const parametersOf = (name) => {
  const { $schema, ...schema } = z.toJSONSchema(TOOLS[name].schema)
  return schema
}
export const resultOf = ({ name }, i) => `{"tool": "${name}", "result": ${i}, "note": "all is well"}`
/** What an answer in words, and one that is a call, may take. */
export const [WORDS, CALL] = [100, 160]

const said = (text) => ({ role: 'user', text })
const answered = (text, more = {}) => ({ role: 'assistant', text, calls: [], ...more })
const called = (id, name, input) => ({ id, name, input })
const result = (call, text) => ({ role: 'tool', call, text })
const paris = called('call_Zk3vN8sQwErTyUiOpAsDfGh1', 'weather', { city: 'Paris', unit: 'C', days: 2 })
const oslo = called('call_Zk3vN8sQwErTyUiOpAsDfGh2', 'weather', { city: 'Oslo', unit: 'C', days: 2 })
const mail = called('toolu_01A09q90qw90lq917835lq9', 'send', { to: ['a@b.c'], subject: 'Hi', urgent: false })

/** How a conversation may have begun before the agent goes on with it. */
export const KINDS = {
  fresh: [],
  'parallel calls': [
    said('Paris and Oslo?'),
    answered('Let me look at both.', { calls: [paris, oslo] }),
    result(paris, 'sunny'),
    result(oslo, 'rain'),
    answered('Sunny in Paris, rain in Oslo.'),
  ],
  thoughts: [
    said('Paris?'),
    answered('', { thought: 'I should look it up.', calls: [paris] }),
    result(paris, 'sunny'),
    answered('It is sunny.', { thought: 'That was easy.' }),
  ],
  resumed: [
    said('Send it.'),
    answered('I send it.', { calls: [mail] }),
    result(mail, 'sent'),
    said('And again, please.'),
    answered('Again?'),
    said('Yes.'),
    answered('', { calls: [paris] }),
    result(paris, 'sunny'),
  ],
  compacted: [
    said('This session continues an earlier one. Summary: mails were sent, the weather was looked up in Paris.'),
    answered('I go on from there.'),
  ],
  'ids of another': [
    said('Paris?'),
    answered('I look.', { calls: [paris], thought: 'Look it up.', foreign: true }),
    result(paris, 'sunny'),
    answered('Sunny.', { foreign: true }),
  ],
}

/** What is said and how the answer is held, turn by turn; without words it goes on from a result. */
export const TURNS = [
  { words: ['Which file has the address of Köln?'], choice: 'required' },
  { choice: 'auto' },
  { words: ['Look for "α & β".'], choice: { name: 'search' } },
  { words: ['And <then>?'], choice: 'none' },
  { words: ['Write to them.'], choice: 'required' },
  { choice: 'auto' },
  { words: ['What do you think?'], choice: 'auto' },
  { words: ['Well?', 'Are you there?'], choice: 'auto' },
  { words: ['Add 2 and 3.'], choice: { name: 'calculate' } },
  { choice: 'none' },
]

/** Texts compare without blanks at their ends, which some clients take off. */
const told = ({ text, calls }) => JSON.stringify([text.trim(), calls.map(({ name, input }) => [name, input])])

/** Runs the agent in a conversation; what went wrong, by turn. */
export async function runAgent(conversation, turns) {
  const faults = []
  let asked = 0
  for (const [i, { words = [], choice }] of TURNS.slice(0, turns).entries()) {
    const fault = (what) => faults.push({ turn: i + 1, what: String(what).slice(0, 300) })
    for (const text of words) conversation.say(text)
    const answers = {}
    for (const stream of [false, true]) {
      asked++
      try {
        answers[stream ? 'stream' : 'whole'] = await conversation.ask({ choice, stream })
      } catch (error) {
        fault(`${stream ? 'stream' : 'whole'}, ${JSON.stringify(choice)}: ${error?.message ?? error}`)
      }
    }
    const { whole, stream } = answers
    if (!whole) break
    if (stream && !conversation.isRandom) sameAs(told(whole), told(stream), fault)
    if (choice !== 'auto' && choice !== 'none') held(whole, choice, conversation, fault)
    conversation.keep(whole)
    if (whole.calls.length > 0 && !whole.answered) conversation.results(whole.calls, whole.calls.map(resultOf))
  }
  return { asked, faults }
}

function sameAs(whole, stream, fault) {
  if (whole === stream) return
  let at = 0
  while (whole[at] === stream[at]) at++
  const escaped = (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`
  const near = (text) => text.slice(Math.max(0, at - 40), at + 40).replace(/[^ -~]/gu, escaped)
  fault(`from ${at} on the stream is ${near(stream)}, the whole ${near(whole)}`)
}

/** A call that must be made is made, of a tool that may be called, with arguments of its schema. */
function held({ calls }, choice, { cannotForce, schemas }, fault) {
  if (calls.length === 0 && !cannotForce) fault(`no call where ${JSON.stringify(choice)} asks for one`)
  for (const { name, input } of calls) {
    if (typeof choice === 'object' && name !== choice.name && !cannotForce)
      fault(`${name} is called in place of ${choice.name}`)
    const judged = (schemas?.[name] ?? TOOLS[name]?.schema.strict())?.safeParse(input)
    // Who did not ask for a call is told of one that may be cut off.
    if (!judged?.success && !cannotForce) fault(`${name} is called with ${JSON.stringify(input)}`)
  }
}
