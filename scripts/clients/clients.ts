/** A client whose calls are made. */
export interface Client {
  readonly title: string
  /** Absent: no client has it, and the requests are those that its hosts print. */
  readonly package?: string
  /** Beside this one. */
  readonly file: string
  /** What to set for it to ask here. */
  readonly sets: string
  /** What only its calls need, and is large: it is installed where it is asked for by the name of its file. */
  readonly large?: readonly string[]
  /** Calls that cannot work, whose row says why. */
  readonly cannot?: readonly string[]
}

export const CLIENTS: readonly Client[] = [
  {
    title: 'openai',
    package: 'openai',
    file: 'openai.mjs',
    sets: '`new OpenAI({ baseURL, apiKey })`.',
  },
  {
    title: 'AI SDK, by @ai-sdk/openai',
    package: '@ai-sdk/openai',
    file: 'ai-sdk.mjs',
    sets: '`createOpenAI({ baseURL, apiKey })(model)` asks by responses, `.chat(model)` by chat completions, `.decisionModel(model)` by decisions. Its `.extractionModel(model)` asks for a document and puts the form of dates and times into words, to which `/v1` holds it; what they say is left to a model of 2 MB: that of `local-v1/ai-sdk` asks by extractions, and reads them from the text.',
    cannot: ['experimental_extract: dates and times'],
  },
  {
    title: 'AI SDK, by @ai-sdk/openai-compatible',
    package: '@ai-sdk/openai-compatible',
    file: 'ai-sdk-compatible.mjs',
    sets: '`createOpenAICompatible({ name, baseURL, apiKey, supportsStructuredOutputs: true })(model)`. Without `supportsStructuredOutputs` it sends no schema, and what comes is any JSON object.',
    cannot: ['Output.object, without supportsStructuredOutputs'],
  },
  {
    title: 'AI SDK, by local-v1/ai-sdk',
    package: 'ai',
    file: 'ai-sdk-here.mjs',
    sets: '`localV1({ baseURL, apiKey })(model)`, or over a service in the same process.',
  },
  {
    title: 'OpenAI Agents SDK',
    package: '@openai/agents',
    file: 'agents.mjs',
    sets: '`new Runner({ modelProvider: new OpenAIProvider({ baseURL, apiKey }), tracingDisabled: true })`; traces would go to OpenAI.',
  },
  {
    title: 'Codex, Claude Code, opencode',
    file: 'coders.mjs',
    large: ['@openai/codex', '@anthropic-ai/claude-code', 'opencode-ai'],
    sets: 'Codex: a `model_providers` entry with `base_url`, `env_key` and `wire_api = "responses"`. Claude Code: `ANTHROPIC_BASE_URL` without `/v1`, and `--model`. opencode: a `provider` of `@ai-sdk/openai-compatible` with `baseURL`. Run by `npm run check:clients -- coders`, as they are a gigabyte.',
  },
  {
    title: 'LangChain',
    package: 'langchain',
    file: 'langchain.mjs',
    sets: '`new ChatOpenAI({ model, apiKey, configuration: { baseURL } })`, with `useResponsesApi: true` by responses. There `toolStrategy`, the default of `responseFormat`, sends no `tool_choice`, and whether its tool is called is up to the model: say `providerStrategy(schema)`.',
    cannot: ['useResponsesApi: createAgent({ responseFormat })', 'useResponsesApi: createAgent, toolStrategy'],
  },
  {
    title: 'LlamaIndex',
    package: '@llamaindex/openai',
    file: 'llamaindex.mjs',
    sets: '`new OpenAI({ model, apiKey, baseURL })`.',
  },
  {
    title: 'Instructor',
    package: '@instructor-ai/instructor',
    file: 'instructor.mjs',
    sets: '`Instructor({ client: new OpenAI({ baseURL, apiKey }), mode })`, with schemas from `zod/v3`, and the modes `TOOLS` and `JSON_SCHEMA`; the others put the schema into words, and what comes is any JSON object.',
    cannot: ['JSON', 'MD_JSON'],
  },
  {
    title: 'Mastra',
    package: '@mastra/core',
    file: 'mastra.mjs',
    sets: '`new Agent({ ..., model: { id: "local/MODEL", url: baseURL, apiKey } })`.',
  },
  {
    title: 'Genkit',
    package: '@genkit-ai/compat-oai',
    file: 'genkit.mjs',
    sets: '`openAICompatible({ name, baseURL, apiKey })`, and models as `compatOaiModelRef({ name: "NAME/MODEL" })`. Without a `resolver` that says `constrained: "all"` of the model, Genkit puts schemas into words, and what comes is any JSON object.',
    cannot: ['output.schema'],
  },
  {
    title: 'Anthropic',
    package: '@anthropic-ai/sdk',
    file: 'anthropic.mjs',
    sets: '`new Anthropic({ baseURL, apiKey })`, the base URL without `/v1`.',
  },
  {
    title: 'TypeSafe',
    package: '@typesafe-ai/sdk',
    file: 'typesafe.mjs',
    sets: '`new TypeSafeClient({ baseURL, apiKey, defaultModel })`, the base URL without `/v1`; `createTypeSafeAi({ baseURL, apiKey }).evaluationModel(model)` for the AI SDK, with it; `new OpenRouter({ apiKey }).alpha.decisions.create(..., { serverURL })`, without it. wllama decides in a page and Ollama by HTTP, in the same form.',
  },
  {
    title: 'Extractions',
    file: 'extractions.mjs',
    sets: '`POST /v1/extractions`, `/v1/extraction` and `/api/alpha/extractions`, as OpenRouter, Merge and LiteLLM print them: their npm packages have no such call. By the AI SDK see `experimental_extract` above.',
  },
  {
    title: 'Ollama',
    package: 'ollama',
    file: 'ollama.mjs',
    sets: '`new Ollama({ host, headers })`, of `serve --ollama` or `endpoints: [ollama()]`; the host without `/v1`, and a header `Authorization` where a key is asked for.',
  },
]

/** With them what runs them; the newest of each. */
export const PACKAGES: readonly string[] = [
  ...[
    'openai',
    'openai6@npm:openai@6',
    'ai',
    '@ai-sdk/openai',
    '@ai-sdk/openai-compatible',
    '@ai-sdk/cohere',
    '@openai/agents',
  ],
  ...['langchain', '@langchain/openai', '@langchain/core', 'llamaindex', '@llamaindex/openai'],
  ...['@instructor-ai/instructor', '@mastra/core', 'genkit', '@genkit-ai/compat-oai', '@anthropic-ai/sdk', 'ollama'],
  ...['@typesafe-ai/sdk', '@ai-sdk/typesafe-ai', '@openrouter/sdk', 'zod', 'express', 'node@24'],
]
