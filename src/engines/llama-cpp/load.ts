import { modelCannot, V1Error } from '../../contract/index.js'
import { ChatText, DecodeLoop, DraftModel, Encoder, Tokenizer } from '../../generate/index.js'
import { broken, digestOf, type FileHead, type LoadReport, purposeOf, understood } from '../../models/index.js'
import { isRecord } from '../../platform/index.js'
import type { Llama, NativeContext, NativeModel } from './library.js'
import type { LlamaCppModelOptions, LlamaCppOptions } from './options.js'
import { LlamaCppModel } from './token-model.js'
import { LlamaCppVectors } from './vectors.js'

/** A model in llama.cpp, ready to answer. */
export interface LoadedLlamaCpp {
  readonly id: string
  readonly runner: DecodeLoop | Encoder
  readonly contextLength: number
  readonly fingerprint: string
  readonly bytes: number
  /** What its draft model takes of them. */
  readonly draftBytes?: number
}

export interface OpenedFile extends FileHead {
  readonly path: string
  /** Of what the file says of itself. */
  readonly digest: string
}

/** Of a draft model: its file is here, and nothing of its weights is read yet. */
export interface DraftFile {
  readonly id: string
  readonly file: OpenedFile
  /** Tokens that both models know. */
  readonly tokens: number
}

/** What a model is asked to be, wherever its file is. */
type Wanted = Omit<LlamaCppModelOptions, 'from' | 'draft'>

export interface LlamaCppLoadContext {
  readonly llama: Llama
  readonly file: OpenedFile
  readonly draft: DraftFile | undefined
  readonly settings: Pick<LlamaCppOptions, 'threads' | 'maxBatch' | 'drafts'>
  readonly report: LoadReport
  readonly signal: AbortSignal
  /** What llama.cpp has said of faults since this load began. */
  readonly complaints: () => readonly string[]
}

const CONTEXT = 8192
/** Of texts that become vectors: all of it is computed at once. */
const VECTOR_CONTEXT = 2048
/** What llama.cpp may put around a text, and one that it leaves free. */
const AROUND = 3
const MAX_BATCH = 4
/** Tokens of one pass: between passes a request can be aborted. */
const CHUNK = 512

export async function loadLlamaCpp(model: LlamaCppModelOptions, context: LlamaCppLoadContext): Promise<LoadedLlamaCpp> {
  const { llama, file } = context
  const purpose = purposeOf(file.about, model.id)
  if (purpose !== 'chat' && purpose !== 'embed') {
    throw modelCannot(
      model.id,
      'is a reranking model, which local-v1/llama-cpp does not run: serve it with local-v1/core',
    )
  }
  const fingerprint = fingerprintOf(file, llama)
  const read = purpose === 'chat' ? textOf(file) : tokenizerOf(file)
  const native = await openNative(model, context)
  try {
    return read instanceof ChatText
      ? await loadText(native, read, model, fingerprint, context)
      : await loadVectors(native, read, model, fingerprint, context)
  } catch (error) {
    await native.dispose()
    throw error
  }
}

async function loadText(
  native: NativeModel,
  text: ChatText,
  model: LlamaCppModelOptions,
  fingerprint: string,
  context: LlamaCppLoadContext,
): Promise<LoadedLlamaCpp> {
  const {
    settings: { drafts },
    draft,
  } = context
  const large = await openForward(native, text.tokenizer.size, model, fingerprint, context)
  // Most of a second for a large tokenizer: better now than in the first request for JSON.
  void text.vocabulary
  const small = draft && (await loadDraft(draft, large.forward, context))
  const runner = new DecodeLoop(large.forward, text, {
    ...(drafts && { drafts }),
    ...(small && { draftModel: new DraftModel(small.forward) }),
  })
  const { contextLength } = large.forward
  const bytes = large.bytes + (small?.bytes ?? 0)
  return { id: model.id, runner, contextLength, fingerprint, bytes, ...(small && { draftBytes: small.bytes }) }
}

/** Its context is no longer than the large one's; it guesses no token that that one does not know. */
async function loadDraft(
  { id, file, tokens }: DraftFile,
  large: LlamaCppModel,
  context: LlamaCppLoadContext,
): Promise<Forward> {
  const native = await openNative({ id }, { ...context, file, report: () => {} })
  try {
    const contextLength = Math.min(large.contextLength, native.trainContextSize)
    return await openForward(native, tokens, { id, contextLength }, fingerprintOf(file, context.llama), context)
  } catch (error) {
    await native.dispose()
    throw error
  }
}

