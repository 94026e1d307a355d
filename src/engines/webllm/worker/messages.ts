import type { WebLlmOptions } from '../options.js'

/** A further port to serve. */
export interface Connect {
  readonly type: 'connect'
  readonly port: MessagePort
}

/** Options without their functions. */
export type SentOptions = Omit<WebLlmOptions, 'loader' | 'log'>
