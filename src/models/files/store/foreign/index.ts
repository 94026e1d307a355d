/** The stores of other programs. */
import { broken } from '../../failure.js'
import { hasQuantisation, pickFile } from '../../quantisation.js'
import {
  type ForeignModel,
  type ForeignPlace,
  type ForeignStore,
  filesBelow,
  modelsAmong,
  thisDisk,
} from './foreign.js'
import { hubSnapshot, huggingFace } from './hugging-face.js'
import { lmStudio } from './lm-studio.js'
import { ollamaStore } from './ollama.js'

export type { ForeignPlace } from './foreign.js'

/** By the word before the colon; the hub's cache needs none, for its models have the hub's names. */
const NAMED = { ollama: ollamaStore, lmstudio: lmStudio } as const

export type ForeignName = keyof typeof NAMED

export const FOREIGN_NAMES = Object.keys(NAMED) as ForeignName[]

export interface ListedModel extends ForeignModel {
  readonly store: string
}

/** Everything that other programs keep here; nothing in a browser. */
export async function listForeign(disk = thisDisk()): Promise<ListedModel[]> {
  if (!disk) return []
  const of = async (store: ForeignStore) => (await store.list(disk)).map((model) => ({ ...model, store: store.title }))
  return (await Promise.all([ollamaStore, lmStudio, huggingFace].map(of))).flat()
}

/** The models that a folder on this disk offers: its GGUF files, or the whole of it (`undefined`). */
export async function modelsIn(folder: string): Promise<(string | undefined)[]> {
  const disk = thisDisk()
  return disk ? modelsAmong(await filesBelow(disk, folder, 4)) : []
}

/** The model of a store that `name` means: whole, without its publisher, its tag or its file where one alone fits. */
export async function findForeign(store: ForeignName, name: string, disk = thisDisk()): Promise<ForeignPlace> {
  const fullName = `${store}:${name}`
  if (!disk) throw broken(fullName, `${NAMED[store].title}'s models cannot be reached from a browser.`)
  const models = await NAMED[store].list(disk)
  const names = models.map((model) => model.name.slice(store.length + 1))
  const found = pick(names, name)
  if (found.length === 1) return models[names.indexOf(found[0]!)]!.locate()
  const list = (of: readonly string[]) => of.map((each) => `${store}:${each}`).join(', ')
  if (found.length > 1) throw broken(fullName, `that may be ${list(found)}.`)
  const there = names.length === 0 ? `no models of ${NAMED[store].title} were found` : `there are ${list(names)}`
  throw broken(fullName, `${NAMED[store].title} has no such model; ${there}.`)
}

function pick(names: readonly string[], name: string): string[] {
  const [wanted, tag] = name.toLowerCase().split(/:(?=[^/]*$)/) as [string, string | undefined]
  const lower = (test: (each: string) => boolean) => names.filter((each) => test(each.toLowerCase()))
  const exact = lower((each) => each === name.toLowerCase() || (tag === undefined && each === `${wanted}:latest`))
  if (exact.length > 0) return exact
  // A repository with one file, a file without its repository, a quantisation of one.
  const within = lower((each) => {
    const plain = each.replace(/\.gguf$/, '')
    return `/${plain}/`.includes(`/${wanted.replace(/\.gguf$/, '')}/`)
  })
  return tag === undefined ? within : within.filter((each) => hasQuantisation(each, tag))
}

/** A repository of the hub in the cache of Hugging Face's own libraries; `quantisation` picks one of its files. */
export async function findOnHub(
  { repository, file, quantisation }: { repository: string; file?: string; quantisation?: string },
  disk = thisDisk(),
): Promise<ForeignPlace | undefined> {
  const found = disk && (await hubSnapshot(disk, repository))
  if (!found) return undefined
  const { names, ...place } = found
  const wanted = quantisation === undefined ? file : pickFile(names, quantisation)
  if (wanted === undefined && quantisation !== undefined) return undefined
  return wanted === undefined ? place : names.includes(wanted) ? { ...place, file: wanted } : undefined
}
