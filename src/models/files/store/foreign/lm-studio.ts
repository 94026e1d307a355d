/** LM Studio: files by publisher and repository, in a folder that its settings may name. */
import { type Disk, type ForeignModel, type ForeignStore, filesBelow, modelsAmong } from './foreign.js'

async function folderOf({ fs, home }: Disk): Promise<string> {
  const text = (path: string) => fs.readFile(path, 'utf8').catch(() => '')
  const pointed = (await text(`${home}/.lmstudio-home-pointer`)).trim()
  const older = `${home}/.cache/lm-studio`
  const isOlder =
    pointed === '' &&
    (await fs.stat(older).then(
      () => true,
      () => false,
    ))
  const own = pointed || (isOlder ? older : `${home}/.lmstudio`)
  return downloadsIn(await text(`${own}/settings.json`)) ?? `${own}/models`
}

function downloadsIn(settings: string): string | undefined {
  try {
    const { downloadsFolder } = JSON.parse(settings) as { downloadsFolder?: unknown }
    return typeof downloadsFolder === 'string' && downloadsFolder !== '' ? downloadsFolder : undefined
  } catch {
    return undefined
  }
}

export const lmStudio: ForeignStore = {
  title: 'LM Studio',
  async list(disk) {
    const folder = await folderOf(disk)
    const repositories = new Map<string, string[]>()
    for (const path of await filesBelow(disk, folder, 3)) {
      const [publisher, repository, ...rest] = path.split('/')
      if (rest.length === 0) continue
      const name = `${publisher}/${repository}`
      repositories.set(name, [...(repositories.get(name) ?? []), rest.join('/')])
    }
    return [...repositories].flatMap(([repository, names]) =>
      modelsAmong(names).map((file): ForeignModel => {
        const name = `lmstudio:${repository}${file === undefined ? '' : `/${file}`}`
        const place = { folder: `${folder}/${repository}`, ...(file !== undefined && { file }) }
        return { name, locate: async () => place }
      }),
    )
  },
}
