/** All counts that are guarded, by topic. None is a time: on the same code they are the same on every machine. */
import { countAnswers } from './answers.js'
import type { Counts } from './compare.js'
import { countCuts } from './cuts.js'
import { countDrafts } from './drafts.js'
import { countFiles } from './files.js'
import { countProducts } from './products.js'
import { countSteps } from './steps.js'
import { countText } from './text.js'
import { countThreads } from './threads.js'

export const TOPICS: Readonly<Record<string, () => Promise<Counts>>> = {
  'threads of the CPU device': countThreads,
  'passes and events of answers': countAnswers,
  'passes that guesses save': countDrafts,
  'requests that open a model': countFiles,
  'what a GPU is asked for': countSteps,
  'how products are computed': countProducts,
  'what a step asks of a GPU, as its products are cut': countCuts,
  'a plain text on a GPU': countText,
}

export async function countAll(): Promise<Counts> {
  const found: Record<string, Counts> = {}
  for (const [topic, count] of Object.entries(TOPICS)) found[topic] = await count()
  return found
}
