/** The oldest WebLLM that we take, and the newest: `npm run typecheck` holds what we use against both. */
import type * as newest from '@mlc-ai/web-llm'
import type * as oldest from 'web-llm-0.2.79'
import type { ForwardEngine, MLCEngineConfig, ModelRecord, WebLlmLibrary } from './library.js'
import type { StandIn } from './stand-in.test-helper.js'

type Holds<Part extends Whole, Whole> = [Part, Whole]
type Used<Engine> = { [Name in keyof ForwardEngine]: Name extends keyof Engine ? Engine[Name] : never }

export type Library = [Holds<typeof newest, WebLlmLibrary>, Holds<typeof oldest, WebLlmLibrary>]
export type StandsIn = [
  Holds<StandIn, Used<newest.MLCEngineInterface>>,
  Holds<StandIn, Used<oldest.MLCEngineInterface>>,
]
/** What users of either write, and what we pass on. */
export type Records = [Holds<newest.ModelRecord, ModelRecord>, Holds<oldest.ModelRecord, ModelRecord>]
export type Configs = [Holds<newest.MLCEngineConfig, MLCEngineConfig>, Holds<oldest.MLCEngineConfig, MLCEngineConfig>]
