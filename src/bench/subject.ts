/** What is measured: a loaded model that answers prompts, whatever runs it. */
import type { Engine } from '../contract/index.js'
import type { ExtractionUnderTest } from './extraction-subject.js'

export const PARTS = ['prompt', 'decode', 'json', 'v1', 'decide', 'extract'] as const
export type BenchPart = (typeof PARTS)[number]

export interface Question {
  /** How long the prompt should be; what it really had is in the answer. */
  readonly promptTokens: number
  /** Prompts of one number are the same text, those of two differ from their first word on. */
  readonly prompt: number
  /** Exactly so many tokens are generated, the likeliest each time, where the subject can be kept from ending sooner. */
  readonly tokens: number
}

export interface SubjectAnswer {
  /** From the call to the end of the answer. */
  readonly seconds: number
  /** From the call to its first piece. */
  readonly firstSeconds: number
  readonly promptTokens: number
  /** Of these, what was not computed because an earlier prompt began alike. */
  readonly cachedTokens: number
  readonly tokens: number
}

/** What each question may be answered with: the same everywhere. */
export type Labels = readonly string[]

export interface DecisionsTrial {
  /** Of one number the state is the same. */
  readonly prompt: number
  readonly stateTokens: number
  readonly questions: number
  /** How long a question should be, where tokens are counted out. */
  readonly questionTokens: number
  /** The number of the first question: the others follow. */
  readonly first: number
}

export interface DecisionsTiming {
  readonly seconds: number
  readonly promptTokens: number
  readonly cachedTokens: number
  /** Where the state is a text. */
  readonly stateText?: string
}

export interface About {
  /** `webgpu`, `webllm`, `llama.cpp`, ... */
  readonly engine: string
  readonly model: string
  /** `cpu` or `webgpu`, and what it calls itself. */
  readonly device: string
  readonly deviceName: string
  readonly contextLength: number
  /** Weights, kernels and device, as the engine names them. */
  readonly fingerprint?: string
  /** Anything a reader has to know to judge the figures. */
  readonly notes: readonly string[]
}

export interface Subject {
  readonly about: About
  answer(ask: Question): Promise<SubjectAnswer>
  /** Absent: it decides nothing. */
  readonly decide?: (ask: DecisionsTrial) => Promise<DecisionsTiming>
  /** Absent: its passes cannot be watched. Loaded when it is first asked for. */
  readonly extraction?: () => Promise<ExtractionUnderTest>
  /** Where it is an engine: what the scenarios about `/v1` and strict JSON need. */
  readonly engine?: EngineUnderTest
  /** What cannot be asked of it, or would say nothing. */
  readonly skips?: readonly BenchPart[]
  /** Bytes on the device: weights, caches, scratch. */
  deviceBytes(): number | undefined
  close(): Promise<void>
}

export interface EngineUnderTest {
  readonly engine: Engine
  readonly model: string
  /** Tokens that end an answer; they are biased away where a length is asked for. Empty where they are not known. */
  readonly ends: readonly number[]
}

/** Something to measure that is not loaded yet. */
export interface Candidate {
  /** How tables and charts call it; short. */
  readonly name: string
  /** From nothing to ready to answer: this is what `load` times. */
  open(): Promise<Subject>
}
