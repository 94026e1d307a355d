import type { JsonObject } from '../../platform/index.js'
import { lookedAround, modelIdOf } from '../routes/models.js'
import type { Service } from '../routes/service.js'
import { aString, missing } from '../wire/fields.js'

const LATEST = ':latest'

/** A model as Ollama's clients name it, and the id that it goes by here. */
export interface NamedModel {
  readonly name: string
  readonly id: string
}

/**
 * The model that a request names. Ollama's names have a tag, and `latest` is the one that is meant where none is said; its
 * own models are offered here under names with a dash (`ollama/qwen3-0.6b`).
 */
export async function modelOf(service: Service, body: JsonObject, signal: AbortSignal): Promise<NamedModel> {
  const given = body.model ?? body.name
  if (given === undefined) throw missing('model')
  const name = aString(given, body.model == null ? 'name' : 'model')
  await lookedAround(service.engine, signal)
  return { name, id: idOf(service, name) }
}

function idOf(service: Service, name: string): string {
  const bare = name.endsWith(LATEST) ? name.slice(0, -LATEST.length) : name
  const ids = [name, bare, bare.replaceAll(':', '-')].map((each) => modelIdOf(service, each))
  const { models } = service.engine
  return ids.find((id) => models.some((model) => model.id === id)) ?? name
}

/** As it is listed: clients look for a tag. */
export const taggedName = (id: string): string => `${id}${LATEST}`

/** What clients tell models apart by: of the id, since an engine need not know the bytes of its files. */
export async function digestOf(id: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id)))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
