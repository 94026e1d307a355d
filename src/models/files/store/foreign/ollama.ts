/** Ollama: a manifest by host, namespace, model and tag names its files by their SHA-256. */
import { isRecord } from '../../../../platform/index.js'
import { broken } from '../../failure.js'
import { type Disk, type ForeignModel, type ForeignStore, filesBelow } from './foreign.js'

const REGISTRY = 'registry.ollama.ai'
const KIND = 'application/vnd.ollama.image.'

/** Of the user, and of the service that its installers set up. */
function foldersOf({ environment, home, platform }: Disk): string[] {
  if (environment.OLLAMA_MODELS) return [environment.OLLAMA_MODELS]
  const own = `${home}/.ollama/models`
  return platform === 'linux' ? [own, '/usr/share/ollama/.ollama/models', '/var/lib/ollama/models'] : [own]
}

export const ollamaStore: ForeignStore = {
  title: 'Ollama',
  async list(disk) {
    const found = new Map<string, ForeignModel>()
    for (const folder of foldersOf(disk)) {
      for (const path of await filesBelow(disk, `${folder}/manifests`, 4)) {
        const parts = path.split('/')
        if (parts.length !== 4) continue
        const name = ollamaName(parts as [string, string, string, string])
        if (!found.has(name)) found.set(name, modelOf(disk, folder, path, name))
      }
    }
    return [...found.values()]
  },
}

/** What is Ollama's own is called by the model's name alone. */
function ollamaName([registry, namespace, model, tag]: [string, string, string, string]): string {
  const owner = registry !== REGISTRY ? `${registry}/${namespace}/` : namespace === 'library' ? '' : `${namespace}/`
  return `ollama:${owner}${model}:${tag}`
}

function modelOf({ fs }: Disk, folder: string, path: string, name: string): ForeignModel {
  return {
    name,
    async locate() {
      const { file, known } = weightsIn(name, await fs.readFile(`${folder}/manifests/${path}`, 'utf8'))
      return { folder: `${folder}/blobs`, file, known: async () => known }
    },
  }
}

/** The one layer that has the weights. */
function weightsIn(name: string, manifest: string) {
  const { layers } = JSON.parse(manifest) as { layers?: unknown }
  const all = Array.isArray(layers) ? layers.filter(isRecord) : []
  const of = (kind: string) => all.filter(({ mediaType }) => mediaType === KIND + kind)
  if (of('adapter').length > 0) throw broken(name, 'it has an adapter, which cannot be added to its weights here.')
  const [layer, ...others] = of('model')
  if (of('tensor').length > 0 || others.length > 0)
    throw broken(name, 'its weights are in several files of Ollama’s own format; only GGUF can be read.')
  const [, sha256] = String(layer?.digest).match(/^sha256[:-]([0-9a-f]{64})$/) ?? []
  if (!layer || sha256 === undefined) throw broken(name, 'its manifest names no weights: does it run in the cloud?')
  return { file: `sha256-${sha256}`, known: { sha256, ...(typeof layer.size === 'number' && { bytes: layer.size }) } }
}
