import type { EvidenceOfDocument } from '../../../wire/evidence.js'
import type { WireLogprob } from '../../../wire/reply.js'

/** The Responses interface's own forms, as far as they are used here. */

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export interface InputText {
  readonly type: 'input_text'
  readonly text: string
}

export interface OutputText {
  readonly type: 'output_text'
  readonly text: string
  readonly annotations: readonly []
  readonly logprobs: readonly (WireLogprob & { readonly bytes: readonly number[] })[]
  /** An extension, ours: there only where it was asked for. */
  readonly evidence?: EvidenceOfDocument
}

export interface MessageItem {
  readonly type: 'message'
  readonly id: string
  readonly status: ItemStatus
  readonly role: 'user' | 'assistant' | 'system' | 'developer'
  readonly content: readonly (InputText | OutputText)[]
}

export interface FunctionCallItem {
  readonly type: 'function_call'
  readonly id: string
  readonly call_id: string
  readonly name: string
  /** What its tool stands in. */
  readonly namespace?: string
  /** Its result may come later, while the conversation goes on. */
  readonly async?: true
  readonly arguments: string
  readonly status: ItemStatus
}

/** A call of a tool that takes a text. */
export interface CustomCallItem {
  readonly type: 'custom_tool_call'
  readonly id: string
  readonly call_id: string
  readonly name: string
  readonly namespace?: string
  readonly async?: true
  readonly input: string
  readonly status: ItemStatus
}

export interface CustomOutputItem {
  readonly type: 'custom_tool_call_output'
  readonly id: string
  readonly call_id: string
  readonly output: string
  readonly status: ItemStatus
}

export interface FunctionOutputItem {
  readonly type: 'function_call_output'
  readonly id: string
  readonly call_id: string
  readonly output: string
  readonly status: ItemStatus
}

/** A call of a tool that the client runs and the interface has a form for. */
export interface OwnCallItem {
  readonly type: 'shell_call' | 'local_shell_call' | 'apply_patch_call'
  readonly id: string
  readonly call_id: string
  readonly action?: Readonly<Record<string, unknown>>
  readonly operation?: Readonly<Record<string, unknown>>
  readonly environment?: null
  readonly status: ItemStatus
}

export interface OwnOutputItem {
  readonly type: `${OwnCallItem['type']}_output`
  readonly id: string
  readonly call_id: string
  readonly output?: unknown
  readonly status: ItemStatus | 'failed'
}

export interface ReasoningItem {
  readonly type: 'reasoning'
  readonly id: string
  readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[]
  readonly encrypted_content?: string
  readonly status: ItemStatus
}

/** That a tool was searched for which is called next: clients call none that is to be loaded first before they see it. */
export interface ToolSearchItem {
  readonly type: 'tool_search_call' | 'tool_search_output'
  readonly id: string
  readonly call_id: null
  readonly execution: 'server'
  readonly arguments?: { readonly paths: readonly string[] }
  readonly tools?: readonly object[]
  readonly status: ItemStatus
}

/** Tools that became known on the way, as they were given: who goes on from here has them too. */
export interface AdditionalToolsItem {
  readonly type: 'additional_tools'
  readonly id: string
  readonly role: 'developer'
  readonly tools: readonly unknown[]
}

/** An item of a conversation as it is kept and sent. */
export type StoredItem = OutputItem | FunctionOutputItem | CustomOutputItem | OwnOutputItem | AdditionalToolsItem

export type OutputItem = MessageItem | FunctionCallItem | CustomCallItem | OwnCallItem | ReasoningItem | ToolSearchItem

export interface ResponseUsage {
  readonly input_tokens: number
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number }
  readonly output_tokens: number
  readonly output_tokens_details: { readonly reasoning_tokens: number }
  readonly total_tokens: number
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** What a request asked for, as its response repeats it. */
export interface ResponseEcho {
  readonly previous_response_id: string | null
  /** There only where it is part of one. */
  readonly conversation?: { readonly id: string }
  readonly instructions: string | null
  readonly tools: readonly Readonly<Record<string, unknown>>[]
  readonly tool_choice: unknown
  readonly parallel_tool_calls: boolean
  readonly text: Readonly<Record<string, unknown>>
  readonly temperature: number
  readonly top_p: number
  readonly presence_penalty: number
  readonly frequency_penalty: number
  readonly top_logprobs: number
  readonly truncation: 'auto' | 'disabled'
  readonly reasoning: { readonly effort: string | null; readonly summary: string | null } | null
  readonly max_output_tokens: number | null
  readonly max_tool_calls: number | null
  readonly store: boolean
  readonly background: boolean
  readonly service_tier: 'default'
  readonly metadata: Readonly<Record<string, string>>
  readonly safety_identifier: string | null
  readonly prompt_cache_key: string | null
  readonly user?: string
}

export interface ResponseResource extends ResponseEcho {
  readonly id: string
  readonly object: 'response'
  readonly created_at: number
  readonly completed_at: number | null
  readonly status: ResponseStatus
  readonly incomplete_details: { readonly reason: 'max_output_tokens' } | null
  readonly error: { readonly code: string; readonly message: string } | null
  readonly model: string
  readonly output: readonly OutputItem[]
  readonly usage: ResponseUsage
}
