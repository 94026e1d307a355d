/** Requests to begin with, one for each thing that `/v1` can do beside chat and schemas. */
export interface RequestSample {
  readonly name: string
  readonly path: string
  readonly about: string
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

export const requestSamples: readonly RequestSample[] = [
  {
    name: 'Responses',
    path: '/responses',
    about: "OpenAI's newest form, as a stream of typed events.",
    body: (model) => ({ model, input: 'Who are you?', max_output_tokens: 60, stream: true }),
  },
  {
    name: 'Tools',
    path: '/chat/completions',
    about: "The model calls a function; with strict: true its arguments keep to the function's schema.",
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
    about: 'Models that can think first tell their thoughts apart from the answer, in reasoning_content.',
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
    about: 'How certain the model was of each token, and what else it weighed.',
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
    about: 'Texts as vectors, of models that make them; others say that they do not.',
    body: (model) => ({ model, input: ['a kettle', 'a teapot'] }),
  },
  {
    name: 'Rerank',
    path: '/rerank',
    about: 'How well each document answers a question, of models that score; others say that they do not.',
    body: (model) => ({ model, query: 'What boils water?', documents: ['a teapot', 'a kettle', 'a bicycle'] }),
  },
  {
    name: 'Decisions',
    path: '/decisions',
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
    about: 'A text as the model reads it.',
    body: (model) => ({ model, prompt: 'Nothing leaves this device.', return_token_strs: true }),
  },
]
