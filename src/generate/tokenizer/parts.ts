/** What the library has made of a tokenizer's parts, as far as it is looked at here. */

import { V1Error } from '../../contract/index.js'
import { isPublished, Pattern } from '../../grammar/index.js'

export function malformed(fault: string, cause?: unknown): V1Error {
  return new V1Error(500, `The model's tokenizer cannot be read: ${fault}`, { code: 'model_files', cause })
}

export interface TokenizerPart {
  readonly config?: {
    readonly type?: string
    readonly pattern?: unknown
    readonly content?: unknown
    readonly replacement?: unknown
    readonly prepend?: unknown
  }
  /** Made of what the file says, unless it is the library's own. */
  pattern?: RegExp | null
  readonly normalizers?: readonly (TokenizerPart | null)[]
  readonly tokenizers?: readonly (TokenizerPart | null)[]
  readonly decoders?: readonly (TokenizerPart | null)[]
}

export function partsWithin(part: TokenizerPart): readonly (TokenizerPart | null)[] | undefined {
  return part.normalizers ?? part.tokenizers ?? part.decoders
}

/**
 * The platform's RegExp goes back where a pattern may be read in several ways, which may take time without end. So what a
 * stranger's file has for a pattern runs on a machine that does not, with the same result.
 */
export function tame(part: TokenizerPart | null): void {
  if (part === null) return
  for (const within of partsWithin(part) ?? []) tame(within)
  const own = part.config?.pattern
  const source = typeof own === 'object' && own !== null && 'Regex' in own ? own.Regex : undefined
  if (typeof source !== 'string' || !part.pattern || isPublished(source)) return
  try {
    // As the library has put it for JavaScript.
    part.pattern = new Pattern(part.pattern.source) as unknown as RegExp
  } catch (error) {
    throw malformed(
      `its pattern ${source.slice(0, 100)} cannot be run: ${error instanceof Error ? error.message : error}`,
      error,
    )
  }
}
