import type { WebLlmOptions } from '../options.js'

/** What goes to a worker beside the calls: what it is to run, and further ports to serve. */
export type ToWorker =
  | { readonly type: 'open'; readonly options: SentOptions }
  | { readonly type: 'connect'; readonly port: MessagePort }

/** What comes from it beside the answers. */
export interface FromWorker {
  readonly type: 'log'
  readonly message: string
}

/** Options without their functions. */
export type SentOptions = Omit<WebLlmOptions, 'loader' | 'log'>
