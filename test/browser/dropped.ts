/** Run in a page that takes a model file which is dropped into it, keeps it, and asks it. */

import {
  keepFile,
  keptFiles,
  type ModelOptions,
  removeFile,
  type WebGpuOptions,
  webgpu,
} from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'

export interface Dropped {
  /** What became of the file that was dropped last. */
  kept: Promise<string> | undefined
  ask(model: string | ModelOptions): Promise<string>
  askFile(): Promise<string>
  /** What a model that is shared with other sites answers, and what the page was told before. */
  askShared(model: ModelOptions): Promise<{ answer: string; messages: string[] }>
  /** What `/v1/models` says of a kept model, and after it was deleted over HTTP what is kept. */
  remove(model: string): Promise<{ before: unknown; after: string[] }>
  keptFiles: typeof keptFiles
  removeFile: typeof removeFile
}

let file: File | undefined

async function ask(model: string | ModelOptions, options: Partial<WebGpuOptions> = {}): Promise<string> {
  const engine = webgpu({ models: [model], device: 'cpu', threads: 1, log: () => {}, ...options })
  const v1 = createV1({ engine, keys: 'none' })
  try {
    const [{ id }] = (await (await v1.fetch(new Request('http://localhost/v1/models'))).json()).data
    const body = {
      model: id,
      messages: [{ role: 'user', content: 'kalo mire' }],
      max_tokens: 8,
      seed: 1,
      temperature: 0,
    }
    const response = await v1.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
    const completion = await response.json()
    return response.ok ? completion.choices[0].message.content : completion.error.message
  } finally {
    await v1.close()
  }
}

async function remove(model: string) {
  const engine = webgpu({ models: [model], device: 'cpu', threads: 1, log: () => {} })
  const v1 = createV1({ engine, keys: 'none', manageModels: true })
  const url = 'http://localhost/v1/models'
  const [before] = (await (await v1.fetch(new Request(url))).json()).data
  await v1.fetch(new Request(`${url}/${before.id}`, { method: 'DELETE' }))
  await v1.close()
  return { before: before.metadata, after: (await keptFiles()).map(({ name }) => name) }
}

const page: Dropped = {
  kept: undefined,
  ask,
  askFile: () => ask({ id: 'local/dropped', from: file! }),
  async askShared(model) {
    const messages: string[] = []
    const answer = await ask(model, { crossOriginStorage: true, log: (message) => messages.push(message) })
    return { answer, messages }
  },
  remove,
  keptFiles,
  removeFile,
}
Object.assign(window, { page })

document.addEventListener('dragover', (event) => event.preventDefault())
document.addEventListener('drop', (event) => {
  event.preventDefault()
  file = event.dataTransfer!.files[0]!
  page.kept = keepFile(file).catch((error: Error) => error.message)
})
