/**
 * `npm run playground:picture`: what a link to the playground unfolds to where it is sent, taken of the page as it is now,
 * once it has answered its first example: apps/playground/picture.png. Look at it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPlayground } from '../apps/playground/build/build.js'
import { servePlayground } from '../apps/playground/build/serve.js'
import { launchChromium } from '../test/support/chromium.js'

/** As index.html says that it is. */
const size = { width: 1200, height: 630 }

const folder = await mkdtemp(join(tmpdir(), 'local-v1-picture-'))
const { server, url } = await servePlayground(await buildPlayground({ out: folder }))
const browser = await launchChromium({ webgpu: false })
const page = await browser.newPage({ viewport: size, reducedMotion: 'reduce' })
await page.goto(url)
await page.locator('#answer[aria-busy="false"] .tokens .sampled').first().waitFor({ timeout: 120_000 })
// It is shown a few hundred pixels wide: what the page is about alone, and larger than on a page.
await page.evaluate(() => {
  document.documentElement.style.setProperty('zoom', '1.25')
  document.querySelector<HTMLElement>('.rail')!.hidden = true
  document.querySelector<HTMLElement>('.layout')!.style.gridTemplateColumns = 'minmax(0, 1fr)'
})
await page.screenshot({ path: fileURLToPath(new URL('../apps/playground/picture.png', import.meta.url)) })
await browser.close()
server.closeAllConnections()
server.close()
await rm(folder, { recursive: true })
