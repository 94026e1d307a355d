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
    chat(asked: Streamed): Promise<OllamaStream<OllamaPart>>
    chat(asked: object): Promise<OllamaPart>
    generate(asked: Streamed): Promise<OllamaStream<OllamaPart>>
    generate(asked: object): Promise<OllamaPart>
    pull(asked: Streamed): Promise<OllamaStream<{ readonly status: string }>>
    pull(asked: object): Promise<{ readonly status: string }>
    embed(asked: object): Promise<{ readonly embeddings: readonly (readonly number[])[] }>
    embeddings(asked: object): Promise<{ readonly embedding: readonly number[] }>
    systemone(asked: object): Promise<{ readonly answers: Readonly<Record<string, object>> }>
    list(): Promise<{ readonly models: readonly OllamaModel[] }>
    ps(): Promise<{ readonly models: readonly OllamaModel[] }>
    show(asked: object): Promise<{ readonly capabilities: readonly string[]; readonly details: { family: string } }>
    version(): Promise<{ readonly version: string }>
    copy(asked: object): Promise<unknown>
    delete(asked: object): Promise<unknown>
  }
}