interface Forward {
  readonly forward: LlamaCppModel
  readonly bytes: number
}

/** `tokens`: that it may read and say. */
async function openForward(
  native: NativeModel,
  tokens: number,
  model: Wanted,
  fingerprint: string,
  context: LlamaCppLoadContext,
): Promise<Forward> {
  const maxBatch = context.settings.maxBatch ?? MAX_BATCH
  const opened = await openContext(native, model, maxBatch, context)
  const contextLength = Math.min(wantedContext(native, model, CONTEXT), opened.contextSize - 1)
  const forward = new LlamaCppModel({
    natives: Array.from({ length: maxBatch }, () => opened.getSequence()),
    tokens,
    contextLength,
    maxBatch,
    maxChunk: Math.min(CHUNK, contextLength),
    fingerprint,
    release: () => releasing(opened, native),
  })
  const { ram = 0, vram = 0 } = opened.memoryUsage ?? {}
  return { forward, bytes: native.size + ram + vram }
}

const fingerprintOf = ({ digest }: OpenedFile, { llamaCppRelease, gpu }: Llama): string =>
  `fp_${digestOf(digest, llamaCppRelease.release, String(gpu))}`

/** A whole text is one batch: every token may see all others. */
async function loadVectors(
  native: NativeModel,
  tokenizer: Tokenizer,
  model: LlamaCppModelOptions,
  fingerprint: string,
  { settings: { threads }, signal }: LlamaCppLoadContext,
): Promise<LoadedLlamaCpp> {
  const contextLength = wantedContext(native, model, VECTOR_CONTEXT)
  const cells = contextLength + AROUND
  const opened = await native.createEmbeddingContext({
    contextSize: cells,
    batchSize: cells,
    createSignal: signal,
    ...(threads !== undefined && { threads }),
  })
  const release = () => releasing(opened, native)
  const size = native.embeddingVectorSize
  const vectors = new LlamaCppVectors({ native: opened, contextLength, size, fingerprint, release })
  const runner = new Encoder(vectors, tokenizer, { task: 'embed' })
  return { id: model.id, runner, contextLength, fingerprint, bytes: native.size }
}

async function releasing(opened: { dispose(): Promise<void> }, native: NativeModel): Promise<void> {
  await opened.dispose()
  await native.dispose()
}

const tokenizerOf = ({ path, text }: OpenedFile): Tokenizer =>
  understood(path, () => new Tokenizer(text.tokenizer, text.tokenizerConfig))

const textOf = ({ path, text }: OpenedFile): ChatText => understood(path, () => new ChatText(text))

async function openNative(
  { id, gpuLayers }: Wanted,
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

/**
 * One token more than are asked for: llama.cpp's own last one begins to forget. But not where that would be longer than what
 * the model was first made for: all positions are then turned by the factors of long texts.
 */
async function openContext(
  native: NativeModel,
  model: Wanted,
  sequences: number,
  { settings: { threads }, signal, complaints }: LlamaCppLoadContext,
): Promise<NativeContext> {
  const wanted = wantedContext(native, model, CONTEXT)
  const contextSize = wanted === originalContext(native) ? wanted : wanted + 1
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

const wantedContext = (native: NativeModel, { contextLength }: Wanted, most: number): number =>
  contextLength ?? Math.min(most, native.trainContextSize)

function originalContext({ fileInfo }: NativeModel): unknown {
  const valueAt = (value: unknown, name: unknown) => (isRecord(value) ? value[String(name)] : undefined)
  const all = fileInfo?.metadata
  const own = valueAt(all, valueAt(valueAt(all, 'general'), 'architecture'))
  return valueAt(valueAt(valueAt(own, 'rope'), 'scaling'), 'original_context_length')
}

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
  const message = `The model '${id}' does not fit this device: ${messageOf(cause).replace(/\.$/, '')}. Use a smaller quantisation, a shorter contextLength or fewer answers in parallel (maxBatch).`
  const headers = { 'x-should-retry': 'false' }
  return new V1Error(503, message, { code: 'device_too_small', headers, cause })
}
