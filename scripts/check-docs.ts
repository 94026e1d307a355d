/**
 * `npm run check:docs`: builds the documentation site and looks at each of its pages with axe, light and dark, on a phone
 * and on two wider screens; nothing may be wider than the screen. Pictures of one page of each kind, for people to look
 * at, are in test-output/docs. The playground in it must answer, framed and by itself, from a host that sends no
 * headers. VitePress is installed in docs where it is missing. `-- guides/` looks at those pages alone whose path has that.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { barriers } from '../test/playground/audit.js'
import { launchChromium } from '../test/support/chromium.js'
import { filesIn } from '../test/support/folder.js'
import { serveFiles } from '../test/support/serve.js'

/** Ends what hangs: a busy machine is slow. */
const LIMIT = 300_000
const docs = fileURLToPath(new URL('../docs', import.meta.url))
const run = promisify(execFile)
if (!existsSync(`${docs}/node_modules/vitepress`)) await run('npm', ['install', '--no-package-lock'], { cwd: docs })
await run('npm', ['run', 'build'], { cwd: docs })
const files = await filesIn(`${docs}/.vitepress/dist`)
const words = process.argv.slice(2)
/** One of each kind of page. */
const PICTURED = new Set([
  '/index.html',
  '/start/node.html',
  '/guides/models.html',
  '/guides/playground.html',
  '/masks.html',
])
const pictures = fileURLToPath(new URL('../test-output/docs', import.meta.url))
const pages = Object.keys(files)
  .filter((path) => path.endsWith('.html') && path !== '/404.html' && !path.startsWith('/playground/'))
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
const server = await serveFiles(files)
const browser = await launchChromium({ webgpu: false })
let faults = 0
for (const [look, width] of [
  ['light', 1280],
  ['dark', 1024],
  ['light', 360],
  ['dark', 360],
] as const) {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: look,
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(LIMIT)
  const page = await context.newPage()
  for (const path of pages) {
    await page.goto(server.origin + path)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    const found = [...(await barriers(page)), ...(wide > 0 ? [`${wide} px wider than the screen`] : [])]
    faults += found.length
    if (PICTURED.has(path)) {
      await page.screenshot({ path: `${pictures}/${look}-${width}${path.replaceAll('/', '-')}.png`, fullPage: true })
    }
    for (const each of found) console.log(`NO   ${path}, ${look}, ${width} px: ${each}`)
  }
  await context.close()
}
// What whoever comes for the first time sees first: the first example, answered.
const answered = '#answer[aria-busy="false"] .tokens .forced'
for (const path of ['/index.html', '/try.html']) {
  const visit = await browser.newContext({ reducedMotion: 'reduce' })
  visit.setDefaultTimeout(LIMIT)
  const page = await visit.newPage()
  await page.goto(server.origin + path)
  await page.locator('iframe').scrollIntoViewIfNeeded()
  await page.frameLocator('iframe').locator(answered).first().waitFor()
  await visit.close()
}
const context = await browser.newContext({ reducedMotion: 'reduce' })
context.setDefaultTimeout(LIMIT)
const page = await context.newPage()
await page.goto(`${server.origin}/playground/index.html`)
await page.evaluate(async () => void (await navigator.serviceWorker.ready))
await page.reload()
await page.locator('body.ready').waitFor()
await page.getByRole('button', { name: 'Generate', exact: true }).click()
await page.locator(answered).first().waitFor()
if (!(await page.evaluate(() => crossOriginIsolated))) {
  faults++
  console.log('NO   the playground is not isolated, although its service worker answers for it')
}
await context.close()
await browser.close()
await server.close()
console.log(`${pages.length} pages, ${faults} findings`)
process.exit(faults === 0 ? 0 : 1)
