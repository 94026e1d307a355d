import type { Model } from './api.js'

/** Example requests, one for each thing that `/v1` can do beside chat and schemas. */
export interface RequestSample {
  readonly name: string
  readonly path: string
  readonly about: string
  /** What a model must be able to do; absent: any model can. */
  readonly needs?: keyof NonNullable<Model['capabilities']>
  readonly body: (model: string) => object
}

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
    strict: true,
  },
}

/** Whether a model can do it, as far as it says. */
export function canDo({ needs }: RequestSample, { capabilities }: Pick<Model, 'capabilities'> = {}): boolean {
  if (needs === undefined || !capabilities) return true
  // What few can do is said by those that can.
  return RARE.has(needs) ? capabilities[needs] === true : capabilities[needs] !== false
}

const RARE: ReadonlySet<RequestSample['needs']> = new Set(['embeddings', 'rerank', 'decisions', 'thinking'])

export const requestSamples: readonly RequestSample[] = [
  {
    name: 'Responses',
    path: '/responses',
    needs: 'chat',
    about: "OpenAI's newest form, as a stream of typed events.",
    body: (model) => ({ model, input: 'Who are you?', max_output_tokens: 60, stream: true }),
  },
  {
    name: 'Tools',
    path: '/chat/completions',
    needs: 'tools',
    about: "The model calls a function; with strict: true its arguments follow the function's schema.",
    body: (model) => ({
      model,
      messages: [{ role: 'user', content: 'What is the weather in Oslo, in celsius?' }],
      tools: [weather],
      tool_choice: 'required',
      max_tokens: 120,
    }),
  },
  {
    name: 'Thinking',
    path: '/chat/completions',
    needs: 'thinking',
    about: 'Models that think first return their thoughts separately, in reasoning_content.',
    body: (model) => ({
      model,
      messages: [{ role: 'user', content: 'A bat and a ball cost 1.10 together. The bat costs 1 more. And the ball?' }],
      chat_template_kwargs: { enable_thinking: true },
      max_tokens: 400,
      stream: true,
    }),
  },
  {
    name: 'Log probabilities',
    path: '/chat/completions',
    needs: 'logprobs',
    about: 'How certain the model was of each token, and which others it considered.',
    body: (model) => ({
      model,
      messages: [{ role: 'user', content: 'Hello!' }],
      logprobs: true,
      top_logprobs: 3,
      max_tokens: 8,
    }),
  },
  {
    name: 'Embeddings',
    path: '/embeddings',
    needs: 'embeddings',
    about: 'Turns texts into embeddings (vectors).',
    body: (model) => ({ model, input: ['a kettle', 'a teapot'] }),
  },
  {
    name: 'Rerank',
    path: '/rerank',
    needs: 'rerank',
    about: 'How well each document answers a question.',
    body: (model) => ({ model, query: 'What boils water?', documents: ['a teapot', 'a kettle', 'a bicycle'] }),
  },
  {
    name: 'Decisions',
    path: '/decisions',
    needs: 'decisions',
    about: 'Questions about a text, each answered with how likely every option is.',
    body: (model) => ({
      model,
      input: 'I was charged twice. Please fix this today.',
      questions: [
        { type: 'predicate', name: 'angry', instructions: 'The customer is angry.' },
        {
          type: 'choice',
          name: 'topic',
          instructions: 'What is it about?',
          choices: [{ value: 'billing' }, { value: 'shipping' }, { value: 'something else' }],
        },
      ],
    }),
  },
  {
    name: 'Tokens',
    path: '/tokenize',
    about: 'The tokens of a text, as the model reads them.',
    body: (model) => ({ model, prompt: 'Nothing leaves this device.', return_token_strs: true }),
  },
]
