/** What is asked of a draft model: a small model beside a large one of the same vocabulary, which guesses what that one says. */
import { V1Error } from '../contract/index.js'
import { type TextFiles, Tokenizer } from '../generate/index.js'
import { asBroken, locationOf } from '../models/index.js'

/** Refuses what code without types may say, and a name that is none. */
export function assertDraftName(of: string, draft: unknown): void {
  if (draft === undefined) return
  if (typeof draft !== 'string') throw new TypeError(`The draft of ${of} must be the name of a model, as 'from' is.`)
  locationOf(draft)
}

interface Named {
  readonly id: string
  readonly text: TextFiles
}

/**
 * Each token that both know must be the same one. What one alone has at its end is never guessed. Gives back how many both
 * know.
 */
export function assertSameVocabulary(large: Named, small: Named): number {
  const [ours, theirs] = [large, small].map(({ id, text }) => tokenizerOf(id, text)) as [Tokenizer, Tokenizer]
  const shared = Math.min(ours.size, theirs.size)
  for (let token = 0; token < shared; token++) {
    const [name, other] = [ours.name(token), theirs.name(token)]
    if (name === other && ours.special.has(token) === theirs.special.has(token)) continue
    const difference = `its vocabulary is another: token ${token} is ${JSON.stringify(other)}, not ${JSON.stringify(name)}.`
    throw draftMismatch(small.id, large.id, difference)
  }
  // Of a few special tokens more or less nothing is seen; of a vocabulary cut short much.
  if (shared * 2 < Math.max(ours.size, theirs.size)) {
    const difference = `its vocabulary is another: it has ${theirs.size} tokens, not ${ours.size}.`
    throw draftMismatch(small.id, large.id, difference)
  }
  return shared
}

function tokenizerOf(id: string, text: TextFiles): Tokenizer {
  try {
    return new Tokenizer(text.tokenizer, text.tokenizerConfig)
  } catch (error) {
    throw asBroken(id, error)
  }
}

export function draftMismatch(small: string, large: string, why: string): V1Error {
  const message = `The draft model '${small}' cannot guess what '${large}' says: ${why} Name a smaller model of the same family, or leave 'draft' out.`
  return new V1Error(500, message, { code: 'draft_model_mismatch', headers: { 'x-should-retry': 'false' } })
}
