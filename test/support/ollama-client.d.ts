/** What tests ask of the client of Ollama, so that types are checked where it is not installed too. */
declare module 'ollama' {
  export interface OllamaMessage {
    readonly role: string
    readonly content: string
    readonly thinking?: string
    readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: object } }[]
  }
  export interface OllamaPart {
    readonly message: OllamaMessage
    readonly response?: string
    readonly done_reason: string
    readonly prompt_eval_count: number
  }
  export type OllamaStream<Each> = AsyncIterable<Each> & { abort(): void }
  interface Streamed {
    readonly stream: true
    readonly [field: string]: unknown
  }
  interface OllamaModel {
    readonly name: string
  }
  export class Ollama {
    constructor(options: { readonly host: string; readonly headers?: Readonly<Record<string, string>> })
    chat(request: Streamed): Promise<OllamaStream<OllamaPart>>
    chat(request: object): Promise<OllamaPart>
    generate(request: Streamed): Promise<OllamaStream<OllamaPart>>
    generate(request: object): Promise<OllamaPart>
    pull(request: Streamed): Promise<OllamaStream<{ readonly status: string }>>
    pull(request: object): Promise<{ readonly status: string }>
    embed(request: object): Promise<{ readonly embeddings: readonly (readonly number[])[] }>
    embeddings(request: object): Promise<{ readonly embedding: readonly number[] }>
    systemone(request: object): Promise<{ readonly answers: Readonly<Record<string, object>> }>
    list(): Promise<{ readonly models: readonly OllamaModel[] }>
    ps(): Promise<{ readonly models: readonly OllamaModel[] }>
    show(request: object): Promise<{ readonly capabilities: readonly string[]; readonly details: { family: string } }>
    version(): Promise<{ readonly version: string }>
    copy(request: object): Promise<unknown>
    delete(request: object): Promise<unknown>
  }
}
