/** A small model beside a large one of the same vocabulary: it guesses what that one says. */

import { V1Error } from '../../contract/index.js'
import type { Device } from '../../device/index.js'
import { type TextFiles, Tokenizer } from '../../generate/index.js'
import {
  asBroken,
  type LoadPlan,
  type LoadReport,
  makesVectors,
  planModel,
  type WeightOutline,
} from '../../models/index.js'
import { offeredModel } from './location.js'
import type { OfferedModel } from './options.js'
import type { OpenedRepository, Surroundings } from './surroundings.js'

/** Opened and planned; its weights are not read yet. */
export interface Draft {
  readonly id: string
  readonly repository: OpenedRepository
  readonly plan: LoadPlan
}

export interface DraftNeeds {
  readonly surroundings: Surroundings
  readonly device: Device
  readonly maxBatch: number | undefined
  readonly report: LoadReport
  readonly signal: AbortSignal
}

/** Undefined: none is asked for. Throws, before its weights are downloaded, where it cannot guess for `model`. */
export async function openDraft(
  { id: of, draft: name, contextLength }: OfferedModel,
  { weights: large, text }: { readonly weights: WeightOutline; readonly text: TextFiles },
  { surroundings, device, maxBatch, report, signal }: DraftNeeds,
): Promise<Draft | undefined> {
  if (name === undefined) return undefined
  const small = offeredModel(name)
  if (makesVectors(large, of)) throw mismatch(small.id, of, 'that model cannot generate text.')
  let plan: LoadPlan | undefined
  const check = (weights: WeightOutline, own: TextFiles) => {
    if (makesVectors(weights, small.id) || weights.rowLength !== undefined) {
      throw mismatch(small.id, of, 'it cannot generate text.')
    }
    assertSameVocabulary({ id: of, text }, { id: small.id, text: own })
    plan = planModel(weights, device, {
      name: small.id,
      ...(maxBatch !== undefined && { maxBatch }),
      ...(contextLength !== undefined && { contextLength }),
    })
  }
  const repository = await surroundings.openRepository(small, report, signal, check)
  if (!plan) check(repository.weights, repository.text)
  return { id: small.id, repository, plan: plan! }
}

interface Named {
  readonly id: string
  readonly text: TextFiles
}

/** Each token that both know must be the same one. What one alone has at its end is never guessed. */
function assertSameVocabulary(large: Named, small: Named): void {
  const [ours, theirs] = [large, small].map(({ id, text }) => tokenizerOf(id, text)) as [Tokenizer, Tokenizer]
  const shared = Math.min(ours.size, theirs.size)
  for (let token = 0; token < shared; token++) {
    const [name, other] = [ours.name(token), theirs.name(token)]
    if (name === other && ours.special.has(token) === theirs.special.has(token)) continue
    const what = `its vocabulary is another: token ${token} is ${JSON.stringify(other)}, not ${JSON.stringify(name)}.`
    throw mismatch(small.id, large.id, what)
  }
  // Of a few special tokens more or less nothing is seen; of a vocabulary cut short much.
  if (shared * 2 < Math.max(ours.size, theirs.size)) {
    throw mismatch(small.id, large.id, `its vocabulary is another: it has ${theirs.size} tokens, not ${ours.size}.`)
  }
}

function tokenizerOf(id: string, text: TextFiles): Tokenizer {
  try {
    return new Tokenizer(text.tokenizer, text.tokenizerConfig)
  } catch (error) {
    throw asBroken(id, error)
  }
}

function mismatch(small: string, large: string, why: string): V1Error {
  const message = `The draft model '${small}' cannot guess what '${large}' says: ${why} Name a smaller model of the same family, or leave 'draft' out.`
  return new V1Error(500, message, { code: 'draft_model_mismatch', headers: { 'x-should-retry': 'false' } })
}
