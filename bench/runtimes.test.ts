import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { BenchOrder } from '../src/bench/elsewhere.js'
import type { BenchReport } from '../src/bench/report.js'
import { PARTS } from '../src/bench/subject.js'
import { tableOf } from '../src/bench/table.js'
import { tinyRepository, writeRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { launchChromium } from '../test/support/chromium.js'
import { FULL } from '../test/support/full.js'
import { ownFolder } from '../test/support/own-folder.js'
import { serveFiles } from '../test/support/serve.js'
import { benchInBrowser } from './browser/run.js'
import { siteFiles, writeSite } from './browser/site.js'
import type { Wanted } from './browser/worker.js'
import { benchInDeno } from './deno/run.js'

const folder = ownFolder()
let order: BenchOrder
beforeAll(async () => {
  await writeRepository(tinyRepository(), folder)
  const settings = {
    promptLengths: [24],
    batches: [1, 2],
    tokens: 4,
    rounds: 1,
    decisions: [24, 3] as const,
    documents: true,
    leastSeconds: 0,
    clock: 'wall' as const,
    only: PARTS,
  }
  order = { version: '0', models: [{ id: 'test/tiny', from: folder }], devices: ['cpu'], threads: 2, settings }
})

/** In the page: what a person measures several times, for its median, once. Another round comes to nothing else. */
function onceEach(): void {
  const { postMessage } = Worker.prototype
  Worker.prototype.postMessage = function (wanted: Wanted) {
    if ('measure' in wanted) Object.assign(wanted.measure.settings, { rounds: 1, leastSeconds: 0 })
    else Object.assign(wanted.profile, { steps: 4 })
    postMessage.call(this, wanted)
  }
}

function expectWhole(report: BenchReport, threads: string): void {
  expect(report.subjects).toMatchObject([
    { model: 'test/tiny', device: 'cpu', deviceName: expect.stringContaining(threads) },
  ])
  const metrics = report.series.map(({ metric }) => metric)
  for (const metric of ['first-token', 'decode', 'json-strict', 'through-v1']) expect(metrics).toContain(metric)
  expect(tableOf(report)).not.toMatch(/NaN|undefined|Infinity/)
}

describe('a run elsewhere', () => {
  it('is the same in Deno', async () => {
    // Strict extraction takes longer than all the rest: in the page alone.
    const only = FULL ? PARTS : PARTS.filter((part) => part !== 'extract')
    const report = await benchInDeno({ ...order, settings: { ...order.settings, only } })
    expectWhole(report, '2 threads')
    expect(report.machine.runtime).toMatch(/^Deno /)
  })

  it('is the same in a page of a browser, in a worker that may start threads', async () => {
    const seen: string[] = []
    const report = await benchInBrowser(order, (message) => seen.push(message))
    expectWhole(report, '2 threads')
    expect(report.machine).toMatchObject({ runtime: expect.stringContaining('Chrome'), isolated: true })
    expect(seen.join()).toContain('round 1 of 1')
  })

  it('comes as static files that need no headers: a person measures the embedded model, with threads', async () => {
    const site = join(folder, 'site')
    await writeSite(site)
    expect((await readdir(join(site, 'nano'))).length).toBeGreaterThan(3)
    const server = await serveFiles(await siteFiles())
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      // A run takes as long as it takes.
      page.setDefaultTimeout(0)
      if (!FULL) await page.addInitScript(onceEach)
      await page.goto(server.origin)
      await page.waitForFunction('crossOriginIsolated && !document.getElementById("start").disabled')
      await page.uncheck('#webgpu')
      await page.check('#quick')
      await page.click('#start')
      await page.waitForSelector('#save:not([hidden])')
      expect(await page.textContent('#table')).toMatch(/local-v1\/nano[\s\S]*threads[\s\S]*strict JSON/)
      expect(await page.locator('#chart svg rect').count()).toBeGreaterThan(5)
      // Where it goes, on either device.
      await page.click('#profile')
      await page.waitForSelector('#table:has-text("of the unprofiled")')
      expect(await page.textContent('#table')).toMatch(/local-v1\/nano on cpu[\s\S]*a step of decoding/)
    } finally {
      await browser.close()
      await server.close()
    }
  })
})
