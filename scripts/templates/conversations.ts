/** Eleven conversations as clients have them, in the form in which the library hands them to a template. */
import type { TemplateMessage, TemplateTool } from '../../src/generate/prompt/messages.js'
import type { TemplateInput } from '../../src/generate/prompt/template.js'
import type { JsonObject } from '../../src/platform/json.js'

const TOOLS: TemplateTool[] = [
  tool('get_weather', 'The "weather" of a place – now.', {
    ...{ city: { type: 'string', description: 'Where?' }, days: { type: 'integer', default: 1, minimum: 1 } },
    unit: { type: 'string', enum: ['C', 'F'], nullable: true },
  }),
  tool('send', '', {
    to: { type: 'array', items: { type: 'string' }, description: "Whom it's for." },
    note: {
      type: 'object',
      properties: { text: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
      required: ['text'],
    },
    urgent: { type: ['boolean', 'null'] },
  }),
]

const system = turn('system', 'You are terse; α & β are "kept".')
const ask = turn('user', "What's the weather in Köln?")
const more = turn('user', 'And <tomorrow>?\n')
const answer = turn('assistant', 'Sunny: 21 °C.')
const city = called('call_000000001', 'get_weather', { city: 'Köln', days: 2, unit: null })
const mail = called('call_000000002', 'send', { to: ['Ann "A"', "O'Neil"], note: { text: 'x\ny' }, urgent: false })
const sunny = result('call_000000001', 'get_weather', '{"sky": "sunny", "high": 21.0}')
const sent = result('call_000000002', 'send', 'sent to all')

export const CONVERSATIONS: Readonly<Record<string, TemplateInput>> = {
  'a question': of([ask]),
  'a system message': of([system, ask]),
  'an answer': of([system, ask, answer, more]),
  'tools to call': of([system, ask], TOOLS),
  'a call': of([ask, calling([city]), sunny], TOOLS),
  'two calls at once': of([system, ask, calling([city, mail], 'Let me see.'), sunny, sent], TOOLS),
  'calls one after the other': of([ask, calling([city]), sunny, calling([mail]), sent, answer, more], TOOLS),
  'a result, and a word': of([ask, calling([city]), sunny, more], TOOLS),
  'two messages in a row': of([ask, more, answer, turn('user', 'Thanks.')]),
  thoughts: of([ask, thinking('I know it.', answer), more, thinking('A call.', calling([city])), sunny], TOOLS),
  'a thought not wanted': of([system, ask, thinking('Hm.', answer), more], [], {
    enable_thinking: false,
    thinking: false,
  }),
}

function of(messages: TemplateMessage[], tools: TemplateTool[] = [], options: JsonObject = {}): TemplateInput {
  return { messages, tools, options }
}

function turn(role: string, content: string): TemplateMessage {
  return { role, content }
}

function result(id: string, name: string, content: string): TemplateMessage {
  return { role: 'tool', content, tool_call_id: id, name }
}

function called(id: string, name: string, args: JsonObject) {
  return { id, type: 'function' as const, function: { name, arguments: args } }
}

function calling(calls: TemplateMessage['tool_calls'], content = ''): TemplateMessage {
  return { role: 'assistant', content, ...(calls && { tool_calls: calls }) }
}

function thinking(thought: string, message: TemplateMessage): TemplateMessage {
  return { ...message, reasoning_content: thought, reasoning: thought }
}

function tool(name: string, description: string, properties: JsonObject): TemplateTool {
  const parameters = { type: 'object', properties, required: Object.keys(properties).slice(0, 1) }
  return { type: 'function', function: { name, description, parameters } }
}
