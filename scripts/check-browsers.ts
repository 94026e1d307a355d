/**
 * `npm run check:browsers`: the same scenarios in Chromium (of npm), in Firefox ESR and WebKitGTK (of this machine) and in
 * the newest Firefox (that LOCAL_V1_FIREFOX names), and the table of what held, which becomes docs/browsers.md.
 * `-- firefox playground` asks that browser, and only for what is named so; the other cells stay as they were.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPlayground } from '../apps/playground/build/build.js'
import { writeMadeUp } from '../src/models/files/formats/gguf/made-up.test-helper.js'
import { bundle } from '../test/support/bundle.js'
import { launchDrivenChromium } from '../test/support/driven-chromium.js'
import { filesIn } from '../test/support/folder.js'
import { listen } from '../test/support/serve.js'
import { type Driven, type DrivenTab, launchFirefox, launchWebKit } from '../test/support/webdriver.js'
import { endpoints } from './browsers/contract.js'
import { frame } from './browsers/frame.js'
import { screens } from './browsers/playground.js'
import { type Limit, scenarios as library, type Scenario } from './browsers/scenarios.js'
import { encoderFiles, typed } from './browsers/typed.js'

const root = new URL('../', import.meta.url)
const scenarios: readonly Scenario[] = [...library, endpoints, typed, ...screens]
const HTML = '<!doctype html><meta charset="utf-8"><title>tab</title><script type="module" src="/tab.js"></script>'
const DROPPED =
  '<!doctype html><meta charset="utf-8"><title>dropped</title><script type="module" src="/dropped.js"></script>'
/** Of the playground's screens, for people to look at. */
const pictures = fileURLToPath(new URL('test-output/browsers/', root))
const FOREIGN = `
  addEventListener('install', (event) => event.waitUntil(skipWaiting()))
  addEventListener('activate', (event) => event.waitUntil(clients.claim()))
  addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))`

/** Debian's releases have the ESR alone. */
const newest = process.env.LOCAL_V1_FIREFOX

/** Undefined: there is no way to have it allow so little. */
type Launch = (limit?: Limit) => Promise<Driven> | undefined

const firefox =
  (program: string): Launch =>
  (limit) =>
    launchFirefox(program, {
      ...(limit === 'private' && { 'browser.privatebrowsing.autostart': true }),
      // In kilobytes, of all sites together.
      ...(typeof limit === 'number' && { 'dom.quotaManager.temporaryStorage.fixedLimit': Math.round(limit / 1024) }),
    })

const browsers: Readonly<Record<string, Launch | undefined>> = {
  // A window of a driver's is a private one.
  Chromium: (limit) => launchDrivenChromium(typeof limit === 'number' ? { quota: limit } : {}),
  Firefox: newest === undefined ? undefined : firefox(newest),
  'Firefox ESR': firefox('firefox-esr'),
  // The same here; what a site may store is a share of the disk, and no option.
  WebKitGTK: (limit) => (typeof limit === 'number' ? undefined : launchWebKit()),
}

async function siteFiles(): Promise<Record<string, string | Uint8Array>> {
  const files: Record<string, string | Uint8Array> = { '/': HTML, '/foreign.js': FOREIGN }
  const [tab, scripted, classic, nano, worker] = await Promise.all([
    bundle('test/browser/tab.ts'),
    bundle('test/browser/hosts-worker.ts'),
    bundle('test/browser/hosts-worker.ts', { format: 'iife' }),
    bundle('test/browser/nano-worker.ts', { format: 'iife' }),
    bundle('src/device/cpu/cpu-worker.ts'),
  ])
  Object.assign(files, { '/tab.js': tab, '/scripted.js': scripted, '/scripted-classic.js': classic })
  Object.assign(files, { '/nano-classic.js': nano, '/cpu-worker.js': worker })
  for (const [path, bytes] of Object.entries(await filesIn(fileURLToPath(new URL('models/nano/', root)))))
    if (/^\/[\w-]+\.(json|bin)$/.test(path)) files[`/nano${path}`] = bytes
  for (const [path, bytes] of Object.entries(await encoderFiles())) files[`/encoder${path}`] = bytes
  const playground = await buildPlayground({ out: `${pictures}site` })
  for (const [path, bytes] of Object.entries(await filesIn(playground))) files[`/playground${path}`] = bytes
  files['/frame.html'] = frame()
  files['/elsewhere.html'] = frame({ elsewhere: true })
  files['/dropped.html'] = DROPPED
  files['/dropped.js'] = await bundle('test/browser/dropped.ts')
  files['/small.gguf'] = await smallGguf()
  return files
}

async function smallGguf(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-dropped-'))
  const path = join(folder, 'small.gguf')
  const chatTemplate = '{% for message in messages %}<s>{{ message.content }}</s>{% endfor %}'
  await writeMadeUp(path, { types: { '*': 'Q8_0' }, chatTemplate })
  const bytes = await readFile(path)
  await rm(folder, { recursive: true })
  return bytes
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript',
  html: 'text/html',
  css: 'text/css',
  svg: 'image/svg+xml',
}
const typeOf = (path: string) => (path === '/' ? 'text/html' : (TYPES[path.split('.').pop()!] ?? ''))

