/** What we use of node-llama-cpp: its public interface, but for one method that is asked for before it is used. */

export interface LlamaCppLibrary {
  getLlama(options: {
    readonly gpu: 'auto' | false
    readonly build: 'never'
    readonly skipDownload: true
    readonly logLevel: string
    readonly logger: (level: string, message: string) => void
    readonly maxThreads?: number
  }): Promise<Llama>
}

export interface Llama {
  /** What it computes on; false: the CPU. */
  readonly gpu: string | false
  readonly cpuMathCores: number
  readonly llamaCppRelease: { readonly release: string }
  getGpuDeviceNames(): Promise<readonly string[]>
  loadModel(options: {
    readonly modelPath: string
    readonly gpuLayers?: number | 'max'
    readonly loadSignal: AbortSignal
    readonly onLoadProgress: (share: number) => void
  }): Promise<NativeModel>
  dispose(): Promise<void>
}

export interface NativeModel {
  readonly trainContextSize: number
  readonly fileInfo?: {
    /** By the parts of their names: `rope` of `phi3` has `scaling`. */
    readonly metadata?: unknown
  }
  readonly size: number
  createContext(options: {
    readonly contextSize: number
    readonly batchSize: number
    readonly sequences: number
    readonly threads?: number
    readonly createSignal: AbortSignal
  }): Promise<NativeContext>
  /** Of models that make vectors. */
  readonly embeddingVectorSize: number
  createEmbeddingContext(options: {
    readonly contextSize: number
    readonly batchSize: number
    readonly threads?: number
    readonly createSignal: AbortSignal
  }): Promise<NativeVectors>
  dispose(): Promise<void>
}

export interface NativeVectors {
  /** Puts the marks of a beginning and an end around tokens that have none. */
  getEmbeddingFor(tokens: number[]): Promise<{ readonly vector: readonly number[] }>
  dispose(): Promise<void>
}

export interface NativeContext {
  /** Of each sequence. */
  readonly contextSize: number
  readonly memoryUsage?: { readonly ram: number; readonly vram: number }
  getSequence(): NativeSequence
  dispose(): Promise<void>
}

export interface NativeSequence {
  /** Tokens that it holds. */
  readonly nextTokenIndex: number
  /** Its model cannot go back anywhere: it does so to states that were kept. */
  readonly needsCheckpoints: boolean
  /** Cuts what does not begin as `tokens` does, and more where that cannot be cut. */
  adaptStateToTokens(tokens: readonly number[], allowShift: false): Promise<void>
  /** How many tokens would have to be read again to go back to this length; -1 where there is nothing to go back from. */
  getRestoreToPrefixIndexEvaluationSize(length: number): number
  takeCheckpoint(): Promise<void>
  clearHistory(): Promise<void>
  controlledEvaluate(input: readonly EvaluatedToken[]): Promise<readonly (LogitsReply | undefined)[]>
  /** No part of its public interface. False where it did not come to that. */
  _copyStateFromOtherSequence?(other: NativeSequence, length: number): Promise<boolean>
}

export type EvaluatedToken = number | readonly [token: number, options: { readonly generateNext: LogitsRequest }]

export interface LogitsReply {
  readonly next: { readonly logits?: ReadonlyMap<number, number> }
}

/** Which logits are to be returned. */
export interface LogitsRequest {
  readonly logits: true | { readonly filter: { readonly tokens: readonly number[] } }
  /** With a temperature, the `topK` greatest alone. */
  readonly options: { readonly temperature: 0 } | Likeliest
}

interface Likeliest {
  readonly temperature: 1
  readonly topK: number
  readonly topP: 1
  readonly minP: 0
}
