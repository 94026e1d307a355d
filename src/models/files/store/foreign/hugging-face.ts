/** The cache of Hugging Face's own libraries: a snapshot by commit, of links to files by their hashes. */
import {
  type Disk,
  entriesOf,
  type ForeignModel,
  type ForeignPlace,
  type ForeignStore,
  filesBelow,
  modelsAmong,
} from './foreign.js'

function folderOf({ environment, home }: Disk): string {
  const { HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME } = environment
  const given = HF_HUB_CACHE || HUGGINGFACE_HUB_CACHE
  return given || `${HF_HOME || `${XDG_CACHE_HOME || `${home}/.cache`}/huggingface`}/hub`
}

/** The snapshot of the main branch as it was last seen; where that is not said, any. */
async function snapshotOf(disk: Disk, repository: string): Promise<string | undefined> {
  const folder = `${folderOf(disk)}/models--${repository.replace('/', '--')}`
  const commit = (await disk.fs.readFile(`${folder}/refs/main`, 'utf8').catch(() => '')).trim()
  const names = (await entriesOf(disk, `${folder}/snapshots`)).map(({ name }) => name)
  const name = names.includes(commit) ? commit : names[0]
  return name === undefined ? undefined : `${folder}/snapshots/${name}`
}

/** Files that git keeps elsewhere are named by their SHA-256. */
async function knownOf({ fs }: Disk, path: string) {
  const target = await fs.readlink(path).catch(() => '')
  const [sha256] = target.match(/[0-9a-f]{64}$/) ?? []
  return sha256 === undefined ? undefined : { sha256 }
}

/** Where a repository of the hub lies in the cache, with the names of what there is of it. */
export async function hubSnapshot(
  disk: Disk,
  repository: string,
): Promise<(ForeignPlace & { names: string[] }) | undefined> {
  const folder = await snapshotOf(disk, repository)
  if (folder === undefined) return undefined
  const names = await filesBelow(disk, folder, 4)
  return { folder, names, known: (file) => knownOf(disk, `${folder}/${file}`) }
}

export const huggingFace: ForeignStore = {
  title: 'Hugging Face',
  async list(disk) {
    const models: ForeignModel[] = []
    for (const { name } of await entriesOf(disk, folderOf(disk))) {
      const [, owner, ...rest] = name.split('--')
      if (!name.startsWith('models--') || owner === undefined || rest.length === 0) continue
      const repository = `${owner}/${rest.join('--')}`
      const { names = [], ...place } = (await hubSnapshot(disk, repository)) ?? {}
      for (const file of modelsAmong(names)) {
        models.push({
          name: file === undefined ? repository : `${repository}/${file}`,
          locate: async () => ({ ...(place as ForeignPlace), ...(file !== undefined && { file }) }),
        })
      }
    }
    return models
  },
}
