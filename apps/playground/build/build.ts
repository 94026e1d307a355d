import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BuildOptions as BundleOptions, build as bundle } from 'esbuild'
import { DOCS_PAGE, docsPage, INSTALL_PART } from './docs-page.js'
import { HUGGING_FACE, policyFor } from './headers.js'

const here = fileURLToPath(new URL('..', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Of models/nano, what a browser reads, beside the shards that the manifest names. */
const MANIFEST = 'tensor-cache.json'
const NANO_FILES = ['mlc-chat-config.json', MANIFEST, 'tokenizer.json', 'tokenizer_config.json']

/** What a link to the page unfolds to, where it is sent. */
const PICTURE = 'picture.png'

const common = { absWorkingDir: here, bundle: true, minify: true, target: 'es2022', logLevel: 'error' } as const

export interface BuildOptions {
  /** @default dist, beside this folder */
  readonly out?: string
  /** Where models other than the embedded one are downloaded from: a mirror, or Hugging Face. */
  readonly hub?: string
  /** The address that the page will have, which those who unfold links to it want in full. @default none is named */
  readonly site?: string
  /** Where the page says that more is, as it is linked. @default what package.json says, else a page beside it */
  readonly links?: Links
}

export interface Links {
  readonly docs?: string
  readonly install?: string
  readonly source?: string
}

/** Builds the playground into a folder of static files. */
export async function buildPlayground({
  out = join(here, 'dist'),
  hub = HUGGING_FACE,
  site = '',
  links,
}: BuildOptions = {}): Promise<string> {
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  const nano = await copyNano(out)
  await writePage(out, { place: 'page', policy: policyFor(hub), hub, site: site.replace(/[^/]$/, '$&/'), links })
  await cp(join(here, PICTURE), join(out, PICTURE))
  // The CPU device's threads: a file beside the script that starts them.
  const team = join(root, 'src/device/cpu/cpu-worker.ts')
  await bundle({ ...common, entryPoints: { 'cpu-worker': team }, outdir: out, format: 'esm', platform: 'browser' })
  const worker = {
    ...common,
    outdir: out,
    // No modules: not every browser takes those as service workers.
    format: 'iife',
    platform: 'browser',
    external: ['node:*'],
  } satisfies BundleOptions
  await bundle({
    ...worker,
    entryPoints: { v1: 'worker/v1.ts' },
    define: {
      'import.meta.url': 'self.location.href',
      __HUB__: JSON.stringify(hub.replace(/\/+$/, '')),
      __NANO__: JSON.stringify(nano),
    },
  })
  // What links unfold to is for others; the model is kept by who loads it.
  const files = (await filesOf(out)).filter((file) => file !== PICTURE && !file.startsWith('models/'))
  await bundle({
    ...worker,
    entryPoints: { sw: 'worker/sw.ts' },
    define: { __PLAYGROUND__: JSON.stringify({ version: await versionOf(out, files), files }) },
  })
  return out
}

/** What `local-v1 serve` shows at `/`: the page alone. Its `/v1` is the server's. */
export async function buildServedPage(out: string): Promise<void> {
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  await writePage(out, { place: 'server', hub: '', site: '' })
}

interface PageParts {
  /** Where models run: in the page, or on the server that it comes from. */
  readonly place: 'page' | 'server'
  readonly policy?: string
  readonly hub: string
  readonly site: string
  readonly links?: Links | undefined
}

/** The policy stands in the page too, for hosts that cannot send headers. */
async function writePage(out: string, { place, policy, hub, site, links }: PageParts): Promise<void> {
  const source = await readFile(join(here, 'index.html'), 'utf8')
  const [where, leaves] =
    place === 'page'
      ? ['in this page, on this device', 'leaves it']
      : ['on the machine that serves this page', 'goes anywhere else']
  const known = links ?? (await knownLinks())
  if (links === undefined || links.docs === DOCS_PAGE)
    await writeFile(join(out, DOCS_PAGE), await docsPage(pathToFileURL(root)))
  const html = source
    .replace('__PLACE__', place)
    .replace('__WHERE__', where)
    .replace('__LEAVES__', leaves)
    .replace('__LINKS__', linksOf(known))
    .replaceAll('__SITE__', attribute(site))
  const meta = / *<meta http-equiv="content-security-policy".*\n/
  // A server of one's own is sent to nobody.
  const unfolding = / *<meta (property="og:|name="twitter:).*\n/g
  const page = policy === undefined ? html.replace(meta, '').replace(unfolding, '') : html.replace('__POLICY__', policy)
  await writeFile(join(out, 'index.html'), page)
  await cp(join(here, 'icon.svg'), join(out, 'icon.svg'))
  await bundle({
    ...common,
    entryPoints: { 'first-paint': 'page/first-paint.ts' },
    outdir: out,
    format: 'iife',
    platform: 'browser',
  })
  await bundle({
    ...common,
    entryPoints: { app: 'page/main.ts', style: 'styles/style.css' },
    outdir: out,
    format: 'esm',
    platform: 'browser',
    // Fetched when it is first wanted.
    external: ['./check.js'],
    define: { __HUB__: JSON.stringify(hub.replace(/\/+$/, '')) },
  })
  // A server knows its schemas itself.
  if (place === 'server') return
  await bundle({
    ...common,
    entryPoints: { check: 'page/check.ts' },
    outdir: out,
    format: 'esm',
    platform: 'browser',
  })
}

/** What package.json names; until it names a site, the page has its documentation beside it. */
export async function knownLinks(): Promise<Links> {
  const { homepage, repository } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    homepage?: string
    repository?: { url: string } | string
  }
  const address = typeof repository === 'string' ? repository : repository?.url
  return {
    docs: homepage ?? DOCS_PAGE,
    install: homepage === undefined ? INSTALL_PART : new URL('start/node.html', homepage).href,
    ...(address !== undefined && { source: address.replace(/^git\+|\.git$/g, '') }),
  }
}

/** In a tab of their own: the page may stand in a frame, and what runs in it goes on. */
function linksOf({ docs, install, source }: Links): string {
  const named = [
    ['Docs', docs],
    ['Install', install],
    ['Source', source],
  ] as const
  return named
    .flatMap(([name, href]) =>
      href === undefined ? [] : `<a href="${attribute(href)}" target="_blank" rel="noopener">${name}</a>`,
    )
    .join(' ')
}

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')

/** The embedded model, in a folder named after its contents: browsers keep weights by their address. */
async function copyNano(out: string): Promise<{ folder: string; bytes: number }> {
  const from = join(root, 'models/nano')
  const hash = createHash('sha256')
  let bytes = 0
  const { records } = JSON.parse(await readFile(join(from, MANIFEST), 'utf8')) as { records: { dataPath: string }[] }
  const names = [...NANO_FILES, ...records.map(({ dataPath }) => dataPath)]
  for (const name of names) {
    const data = await readFile(join(from, name))
    hash.update(data)
    bytes += data.length
  }
  const folder = `models/nano-${hash.digest('hex').slice(0, 12)}/`
  for (const name of names) await cp(join(from, name), join(out, folder, name))
  return { folder, bytes }
}

async function filesOf(out: string): Promise<string[]> {
  const entries = await readdir(out, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((entry) => relative(out, join(entry.parentPath, entry.name)).replaceAll('\\', '/')).sort()
}

async function versionOf(out: string, files: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(file).update(await readFile(join(out, file)))
  return hash.digest('hex').slice(0, 12)
}
