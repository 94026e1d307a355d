/** A small model beside a large one of the same vocabulary: it guesses what that one says. */

import type { Device } from '../../device/index.js'
import type { TextFiles } from '../../generate/index.js'
import { type LoadPlan, type LoadReport, makesVectors, planModel, type WeightOutline } from '../../models/index.js'
import { assertSameVocabulary, draftMismatch } from '../drafts.js'
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
  if (makesVectors(large, of)) throw draftMismatch(small.id, of, 'that model cannot generate text.')
  let plan: LoadPlan | undefined
  const check = (weights: WeightOutline, own: TextFiles) => {
    if (makesVectors(weights, small.id) || weights.rowLength !== undefined) {
      throw draftMismatch(small.id, of, 'it cannot generate text.')
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
