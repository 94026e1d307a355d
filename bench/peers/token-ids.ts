/** The prompts of peers: their words are made up, so prompts are made of token ids. */

/** The ids before it are marks and bytes: see `addWords` of `gguf.ts`. */
export const FIRST_WORD = 3 + 256

/** Ids of ordinary tokens by a seeded generator. */
export function idsOf(prompt: number, count: number, vocabulary: number): number[] {
  let state = (prompt * 2654435761 + 1) >>> 0
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return FIRST_WORD + ((state >>> 8) % (vocabulary - FIRST_WORD))
  })
}

/** A sign of its own for each token: a text of so many signs becomes exactly these tokens again. */
export function wordOf(id: number): string {
  return String.fromCodePoint(0x10000 + id)
}
