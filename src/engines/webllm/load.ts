import type { ChatOptions } from '@mlc-ai/web-llm'
import { V1Error } from '../../contract/index.js'
import { ChatText, DecodeLoop, type TextFiles } from '../../generate/index.js'
import { digestOf, type LoadReport } from '../../models/index.js'
import { ForwardModel } from './forward-model.js'
import { memoryOf } from './gpu-probe.js'
import type { ForwardEngine, MLCEngineConfig, WebLlmLibrary } from './library.js'
import { LogitPicker } from './logit-picker.js'
import { ProgressReader } from './progress.js'
import type { Offered } from './records.js'

/** A model in an MLCEngine of its own, ready to answer. */
export interface LoadedWebLlm {
  readonly id: string
  readonly runner: DecodeLoop
  readonly contextLength: number
  /** GPU memory it takes, by WebLLM's own figure. */
  readonly bytes: number
  /** False once WebLLM has dropped it, as it does when the device is lost. */
  alive(): Promise<boolean>
}

export interface WebLlmLoadContext {
  readonly library: WebLlmLibrary
  readonly engineConfig: MLCEngineConfig
  readonly files: TextFiles
  readonly report: LoadReport
  readonly signal: AbortSignal
}

/** Tokens of a prompt between which a request can be aborted, where the model's library takes as many. */
const CHUNK = 512

/** WebLLM's sampler refuses a model whose configuration lacks one of these; what it draws is decided before. */
const NEUTRAL: ChatOptions = {
  temperature: 1,
  top_p: 0.9,
  repetition_penalty: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
}

export async function loadWebLlm(model: Offered, context: WebLlmLoadContext): Promise<LoadedWebLlm> {
  const { record, id } = model
  const chatConfig: TextFiles['chatConfig'] = { ...context.files.chatConfig, ...record.overrides }
  const text = new ChatText({ ...context.files, chatConfig })
  const contextLength = windowOf(model, chatConfig)
  const picker = new LogitPicker(text.tokenizer.size)
  const progress = new ProgressReader(context.report)
  const engine = await startEngine(model, context, picker, progress)
  const alive = () =>
    engine.getMessage(record.model_id).then(
      () => true,
      () => false,
    )
  const forward = new ForwardModel({
    engine,
    picker,
    alive,
    contextLength,
    vocabSize: positive(chatConfig.vocab_size) ?? text.tokenizer.size,
    maxChunk: Math.min(CHUNK, positive(chatConfig.prefill_chunk_size) ?? CHUNK),
    fingerprint: `fp_${digestOf(record.model, record.model_lib, context.library.modelVersion)}`,
  })
  // Most of a second for a large tokenizer: better now than in the first request for JSON.
  void text.vocabulary
  const bytes = Math.max(memoryOf(record), progress.bytesTotal)
  return { id, runner: new DecodeLoop(forward, text), contextLength, bytes, alive }
}

async function startEngine(
  { id, record }: Offered,
  { library, engineConfig, signal }: WebLlmLoadContext,
  picker: LogitPicker,
  progress: ProgressReader,
): Promise<ForwardEngine> {
  const engine = new library.MLCEngine({
    ...engineConfig,
    logitProcessorRegistry: new Map([[record.model_id, picker]]),
    initProgressCallback: (report) => {
      engineConfig.initProgressCallback?.(report)
      progress.read(report)
    },
  })
  const stop = () => void engine.unload().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    await engine.reload(record.model_id, NEUTRAL)
    signal.throwIfAborted()
    // `reload` also returns when the load was broken off; asking anything of the model tells.
    await engine.getMessage(record.model_id)
    return engine
  } catch (cause) {
    await engine.unload().catch(() => {})
    signal.throwIfAborted()
    throw loadFailed(id, cause)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The longest sequence; with a sliding window no longer than it, so that nothing is forgotten. */
function windowOf({ id }: Offered, config: TextFiles['chatConfig']): number {
  const window = positive(config?.context_window_size) ?? positive(config?.sliding_window_size)
  if (window !== undefined) return window
  throw new V1Error(500, `The model '${id}' says nothing about its context window.`, { code: 'model_files' })
}

const positive = (value: unknown) => (typeof value === 'number' && value > 0 ? value : undefined)

function loadFailed(id: string, cause: unknown): V1Error {
  if (V1Error.is(cause)) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  if ((cause as { name?: unknown } | null)?.name === 'LinkError') {
    const message = `The compiled library of '${id}' does not match this version of WebLLM: ${why}`
    return new V1Error(500, message, { code: 'model_files', param: 'model', cause })
  }
  const message = `The model '${id}' could not be loaded: ${why}`
  return new V1Error(503, message, { code: 'model_load_failed', param: 'model', retryAfter: 5, cause })
}
