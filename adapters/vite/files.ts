import type { Connect } from 'vite'

/** What a host must send with every page, worker and script, so that the CPU device may have threads. */
export const ISOLATION_HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
} as const

export interface OwnFile {
  readonly bytes: Uint8Array | string
  /** Its name changes with its contents. */
  readonly forever?: boolean
}

export const isolating: Connect.NextHandleFunction = (_, response, next) => {
  for (const [name, value] of Object.entries(ISOLATION_HEADERS)) response.setHeader(name, value)
  next()
}

export function contentType(path: string): string {
  if (/\.m?js$/.test(path)) return 'text/javascript'
  return path.endsWith('.json') ? 'application/json' : 'application/octet-stream'
}
