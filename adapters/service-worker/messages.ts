/**
 * What pages, their workers and the service worker say to each other. All of them may come from different builds of
 * the application: those that do not speak the same version do not hear each other, and each answers for itself.
 */
import type { LoadProgress } from '../../src/index.js'

const PREFIX = 'local-v1/1 '

/** Names the lock of the host, the broadcast channel and the workers of one registration. */
export const scopeName = (scope: string): string => PREFIX + scope

export const isName = (name: string): boolean => name.startsWith(PREFIX)

/** The name of a worker that answers its own page alone, where there is no service worker to bring tabs together. */
export const ALONE = `${PREFIX}alone`

/** Held by a host for as long as it lives: whoever is granted it knows that the host is gone. */
export const hostLock = (name: string, host: string): string => `${name} host ${host}`

/** Shared by all pages that have a worker, or are about to start one. */
export const pagesLock = (name: string): string => `${name} pages`

/** The same for the service worker's end of a link. */
export const linkLock = (name: string, link: string): string => `${name} link ${link}`

/** A request whose answer can be begun anew elsewhere. */
export interface PassedRequest {
  readonly url: string
  readonly method: string
  readonly headers: readonly [string, string][]
  readonly body: ArrayBuffer | undefined
}

/** Over a link, to the host. */
export type ToHost =
  | { readonly type: 'hello'; readonly link: string }
  | ({ readonly type: 'request'; readonly id: number } & PassedRequest)
  /** Nothing is made that nobody asked for: one `pull`, one piece. */
  | { readonly type: 'pull'; readonly id: number }
  | { readonly type: 'abort'; readonly id: number }
  /** Brings a port: a page asks over a link of its own. Answered by a head without a body. */
  | { readonly type: 'guest'; readonly id: number }
  | { readonly type: 'ping' }

/** Over a link, from the host. */
export type FromHost =
  | {
      readonly type: 'head'
      readonly id: number
      readonly status: number
      readonly headers: readonly [string, string][]
      /** The first piece comes along: what has a head has begun, and cannot be moved any more. */
      readonly first: Uint8Array | undefined
      /** It is the whole body; else an event stream follows. */
      readonly done: boolean
    }
  | { readonly type: 'piece'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly type: 'end'; readonly id: number }
  | { readonly type: 'broken'; readonly id: number }
  | { readonly type: 'pong' }

/** A worker that runs the engine. */
export interface EngineWorker {
  readonly host: string
  /** Whether it holds its lock, by which others hear of its end: pages whose storage is blocked have no locks. */
  readonly held: boolean
}

/** From a page to the worker that it started; `link` brings a port. */
export type PageToWorker = { readonly type: 'link' } | { readonly type: 'take-over' }

export type FromWorker =
  /** It stands in line to be the host, or is it already; its clients ask below `basePath`. */
  | { readonly type: 'ready'; readonly basePath: string }
  | ({ readonly type: 'host' } & EngineWorker)
  /** Another one has taken over. */
  | { readonly type: 'lost' }
  /** To its own page, where there is no other. */
  | { readonly type: 'progress'; readonly progress: LoadProgress }

/** From a page to the service worker; `host` brings a port to its worker. */
export type FromPage =
  /** Brings a port: whoever answers there is of this package. */
  | { readonly type: 'who' }
  /** Do not wait until the tabs of another service worker are closed. */
  | { readonly type: 'activate' }
  | { readonly type: 'claim' }
  /** Brings a port, over which comes an `Introduction`. */
  | { readonly type: 'guest' }
  | { readonly type: 'host'; readonly host: string }
  | { readonly type: 'pong'; readonly host: string | undefined }

/** From the service worker to a page that looks for the host; with a port to it, where there is one. */
export interface Introduction {
  readonly host: string | undefined
}

/** To everyone. */
export type Broadcast =
  | { readonly type: 'seek' }
  | { readonly type: 'take-over' }
  | { readonly type: 'ping' }
  /** A page waits for this host; the page that has it says `alive`. */
  | { readonly type: 'awaited'; readonly host: string }
  | { readonly type: 'alive'; readonly host: string }
  | { readonly type: 'progress'; readonly progress: LoadProgress }

/** The application sends messages of its own over the same ways. */
interface Wrapped<Message> {
  readonly localV1: Message
}

export const wrap = <Message>(message: Message): Wrapped<Message> => ({ localV1: message })

export const unwrap = <Message>(data: unknown): Message | undefined =>
  (data as Partial<Wrapped<Message>> | null | undefined)?.localV1
