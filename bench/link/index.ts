/**
 * `npm run bench:link`: from a link to the playground that somebody opens to the coloured answer, at a first visit and at
 * later ones, and what the time went into: with Chromium's throttle (`--rate`, 4 by default), which holds the page's main
 * thread and nothing else, and with every thread of the browser held to that share. As root,
 * `chrt -r 1 npm run bench:link` lets other programs wait.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { buildPlayground } from '../../apps/playground/build/build.js'
import { servePlayground } from '../../apps/playground/build/serve.js'
import { launchChromium } from '../../test/support/chromium.js'
import { throttle } from './throttle.js'

const { values } = parseArgs({
  options: { rate: { type: 'string', default: '4' }, rounds: { type: 'string', default: '3' } },
})

/** Milliseconds since the navigation began at which each was first seen. */
type Seen = Readonly<Record<string, number>>

const STEPS = [
  ['paint', 'first paint'],
  ['start', 'the page’s first script runs'],
  ['worker', 'the engine’s worker is requested'],
  ['answers', 'it answers'],
  ['download', 'the download of the model begins'],
  ['read', 'its weights are read'],
  ['loaded', 'it is loaded'],
  ['coloured', 'the first coloured token is shown'],
  ['whole', 'the answer is complete'],
] as const

/** Text, since what runs tests adds names to functions that no page knows. */
const WATCH = `(() => {
  const seen = (window.seen = {})
  const note = (name) => { seen[name] ??= performance.now() }
  const { Worker, BroadcastChannel } = window
  window.Worker = class extends Worker {
    constructor(...args) {
      super(...args)
      note('worker')
      this.addEventListener('message', ({ data }) => data?.localV1?.type === 'ready' && note('answers'))
    }
  }
  const PHASES = { download: 'download', read: 'read', upload: 'read' }
  window.BroadcastChannel = class extends BroadcastChannel {
    constructor(...args) {
      super(...args)
      this.addEventListener('message', ({ data }) => {
        const phase = PHASES[data?.localV1?.progress?.phase]
        if (phase) note(phase)
      })
    }
  }
  new MutationObserver(() => {
    if (document.documentElement.dataset.theme) note('start')
    if (document.querySelector('.model.selected .state.ready')) note('loaded')
    if (document.querySelector('#answer .tokens .forced')) note('coloured')
    if (document.querySelector('#answer[aria-busy="false"] .tokens .forced')) note('whole')
  }).observe(document, { subtree: true, childList: true, attributes: true })
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') seen.paint = startTime
  }).observe({ type: 'paint', buffered: true })
})()`

async function visit(page: Page, url: string): Promise<Seen> {
  await page.addInitScript(WATCH)
  await page.goto(url)
  await page.locator('#answer[aria-busy="false"] .tokens .forced').first().waitFor({ timeout: 120_000 })
  return page.evaluate(() => (window as unknown as { seen: Seen }).seen)
}

const folder = await mkdtemp(join(tmpdir(), 'local-v1-link-'))
const { server, url } = await servePlayground(await buildPlayground({ out: folder }))
const rate = Number(values.rate)
const HELD = ['the page', 'everything'] as const
const KINDS = ['first', 'later'] as const
const visits = new Map<string, Seen[]>()
for (const held of HELD) {
  // One for each: what a browser has computed once it knows, whatever forgets the site.
  for (let round = 0; round < Number(values.rounds); round++) {
    const browser = await launchChromium({ webgpu: false })
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
    for (const kind of KINDS) {
      const page = await context.newPage()
      const devtools = await context.newCDPSession(page)
      if (held === 'the page') await devtools.send('Emulation.setCPUThrottlingRate', { rate })
      const release = held === 'everything' ? await throttle(browser, rate) : async () => {}
      const name = `${held}, ${kind}`
      visits.set(name, [...(visits.get(name) ?? []), await visit(page, url)])
      await release()
      await page.close()
    }
    await browser.close()
  }
}
server.closeAllConnections()
server.close()
await rm(folder, { recursive: true })

const middle = (all: readonly number[]): string => {
  const sorted = all.toSorted((a, b) => a - b)
  return sorted.length === 0 ? '-' : Math.round(sorted[Math.floor(sorted.length / 2)]!).toString()
}
const columns = HELD.flatMap((held) => KINDS.map((kind) => `${held}, ${kind}`))
console.log(
  `Milliseconds after the link was opened, the page or everything at 1/${rate} of this processor's speed; the`,
)
console.log(
  `middle of ${values.rounds} visits of each kind.\n\n| | ${columns.map((name) => `${name} visit`).join(' | ')} |`,
)
console.log(`|---|${'---|'.repeat(columns.length)}`)
for (const [name, label] of STEPS) {
  const cells = columns.map((column) => middle((visits.get(column) ?? []).flatMap((seen) => seen[name] ?? [])))
  console.log(`| ${label} | ${cells.join(' | ')} |`)
}
