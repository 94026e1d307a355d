/** Where the Vulkan driver may be: containers often have it without the file that tells the loader so. */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'

const MANIFESTS = [
  '/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json',
  '/usr/share/vulkan/icd.d/nvidia_icd.json',
  '/etc/vulkan/icd.d/nvidia_icd.json',
]
/** The second needs no X libraries. */
const LIBRARIES = ['libGLX_nvidia.so.0', 'libEGL_nvidia.so.0']
const FOLDERS = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/local/nvidia/lib64',
  '/usr/local/nvidia/lib',
]

/** Environments to try in turn; the first is the machine's own. `folder` takes the manifests that have to be written. */
export async function drivers(folder: string): Promise<Record<string, string>[]> {
  const own = process.env.VK_DRIVER_FILES ?? process.env.VK_ICD_FILENAMES
  // Whoever names a driver wants that one.
  if (own) return [{}]
  const written: string[] = []
  await mkdir(folder, { recursive: true })
  for (const library of LIBRARIES) {
    for (const place of FOLDERS.map((path) => join(path, library)).filter(existsSync)) {
      const path = join(folder, `icd-${written.length}.json`)
      const ICD = { library_path: place, api_version: '1.3.0' }
      await writeFile(path, JSON.stringify({ file_format_version: '1.0.0', ICD }))
      written.push(path)
    }
  }
  const files = [...MANIFESTS.filter(existsSync), ...written]
  return [{}, ...files.map((path) => ({ VK_DRIVER_FILES: path, VK_ICD_FILENAMES: path }))]
}