async function attempt(
  column: string,
  browser: Driven,
  files: Record<string, string | Uint8Array>,
  { headers, run }: Scenario,
) {
  const leaked: string[] = []
  const server = await listen((request, response) => {
    const path = new URL(request.url!, 'http://localhost').pathname
    if (path.startsWith('/v1/')) leaked.push(path)
    response.setHeaders(new Map(Object.entries({ 'cache-control': 'no-store', ...headers })))
    response.setHeader('content-type', typeOf(path))
    response.writeHead(files[path] === undefined ? 404 : 200).end(files[path] ?? '')
  })
  try {
    const picture = async (tab: DrivenTab, name: string) => {
      await mkdir(pictures, { recursive: true })
      await writeFile(`${pictures}${fileName(column)}-${name}.png`, await tab.screenshot())
    }
    await run({ browser, origin: server.origin, leaked, picture })
    return leaked.length === 0 ? undefined : `the web server was asked for ${leaked.join(', ')}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await server.close()
  }
}

const fileName = (column: string) => column.toLowerCase().replaceAll(' ', '-')

const words = process.argv.slice(2).map((word) => word.toLowerCase())
const isBrowser = (word: string) => Object.keys(browsers).some((name) => name.toLowerCase().startsWith(word))
const [named, parts] = [words.filter(isBrowser), words.filter((word) => !isBrowser(word))]
const isChosen = (name: string, among: readonly string[]) =>
  among.length === 0 || among.some((word) => name.toLowerCase().includes(word))
const files = await siteFiles()
/** By scenario and browser: what was seen now. */
const seen = new Map<string, Map<string, string>>(scenarios.map(({ name }) => [name, new Map()]))
const versions = new Map<string, string>()
const notes: string[] = []
for (const [name, launch] of Object.entries(browsers).filter(([name]) => isChosen(name, named))) {
  if (!launch) {
    console.log(`${name}: LOCAL_V1_FIREFOX names none, so its column stays as it was`)
    continue
  }
  const browser = (await launch())!
  versions.set(name, `${name} ${browser.version}`)
  console.log(versions.get(name))
  for (const scenario of scenarios.filter((each) => isChosen(each.name, parts))) {
    const limited = scenario.limit === undefined ? browser : await launch(scenario.limit)
    if (!limited) {
      seen.get(scenario.name)?.set(name, 'cannot be asked')
      console.log(`  --   ${scenario.name}: ${name} has no setting for it`)
      continue
    }
    const fault = await attempt(name, limited, files, scenario)
    if (limited !== browser) await limited.close()
    seen.get(scenario.name)?.set(name, fault === undefined ? 'yes' : 'no')
    console.log(
      `  ${fault === undefined ? 'yes' : 'NO '}  ${scenario.name}${fault === undefined ? '' : `\n       ${fault}`}`,
    )
    if (fault !== undefined) notes.push(`- ${name}, ${scenario.name}: ${fault.split('\n')[0]}`)
  }
  await browser.close()
}

const file = new URL('docs/browsers.md', root)
const [before = '', table = ''] = (await readFile(file, 'utf8').catch(() => '')).split('<!-- check:browsers -->')
const kept = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
const heads = kept.find((cells) => cells.length > 2) ?? []
const keptCell = (row: string, browser: string) =>
  kept.find((cells) => cells[1] === row)?.[heads.findIndex((head) => head.replace(/ \d\S*$/, '') === browser)]
/** Where only some rows were asked now, the column stays that of the version which all were asked of. */
const isWhole = (name: string) => [...seen.values()].every((cells) => cells.has(name))
const headOf = (name: string) =>
  (isWhole(name) ? versions.get(name) : (keptCell('What holds', name) ?? versions.get(name))) ?? name
const cellOf = (name: string, cells: ReadonlyMap<string, string>, scenario: string) => {
  const cell = cells.get(name)
  if (cell === undefined) return keptCell(scenario, name) ?? 'not run'
  const version = versions.get(name)!
  return headOf(name) === version ? cell : `${cell} (${version.slice(name.length + 1)})`
}
const row = (words: readonly string[]) => `| ${words.join(' | ')} |`
const names = Object.keys(browsers)
const lines = [
  row(['What holds', ...names.map(headOf)]),
  row(['---', ...names.map(() => '---')]),
  ...[...seen].map(([scenario, cells]) => row([scenario, ...names.map((name) => cellOf(name, cells, scenario))])),
]
console.log(`\n${lines.join('\n')}`)
const text = [`${before}<!-- check:browsers -->`, '', ...lines, ...(notes.length ? ['', ...notes] : [])]
await writeFile(file, `${text.join('\n')}\n`)
process.exit(notes.length === 0 ? 0 : 1)
