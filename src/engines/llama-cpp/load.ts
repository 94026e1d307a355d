import { ChatText, type TextFiles } from '../../decode/chat-text.js'
import { DecodeLoop } from '../../decode/decode-loop.js'
import { V1Error } from '../../errors.js'
import { asBroken, broken } from '../../repository/failure.js'
import { digestOf } from '../../repository/json.js'
import type { LoadReport } from '../../repository/progress.js'
import type { Llama, NativeContext, NativeModel } from './library.js'
import type { LlamaCppModelOptions, LlamaCppOptions } from './options.js'
import { LlamaCppModel } from './token-model.js'

/** A model in llama.cpp, ready to answer. */
export interface LoadedLlamaCpp {
  readonly id: string
  readonly runner: DecodeLoop
  readonly contextLength: number
  readonly fingerprint: string
  readonly bytes: number
}

export interface OpenedFile {
  readonly path: string
  readonly text: TextFiles
  /** Of what the file says of itself. */
  readonly digest: string
}

export interface LlamaCppLoadContext {
  readonly llama: Llama
  readonly file: OpenedFile
  readonly settings: Pick<LlamaCppOptions, 'threads' | 'maxBatch' | 'drafts'>
  readonly report: LoadReport
  readonly signal: AbortSignal
  /** What llama.cpp has said of faults since this load began. */
  readonly complaints: () => readonly string[]
}

const CONTEXT = 8192
const MAX_BATCH = 4
/** Tokens of one pass: between passes a request can be aborted. */
const CHUNK = 512

export async function loadModel(model: LlamaCppModelOptions, context: LlamaCppLoadContext): Promise<LoadedLlamaCpp> {
  const { llama, file, settings } = context
  const { id } = model
  const text = textOf(file)
  const native = await openNative(model, context)
  try {
    const maxBatch = settings.maxBatch ?? MAX_BATCH
    const opened = await openContext(native, model, maxBatch, context)
    const release = async () => {
      await opened.dispose()
      await native.dispose()
    }
    const contextLength = Math.min(wantedContext(native, model), opened.contextSize - 1)
    const fingerprint = `fp_${digestOf(file.digest, llama.llamaCppRelease.release, String(llama.gpu))}`
    const tokens = text.tokenizer.size
    const natives = Array.from({ length: maxBatch }, () => opened.getSequence())
    const maxChunk = Math.min(CHUNK, contextLength)
    const forward = new LlamaCppModel({ natives, tokens, contextLength, maxBatch, maxChunk, fingerprint, release })
    // Most of a second for a large tokenizer: better now than in the first request for JSON.
    void text.vocabulary
    const runner = new DecodeLoop(forward, text, settings.drafts ? { drafts: settings.drafts } : {})
    const { ram = 0, vram = 0 } = opened.memoryUsage ?? {}
    return { id, runner, contextLength, fingerprint, bytes: native.size + ram + vram }
  } catch (error) {
    await native.dispose()
    throw error
  }
}

function textOf({ path, text }: OpenedFile): ChatText {
  try {
    return new ChatText(text)
  } catch (error) {
    throw asBroken(path, error)
  }
}

async function openNative(
  { id, gpuLayers }: LlamaCppModelOptions,
  { llama, file, report, signal, complaints }: LlamaCppLoadContext,
): Promise<NativeModel> {
  const tell = (share: number) => {
    const percent = Math.round(share * 100)
    report({ phase: 'upload', bytesLoaded: percent, bytesTotal: 100, filesLoaded: 0, filesTotal: 1 })
  }
  tell(0)
  try {
    return await llama.loadModel({
      modelPath: file.path,
      loadSignal: signal,
      onLoadProgress: tell,
      ...(gpuLayers !== undefined && { gpuLayers }),
    })
  } catch (cause) {
    signal.throwIfAborted()
    if (lacksMemory(cause)) throw tooSmall(id, cause)
    throw broken(file.path, `llama.cpp says: ${whyOf(cause, complaints())}.`, cause)
  }
}

/** One token more than are asked for: llama.cpp's own last one begins to forget. */
async function openContext(
  native: NativeModel,
  model: LlamaCppModelOptions,
  sequences: number,
  { settings: { threads }, signal, complaints }: LlamaCppLoadContext,
): Promise<NativeContext> {
  const contextSize = wantedContext(native, model) + 1
  try {
    return await native.createContext({
      contextSize,
      batchSize: Math.min(CHUNK, contextSize),
      sequences,
      createSignal: signal,
      ...(threads !== undefined && { threads }),
    })
  } catch (cause) {
    signal.throwIfAborted()
    if (lacksMemory(cause)) throw tooSmall(model.id, cause)
    const message = `llama.cpp has no context for '${model.id}': ${whyOf(cause, complaints())}.`
    throw new V1Error(503, message, { code: 'model_load_failed', param: 'model', retryAfter: 5, cause })
  }
}

const wantedContext = (native: NativeModel, { contextLength }: LlamaCppModelOptions): number =>
  contextLength ?? Math.min(CONTEXT, native.trainContextSize)

/** What llama.cpp has complained of, without the names of its functions; else the error's own words. */
function whyOf(cause: unknown, [first]: readonly string[]): string {
  return (first ?? messageOf(cause)).replace(/^(\w+: )?(error loading model: )?/, '').replace(/\.$/, '')
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** By its name, since its class is the library's own. */
export const lacksMemory = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'InsufficientMemoryError' || error.constructor.name === 'InsufficientMemoryError')

function tooSmall(id: string, cause: unknown): V1Error {
  const message = `The model '${id}' does not fit this device: ${messageOf(cause).replace(/\.$/, '')}. Take a smaller quantisation, a shorter contextLength or fewer answers side by side (maxBatch).`
  const headers = { 'x-should-retry': 'false' }
  return new V1Error(503, message, { code: 'device_too_small', headers, cause })
}
