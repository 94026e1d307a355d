/** Which of the models that WebLLM lists our own core runs from the same files, by their architecture and quantisation. */
import { ARCHITECTURES } from '../../src/models/architectures/index.js'
import { ENCODERS } from '../../src/models/encoders/bert.js'

export interface PrebuiltRecord {
  /** Where its files are. */
  readonly model: string
  readonly model_id: string
  readonly model_lib: string
  /** 2: it sees. */
  readonly model_type?: number
}

export interface Judged {
  readonly id: string
  readonly architecture: string
  readonly quantisation: string
  /** Why it does not run; absent: it does. */
  readonly lacks?: string
}

/** MLC's `model_type`, by the library that a record asks for: the first that fits. */
const TYPES: readonly (readonly [library: RegExp, type: string])[] = [
  [/^(Llama|TinyLlama|SmolLM2)-/, 'llama'],
  [/^Qwen2(\.5)?-/, 'qwen2'],
  [/^Qwen3-/, 'qwen3'],
  [/^Qwen3\.5-/, 'qwen3_5'],
  [/^Mistral-/, 'mistral'],
  [/^Ministral-3-/, 'ministral3'],
  [/^Phi-3\.5-vision-/, 'phi3_v'],
  [/^Phi-(3|3\.5|4)-mini-/, 'phi3'],
  [/^gemma-2b-/, 'gemma'],
  [/^gemma-2-/, 'gemma2'],
  [/^gemma-?3-/, 'gemma3'],
  [/^gemma-4-/, 'gemma4'],
  [/^OLMo-2-/, 'olmo2'],
  [/^snowflake-arctic-embed-/, 'bert'],
  [/^stablelm-/, 'stablelm'],
  [/^RedPajama-/, 'gpt_neox'],
  [/^phi-(1_5|2)-/, 'phi-msft'],
]
const QUANTISATIONS: readonly string[] = ['q4f16_1', 'q4f32_1', 'q0f16', 'q0f32']

export function judged({ model_id: id, model_lib, model_type }: PrebuiltRecord): Judged {
  const library = model_lib.split('/').at(-1)!
  const architecture = TYPES.find(([form]) => form.test(library))?.[1] ?? 'unknown'
  const quantisation = /-(q\d+f\d+(?:_\d+)?)[-_]/.exec(library)?.[1] ?? 'unknown'
  const lacks = lackOf(architecture, quantisation, model_type)
  return { id, architecture, quantisation, ...(lacks !== undefined && { lacks }) }
}

function lackOf(architecture: string, quantisation: string, kind: number | undefined): string | undefined {
  if (kind === 2) return `${architecture} (a vision model)`
  const known = Object.hasOwn(ARCHITECTURES, architecture) ? ARCHITECTURES[architecture] : undefined
  if (!known?.names.mlc && !ENCODERS.has(architecture)) return architecture
  return QUANTISATIONS.includes(quantisation) ? undefined : quantisation
}

/** How many of each reason, the most frequent first. */
export function reasonsOf(all: readonly Judged[]): [reason: string, records: number][] {
  const reasons = new Map<string, number>()
  for (const { lacks } of all) if (lacks !== undefined) reasons.set(lacks, (reasons.get(lacks) ?? 0) + 1)
  return [...reasons].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

/** The list itself: WebLLM is a script for pages, and looks for their globals when it is imported. */
export async function prebuiltRecords(): Promise<readonly PrebuiltRecord[]> {
  Object.assign(globalThis, { self: globalThis })
  const { prebuiltAppConfig } = await import('@mlc-ai/web-llm')
  return prebuiltAppConfig.model_list
}
