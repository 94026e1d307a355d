import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeMadeUp } from '../../src/models/files/formats/gguf/made-up.test-helper.js'

/** A machine on which Ollama has pulled one small model, and nothing else was downloaded. The folder is to be removed. */
export async function withOllama(): Promise<{ env: Record<string, string>; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-served-'))
  const chatTemplate = '{% for message in messages %}<s>{{ message.content }}</s>{% endfor %}'
  await writeMadeUp(join(folder, 'small.gguf'), { types: { '*': 'Q8_0' }, chatTemplate, contextLength: 4096 })
  const bytes = await readFile(join(folder, 'small.gguf'))
  const hash = createHash('sha256').update(bytes).digest('hex')
  const layer = { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${hash}`, size: bytes.length }
  const manifests = join(folder, 'ollama/manifests/registry.ollama.ai/library/small')
  await mkdir(manifests, { recursive: true })
  await mkdir(join(folder, 'ollama/blobs'))
  await writeFile(join(manifests, '1b'), JSON.stringify({ layers: [layer] }))
  await writeFile(join(folder, 'ollama/blobs', `sha256-${hash}`), bytes)
  const env = { HOME: folder, XDG_CACHE_HOME: folder, OLLAMA_MODELS: join(folder, 'ollama') }
  return { folder, env: { ...env, HF_HUB_CACHE: join(folder, 'none') } }
}
