import { base64 } from '../../platform/index.js'
import { refuse } from './fields.js'

const MARK = 'local-v1:'

/**
 * What the interface calls encrypted: text that a client carries back and forth without reading it. There is no server
 * here to hide it from, so it is only packed.
 */
export function sealed(text: string): string {
  return base64(new TextEncoder().encode(MARK + text))
}

export function openSealed(content: string, param: string): string {
  try {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0))
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.startsWith(MARK)) return text.slice(MARK.length)
  } catch {
    // Not even base64 of text: as foreign as what another service packed.
  }
  throw refuse(
    param,
    `Invalid '${param}': it was made by another service and cannot be read here. Leave it out.`,
    'invalid_value',
  )
}
