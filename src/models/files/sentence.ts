/** The files by which sentence-transformers says what becomes of a model's rows: they lie beside its weights. */
import { isRecord, type JsonObject } from '../../platform/index.js'
import { broken } from './failure.js'
import type { RepositoryFiles } from './files.js'
import { parseJson } from './json.js'

export interface SentenceModule {
  /** Of sentence-transformers' own the last word, `Pooling`; of code that a repository brings along the whole. */
  readonly type: string
  /** Its folder, without a slash at the end; empty: the repository's own. */
  readonly path: string
  readonly config: JsonObject
}

export interface SentenceFiles {
  readonly modules: readonly SentenceModule[]
  /** `sentence_bert_config.json`: how the transformer is asked. */
  readonly transformer: JsonObject
  /** `config_sentence_transformers.json`: prompts. */
  readonly settings: JsonObject
}

const MODULES = 'modules.json'

/** Undefined where the model is not said to make vectors. */
export async function readSentence(files: RepositoryFiles, signal: AbortSignal): Promise<SentenceFiles | undefined> {
  const list = await files.text(MODULES, signal)
  if (list === undefined) return undefined
  const json = async (name: string): Promise<JsonObject> => {
    const text = await files.text(name, signal)
    return text === undefined ? {} : parseJson(files.place, name, text)
  }
  const modules: SentenceModule[] = []
  for (const entry of listIn(files.place, list)) {
    const path = String(entry.path ?? '').replace(/\/+$/, '')
    if (!/^[\w.-]*$/.test(path)) throw broken(files.place, `${MODULES} names the folder "${path}".`)
    const whole = String(entry.type)
    const type = whole.startsWith('sentence_transformers.') ? whole.split('.').at(-1)! : whole
    // The transformer's own configuration is the model's; a step that normalises has none.
    const config = path === '' || type === 'Normalize' ? {} : await json(`${path}/config.json`)
    modules.push({ type, path, config })
  }
  return {
    modules,
    transformer: await json('sentence_bert_config.json'),
    settings: await json('config_sentence_transformers.json'),
  }
}

/** Files of weights that modules have beside the model's, by their folders. */
export function foldersWithWeights({ modules }: SentenceFiles): string[] {
  return modules.flatMap(({ type, path }) => (type === 'Dense' && path !== '' ? [path] : []))
}

function listIn(place: string, text: string): JsonObject[] {
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list) && list.every(isRecord)) return list
  } catch {}
  throw broken(place, `${MODULES} is not a list of modules.`)
}
