import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

const decompress = promisify(brotliDecompress)
const require = createRequire(import.meta.url)

const cacheRoot = fileURLToPath(new URL('../../node_modules/.cache/local-v1/', import.meta.url))

/**
 * @sparticuz/chromium is the only place where npm alone holds a browser and a software Vulkan. Chromium looks for its
 * GPU libraries beside itself, so that one folder holds it all; who wants Vulkan alone is spared the 200 MB.
 */
const ARCHIVES = {
  chromium: ['chromium', 'swiftshader.tar', 'al2023.tar'],
  swiftshader: ['swiftshader.tar'],
}

export type Unpacked = keyof typeof ARCHIVES

/** Whether this machine can run what the package holds. Tests that need it are skipped elsewhere. */
export const canUnpack = process.platform === 'linux' && process.arch === 'x64'

const pending = new Map<Unpacked, Promise<string>>()

/** Unpacks once per machine and returns the folder. Safe for any number of processes at the same time. */
export function unpack(what: Unpacked): Promise<string> {
  let folder = pending.get(what)
  if (!folder) {
    folder = unpackOnce(what)
    pending.set(what, folder)
  }
  return folder
}

async function unpackOnce(what: Unpacked): Promise<string> {
  if (!canUnpack) {
    throw new Error('@sparticuz/chromium holds programs for Linux on x64 only')
  }
  const packageRoot = join(dirname(require.resolve('@sparticuz/chromium')), '..')
  const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
  const folder = join(cacheRoot, `${what}-${version}`)
  if (existsSync(folder)) return folder

  // Into a folder of our own, then renamed as a whole: whoever sees the name sees all of it.
  await mkdir(cacheRoot, { recursive: true })
  const own = await mkdtemp(`${folder}-`)
  try {
    for (const archive of ARCHIVES[what]) {
      const bytes = await decompress(await readFile(join(packageRoot, 'bin', `${archive}.br`)))
      const files = archive.endsWith('.tar') ? untar(bytes) : [{ name: archive, mode: 0o755, data: bytes }]
      for (const { name, mode, data } of files) {
        await mkdir(dirname(join(own, name)), { recursive: true })
        await writeFile(join(own, name), data, { mode })
      }
    }
    await rename(own, folder)
  } catch (error) {
    await rm(own, { recursive: true, force: true })
    // Another process was first: its folder is as good.
    if (!existsSync(folder)) throw error
  }
  return folder
}

/** The plain files of a ustar archive; enough for these archives, which have short names and no links. */
function untar(archive: Buffer): { name: string; mode: number; data: Buffer }[] {
  const files: { name: string; mode: number; data: Buffer }[] = []
  for (let at = 0; at + 512 <= archive.length; ) {
    const header = archive.subarray(at, at + 512)
    const text = (from: number, to: number) => header.toString('latin1', from, to).split('\0', 1)[0]!.trim()
    const name = text(0, 100)
    if (name === '') break
    const size = Number.parseInt(text(124, 136), 8)
    const type = text(156, 157)
    if (type === '' || type === '0') {
      const mode = Number.parseInt(text(100, 108), 8) & 0o777
      files.push({ name, mode, data: archive.subarray(at + 512, at + 512 + size) })
    }
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
