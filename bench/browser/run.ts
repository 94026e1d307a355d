/** A run in a page of a headless Chromium. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchOrder } from '../../src/bench/elsewhere.js'
import type { BenchReport } from '../../src/bench/report.js'
import { offeredModel } from '../../src/engines/webgpu/location.js'
import { launchChromium } from '../../test/support/chromium.js'
import { serveFiles } from '../../test/support/serve.js'
import { serveWllama } from './peers.js'
import { siteFiles } from './site.js'
import type { PageOrder } from './worker.js'

/** Threads need both. */
export const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

/** With `peers`, a folder in whose `node_modules` wllama is installed, that stands beside us in every round. */
export async function benchInBrowser(
  order: BenchOrder,
  progress: (message: string) => void,
  peers?: string,
): Promise<BenchReport> {
  const { files, models } = await served(order.models)
  const wllama = peers === undefined ? undefined : await serveWllama(peers, order)
  const server = await serveFiles({ ...(await siteFiles()), ...files, ...wllama?.files }, '', ISOLATED)
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    // A run takes as long as it takes.
    page.setDefaultTimeout(0)
    page.on('console', (message) => message.type() === 'error' && progress(message.text()))
    await page.goto(server.origin)
    await page.waitForFunction('globalThis.measure !== undefined')
    await page.exposeFunction('onProgress', progress)
    const inPage: PageOrder = {
      ...order,
      // A folder of this machine.
      words: undefined,
      models: models.map((model) => at(server.origin, model)),
      wllama: wllama?.at(server.origin),
    }
    const call = `new MutationObserver(() => onProgress(progress.textContent)).observe(progress, { childList: true });
measure(${JSON.stringify(inPage)})`
    return (await page.evaluate(call)) as BenchReport
  } finally {
    await browser.close()
    await server.close()
  }
}

type Model = BenchOrder['models'][number]

/** Folders of this machine are served with the page: it knows no others. */
async function served(given: readonly Model[]): Promise<{ models: Model[]; files: Record<string, Uint8Array> }> {
  const files: Record<string, Uint8Array> = {}
  const models: Model[] = []
  for (const [i, model] of given.entries()) {
    const { location, ...offered } = offeredModel(model)
    if (location.kind !== 'folder') {
      models.push(model)
      continue
    }
    for (const entry of await readdir(location.path, { withFileTypes: true })) {
      if (entry.isFile()) files[`/models/${i}/${entry.name}`] = await readFile(join(location.path, entry.name))
    }
    models.push({ ...offered, from: `/models/${i}/` })
  }
  return { models, files }
}

function at(origin: string, model: Model): Model {
  if (typeof model === 'string' || typeof model.from !== 'string' || !model.from.startsWith('/models/')) return model
  return { ...model, from: origin + model.from }
}
