import type { AppConfig, MLCEngineConfig, MLCEngineInterface, ModelRecord, ModelType } from '@mlc-ai/web-llm'

/** What we use of an MLCEngine: the forward pass and its cache, never its chat. */
export type ForwardEngine = Pick<
  MLCEngineInterface,
  'reload' | 'unload' | 'resetChat' | 'forwardTokensAndSample' | 'getMessage'
>

/** What we use of `@mlc-ai/web-llm`. */
export interface WebLlmLibrary {
  readonly MLCEngine: new (config?: MLCEngineConfig) => ForwardEngine
  readonly ModelType: { readonly embedding: ModelType }
  readonly prebuiltAppConfig: AppConfig
  readonly modelVersion: string
}

export type { AppConfig, MLCEngineConfig, ModelRecord }
