import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import * as told from './told.mjs'
import { aDistribution, aProbability, MAIL } from './typed.mjs'

const QUESTIONS = [
  { type: 'predicate', name: 'refund', instructions: 'A refund is asked for.' },
  {
    type: 'choice',
    instructions: 'Which of them?',
    choices: [{ value: true, description: 'It is so.' }, { value: 'true' }, { value: 'billing' }],
  },
  {
    type: 'score',
    name: 'urgency',
    instructions: 'How urgent?',
    levels: [{ label: 'low', description: 'any day' }, { label: 'high' }],
  },
]

function aDecision([refund, which, urgency]) {
  aProbability(refund.probability)
  told.same([refund.name, which.name, urgency.name], ['refund', null, 'urgency'])
  told.same(
    which.probabilities.map(({ value }) => value),
    [true, 'true', 'billing'],
  )
  aDistribution(which.probabilities.map(({ probability }) => probability))
  told.same(
    urgency.probabilities.map(({ label, value }) => [label, value]),
    [
      ['low', 0],
      ['high', 1],
    ],
  )
  told.same(urgency.score, urgency.probabilities[1].probability)
  return `${which.choice}, ${urgency.score.toFixed(2)}`
}

export function calls({ nano, scripted, key }) {
  const small = new OpenAI({ baseURL: nano, apiKey: key })
  const client = new OpenAI({ baseURL: scripted, apiKey: key })
  const hello = { model: told.AGENT, messages: [{ role: 'user', content: 'Hi' }] }
  const parameters = z.toJSONSchema(told.WEATHER.city)
  const tool = { type: 'function', name: 'weather', parameters, strict: true }
  return {
    'models.list': async () => told.same((await client.models.list()).data.length, 3) && 'three models',
    'chat.completions.create': async () => {
      const { choices, usage } = await client.chat.completions.create(hello)
      told.same([choices[0].finish_reason, usage.completion_tokens], ['stop', 3])
      return told.same(choices[0].message.content, told.HELLO)
    },
    'chat.completions.create, stream': async () => {
      let text = ''
      for await (const { choices } of await client.chat.completions.create({ ...hello, stream: true })) {
        text += choices[0]?.delta.content ?? ''
      }
      return told.same(text, told.HELLO)
    },
    'chat.completions.parse (strict)': async () => {
      const response_format = zodResponseFormat(told.Order, 'order')
      const { choices } = await small.chat.completions.parse({
        model: told.NANO,
        messages: told.MESSAGES,
        response_format,
      })
      return told.anOrder(choices[0].message.parsed)
    },
    'chat.completions.runTools': async () => {
      const call = { name: 'weather', parameters, parse: JSON.parse, function: told.weather }
      const runner = client.chat.completions.runTools({ ...hello, tools: [{ type: 'function', function: call }] })
      return told.same(await runner.finalContent(), told.TOLD)
    },
    'chat: a tool that must be called, strict': async () => {
      const order = { name: 'order', strict: true, parameters: z.toJSONSchema(told.Order) }
      const { choices } = await small.chat.completions.create({
        model: told.NANO,
        messages: told.MESSAGES,
        tools: [{ type: 'function', function: order }],
        tool_choice: 'required',
      })
      return told.anOrder(JSON.parse(choices[0].message.tool_calls[0].function.arguments))
    },
    'responses.create': async () => {
      const response = await client.responses.create({ model: told.AGENT, input: 'Hi' })
      return told.same(response.output_text, told.HELLO)
    },
    'responses.create, stream': async () => {
      let text = ''
      for await (const event of await client.responses.create({ model: told.AGENT, input: 'Hi', stream: true })) {
        if (event.type === 'response.output_text.delta') text += event.delta
      }
      return told.same(text, told.HELLO)
    },
    'responses.stream': async () => {
      const stream = client.responses.stream({ model: told.AGENT, input: 'Hi' })
      return told.same((await stream.finalResponse()).output_text, told.HELLO)
    },
    'responses.parse (strict)': async () => {
      const text = { format: zodTextFormat(told.Order, 'order') }
      const asked = { model: told.NANO, instructions: told.INSTRUCTIONS, input: told.TEXT, text }
      return told.anOrder((await small.responses.parse(asked)).output_parsed)
    },
    'chat.completions.stream, responses.stream: evidence': async () => {
      const chat = {
        model: told.NANO,
        messages: told.MESSAGES,
        response_format: zodResponseFormat(told.Order, 'order'),
      }
      const { choices } = await small.chat.completions.stream({ ...chat, evidence: true }).finalChatCompletion()
      const text = { format: zodTextFormat(told.Order, 'order') }
      const asked = { model: told.NANO, instructions: told.INSTRUCTIONS, input: told.TEXT, text, evidence: true }
      const { output } = await small.responses.stream(asked).finalResponse()
      told.same(Object.keys(choices[0].evidence), Object.keys(output[0].content[0].evidence))
      return told.same(Object.keys(choices[0].evidence), ['/product', '/quantity', '/urgent'])
    },
    'responses: tools, and their outputs': async () => {
      const asked = { model: told.AGENT, tools: [tool] }
      const { output } = await client.responses.create({ ...asked, input: 'Weather?' })
      const [call] = output.filter(({ type }) => type === 'function_call')
      const result = {
        type: 'function_call_output',
        call_id: call.call_id,
        output: told.weather(JSON.parse(call.arguments)),
      }
      const input = [{ role: 'user', content: 'Weather?' }, ...output, result]
      return told.same((await client.responses.create({ ...asked, input })).output_text, told.TOLD)
    },
    'responses: an async tool, whose output comes a turn later': async () => {
      const asked = { model: told.AGENT, tools: [{ ...tool, async: true }] }
      const { output } = await client.responses.create({ ...asked, input: 'Weather?' })
      const [call] = output.filter(({ type }) => type === 'function_call')
      const history = [{ role: 'user', content: 'Weather?' }, ...output, { role: 'user', content: 'Are you there?' }]
      const { output: said } = await client.responses.create({ ...asked, input: history, tool_choice: 'none' })
      const text = told.weather(JSON.parse(call.arguments))
      const input = [...history, ...said, { type: 'function_call_output', call_id: call.call_id, output: text }]
      return told.same((await client.responses.create({ ...asked, input })).output_text, told.TOLD)
    },
    'responses: store, previous_response_id': async () => {
      const asked = { model: told.AGENT, store: true }
      const { id } = await client.responses.create({ ...asked, input: 'Hi' })
      const next = await client.responses.create({ ...asked, input: 'And?', previous_response_id: id })
      told.same((await client.responses.retrieve(next.id)).previous_response_id, id)
      return told.same(next.output_text, told.HELLO)
    },
    'responses: background': async () => {
      let response = await client.responses.create({ model: told.AGENT, input: 'Hi', background: true })
      while (response.status === 'queued' || response.status === 'in_progress') {
        response = await client.responses.retrieve(response.id)
      }
      return told.same(response.output_text, told.HELLO)
    },
    'responses: reasoning': async () => {
      const { output } = await client.responses.create({
        model: told.THINKER,
        input: 'Hi',
        reasoning: { summary: 'auto' },
      })
      return told.same(output[0].summary[0].text, 'Let me think.')
    },
    'responses: local_shell, and its output': async () => {
      const asked = { model: told.CODER, tools: [{ type: 'local_shell' }] }
      const { output } = await client.responses.create({ ...asked, input: 'How is the weather?' })
      const [call] = output.filter(({ type }) => type === 'local_shell_call')
      told.same([call.action.type, call.action.command], ['exec', ['bash', '-lc', 'echo sunny in Bern']])
      const result = { type: 'local_shell_call_output', id: call.call_id, output: 'sunny in Bern' }
      const input = [{ role: 'user', content: 'How is the weather?' }, ...output, result]
      return told.same((await client.responses.create({ ...asked, input })).output_text, 'I was told: sunny in Bern')
    },
    'responses.inputTokens.count': async () => {
      const counted = await client.responses.inputTokens.count({ model: told.AGENT, input: 'Hi' })
      return `${told.same(counted.input_tokens, 2)} tokens`
    },
    'decisions.create: predicate, choice, score': async () => {
      const { answers, usage } = await small.decisions.create({ model: told.NANO, input: MAIL, questions: QUESTIONS })
      told.same([usage.output_tokens, usage.input_tokens_details.cache_write_tokens], [0, 0])
      return aDecision(answers)
    },
    'decisions.create: a conversation with tool calls and results': async () => {
      const text = (type, said) => ({ type, text: said })
      const input = [
        { role: 'system', content: [text('input_text', 'Mails to a shop.')] },
        { role: 'developer', content: 'Judge the last one.' },
        { role: 'user', content: [text('input_text', MAIL), { type: 'input_json', data: [{ customer: 'gold' }] }] },
        {
          role: 'assistant',
          content: [text('output_text', 'I look.'), { type: 'refusal', refusal: 'Not that.' }],
          phase: null,
        },
        { type: 'function_call', call_id: 'call_1', name: 'order', arguments: '{"id":2041}', id: null, status: null },
        {
          type: 'function_call_output',
          call_id: 'call_1',
          output: [text('input_text', 'paid twice')],
          status: 'completed',
        },
        { type: 'custom_tool_call', call_id: 'call_2', name: 'sql', input: 'SELECT 1', namespace: null },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: '1' },
      ]
      const questions = QUESTIONS.map(({ instructions, ...rest }) => ({
        ...rest,
        instructions: [text('input_text', instructions), { type: 'input_json', data: { ask: instructions } }],
      }))
      const more = {
        prompt_cache_key: 'mails',
        prompt_cache_options: { mode: 'implicit', ttl: '30m' },
        safety_identifier: 'me',
      }
      const { answers } = await small.decisions.create({ model: told.NANO, input, questions, ...more })
      return aDecision(answers)
    },
    'decisions.create: again, and several at once': () =>
      told.sameAgain(
        async () => (await small.decisions.create({ model: told.NANO, input: MAIL, questions: QUESTIONS })).answers,
      ),
    'decisions.create: a refused request': async () => {
      const questions = [{ type: 'choice', instructions: 'Which?', choices: [{ value: 'a' }, { value: 'a' }] }]
      const asked = { model: told.NANO, input: MAIL, questions }
      const error = await small.decisions.create(asked).catch((thrown) => thrown)
      told.same([error instanceof OpenAI.BadRequestError, error.param], [true, 'questions[0].choices[1].value'])
      return error.message
    },
    'completions.create': async () => {
      const { choices } = await client.completions.create({ model: told.AGENT, prompt: 'Say' })
      return told.aText(choices[0].text)
    },
    'embeddings.create': async () => {
      const { data } = await client.embeddings.create({ model: told.AGENT, input: told.TEXTS })
      return told.vectors(data.map(({ embedding }) => embedding))
    },
    'embeddings.create, dimensions': async () => {
      const { data } = await client.embeddings.create({ model: told.AGENT, input: told.TEXTS, dimensions: 20 })
      return told.vectors(
        data.map(({ embedding }) => embedding),
        20,
      )
    },
  }
}
