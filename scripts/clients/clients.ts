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
    title: 'AI SDK with @ai-sdk/openai',
    package: '@ai-sdk/openai',
    file: 'ai-sdk.mjs',
    sets: '`createOpenAI({ baseURL, apiKey })(model)` calls `/responses`, `.chat(model)` calls `/chat/completions`, `.decisionModel(model)` calls `/decisions`. Its `.extractionModel(model)` requests a JSON document and describes the form of dates and times in its schema. `/v1` enforces the form, but the values depend on the model, here a very small one. The extraction model of `local-v1/ai-sdk` calls `/extractions`, which parses dates and times from the text.',
    cannot: ['experimental_extract: dates and times'],
  },
  {
    title: 'AI SDK with @ai-sdk/openai-compatible',
    package: '@ai-sdk/openai-compatible',
    file: 'ai-sdk-compatible.mjs',
    sets: '`createOpenAICompatible({ name, baseURL, apiKey, supportsStructuredOutputs: true })(model)`. Without `supportsStructuredOutputs` it sends no schema, and the answer is any JSON object.',
    cannot: ['Output.object, without supportsStructuredOutputs'],
  },
  {
    title: 'AI SDK with local-v1/ai-sdk',
    package: 'ai',
    file: 'ai-sdk-here.mjs',
    sets: '`localV1({ baseURL, apiKey })(model)`, or with a service in the same process.',
  },
  {
    title: 'TanStack AI',
    package: '@tanstack/ai-openai',
    file: 'tanstack-ai.mjs',
    sets: '`createOpenaiChatCompletions(model, apiKey, { baseURL })`, or `createOpenaiChat` for `/responses`.',
  },
  {
    title: 'OpenAI Agents SDK',
    package: '@openai/agents',
    file: 'agents.mjs',
    sets: '`new Runner({ modelProvider: new OpenAIProvider({ baseURL, apiKey }), tracingDisabled: true })`; otherwise traces go to OpenAI.',
  },
  {
    title: 'Agents of the terminal',
    file: 'coders.mjs',
    large: [
      ...['@openai/codex', '@anthropic-ai/claude-code', 'opencode-ai', '@qwen-code/qwen-code'],
      ...['@earendil-works/pi-coding-agent', '@github/copilot', '@continuedev/cli'],
    ],
    sets: 'Codex: a `model_providers` entry with `base_url`, `env_key` and `wire_api = "responses"`. Claude Code: `ANTHROPIC_BASE_URL` without `/v1`, and `--model`. opencode: a `provider` of `@ai-sdk/openai-compatible` with `baseURL`. Qwen Code: `--auth-type openai`, `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `OPENAI_MODEL`. pi: a provider in `models.json` with `api: "openai-completions"` and `baseUrl`. Copilot CLI: `COPILOT_PROVIDER_BASE_URL`, `COPILOT_PROVIDER_API_KEY` and `COPILOT_MODEL`. Continue: a model in its `config.yaml` with `provider: openai` and `apiBase`. `npm run check:clients -- coders` runs them, separately, because they are more than a gigabyte.',
  },
  {
    title: 'LangChain',
    package: 'langchain',
    file: 'langchain.mjs',
    sets: '`new ChatOpenAI({ model, apiKey, configuration: { baseURL } })`, with `useResponsesApi: true` for `/responses`. There `toolStrategy`, the default of `responseFormat`, sends no `tool_choice`, so the model may not call the tool: use `providerStrategy(schema)`.',
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
    sets: '`Instructor({ client: new OpenAI({ baseURL, apiKey }), mode })`, with schemas from `zod/v3`, and the modes `TOOLS` and `JSON_SCHEMA`. The other modes only describe the schema in the prompt, and the answer is any JSON object.',
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
    sets: '`openAICompatible({ name, baseURL, apiKey })`, and models as `compatOaiModelRef({ name: "NAME/MODEL" })`. Without a `resolver` that says `constrained: "all"` of the model, Genkit only describes the schema in the prompt, and the answer is any JSON object.',
    cannot: ['output.schema'],
  },
  {
    title: 'Anthropic',
    package: '@anthropic-ai/sdk',
    file: 'anthropic.mjs',
    sets: '`new Anthropic({ baseURL, apiKey })`; the base URL is without `/v1`.',
  },
  {
    title: 'TypeSafe',
    package: '@typesafe-ai/sdk',
    file: 'typesafe.mjs',
    sets: '`new TypeSafeClient({ baseURL, apiKey, defaultModel })`, the base URL without `/v1`; `createTypeSafeAi({ baseURL, apiKey }).evaluationModel(model)` for the AI SDK, with `/v1`; `new OpenRouter({ apiKey }).alpha.decisions.create(..., { serverURL })`, without it. wllama (in a page) and Ollama (over HTTP) use the same form.',
  },
  {
    title: 'Extractions',
    file: 'extractions.mjs',
    sets: '`POST /v1/extractions`, `/v1/extraction` and `/api/alpha/extractions`, with the requests that OpenRouter, Merge and LiteLLM document; their npm packages have no such call. For the AI SDK see `experimental_extract` above.',
  },
  {
    title: 'Ollama',
    package: 'ollama',
    file: 'ollama.mjs',
    sets: '`new Ollama({ host, headers })`, for `serve --ollama` or `endpoints: [ollama()]`. The host is without `/v1`; if a key is needed, add an `Authorization` header.',
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
  ...['@tanstack/ai', '@tanstack/ai-openai'],
  ...['@instructor-ai/instructor', '@mastra/core', 'genkit', '@genkit-ai/compat-oai', '@anthropic-ai/sdk', 'ollama'],
  ...['@typesafe-ai/sdk', '@ai-sdk/typesafe-ai', '@openrouter/sdk', 'zod', 'express', 'node@24'],
]
