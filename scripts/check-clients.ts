/**
 * `npm run check:clients`: points the official clients, each in its newest version, at a `/v1` from the packed tarball,
 * and makes the calls that people make of them: against `local-v1 serve` with nano, and against the scripted engine for
 * what so small a model does not do by itself. What became of each call is a row of docs/clients.md.
 * Nothing that it needs is a dependency of ours: it is installed in a folder of its own, `-- --in FOLDER` to keep it.
 * `-- --matrix FOLDER` runs an agent through all of them over the chat templates of a folder instead (`matrix/matrix.ts`).
 * `-- langchain` asks those alone whose name has that, and leaves the rows of the others as they are.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { printed, type Running, start } from '../test/support/spawn.js'
import { CLIENTS, type Client, PACKAGES } from './clients/clients.js'
import { runMatrix } from './clients/matrix/matrix.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const KEY = 'sk-clients'
const MARK = '<!-- check:clients -->'
/** What a matrix has come to. */
const BETWEEN = /(<!-- matrix -->).*?(<!-- end of matrix -->)/s

const { values, positionals } = parseArgs({
  options: {
    in: { type: 'string' },
    matrix: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    models: { type: 'string', default: '10' },
    turns: { type: 'string', default: '10' },
    again: { type: 'boolean', default: false },
    python: { type: 'string' },
  },
  allowPositionals: true,
})
const folder = values.in ?? (await mkdtemp(join(tmpdir(), 'local-v1-clients-')))

interface Row {
  readonly name: string
  readonly worked: boolean
  readonly result: string
}

/** The packages as they are published; npm takes a tarball of the same name for what it has, unless it is taken out. */
async function installAll(): Promise<void> {
  await mkdir(folder, { recursive: true })
  if (!existsSync(join(folder, 'package.json'))) {
    await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  }
  const large = CLIENTS.flatMap((client) => (isNamed(client) ? (client.large ?? []) : []))
  const missing = [...PACKAGES, ...large].filter((name) => !existsSync(join(folder, 'node_modules', nameOf(name))))
  const packed = []
  for (const from of [root, join(root, 'models/nano')]) {
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    const { stdout } = await run('npm', args, { cwd: from })
    packed.push(...(JSON.parse(stdout) as { filename: string }[]).map(({ filename }) => `./${filename}`))
  }
  await rm(join(folder, 'node_modules/local-v1'), { recursive: true, force: true })
  const install = (names: readonly string[], path = '') =>
    run('npm', ['install', '--no-audit', '--no-fund', '--force', '--omit=optional-peer', ...names], {
      ...{ cwd: folder, maxBuffer: 2 ** 26 },
      env: { ...process.env, PATH: `${path}${process.env.PATH}` },
    })
  // Under an older Node npm takes the newest versions that run there, without a word.
  await install(missing.filter((name) => nameOf(name) === 'node'))
  await install([...packed, ...missing], `${join(folder, 'node_modules/node/bin')}${delimiter}`)
  await cp(join(root, 'scripts/clients'), join(folder, 'clients'), { recursive: true })
}

/** Large ones are asked by their names alone. */
const isNamed = ({ file }: Client): boolean => positionals.some((word) => file.includes(word))

const nameOf = (wanted: string): string => wanted.replace(/(?<=.)@.*/, '')

async function versionOf(name: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return version as string
}

const env = { LOCAL_V1_KEY: KEY }

function serveNano(): Running {
  const cli = join(folder, 'node_modules/local-v1/dist/cli.js')
  return start(process.execPath, [cli, 'serve', '--port', '0', '--no-playground', '--ollama'], env)
}

const serveScripted = (): Running => start(process.execPath, [join(folder, 'clients/server.mjs')], env)

/** All calls of one client, in a process of its own under the newest Node. */
async function rowsOf({ file }: Client, nano: string, scripted: string): Promise<Row[]> {
  const node = join(folder, 'node_modules/node/bin/node')
  const args = ['run.mjs', `./${file}`, '--nano', nano, '--scripted', scripted, '--key', KEY]
  const options = {
    cwd: join(folder, 'clients'),
    maxBuffer: 2 ** 26,
    timeout: 1_200_000,
    env: { ...process.env, ...QUIET },
  }
  const { stdout, stderr } = await run(node, args, options).catch(
    (error) => error as { stdout: string; stderr: string },
  )
  const rows = stdout.split('\n').flatMap((line) => (line.startsWith('{"name":') ? [JSON.parse(line) as Row] : []))
  if (rows.length === 0) rows.push({ name: 'import', worked: false, result: stderr.trim().slice(-300) })
  return rows
}

/** Some clients would tell others of their use. */
const QUIET = {
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  GENKIT_ENV: 'prod',
  NO_COLOR: '1',
  LANGSMITH_TRACING: 'false',
}

const inCell = (text: string): string => text.replace(/\s+/g, ' ').slice(0, 160).replaceAll('|', '\\|')

function sectionOf({ title, sets }: Client, version: string | undefined, rows: readonly Row[]): string {
  const lines = rows.map(({ name, worked, result }) => `| ${name} | ${worked ? 'yes' : '**no**'} | ${inCell(result)} |`)
  const head = `## ${title}\n\n${version === undefined ? '' : `Version ${version}. `}${sets}`
  return [head, '', '| Call | Works | Result |', '|---|---|---|', ...lines].join('\n')
}

await installAll()
const file = join(root, 'docs/clients.md')

if (values.matrix !== undefined) {
  const { runs, summary } = await runMatrix({
    ...{ folder, key: KEY, templates: values.matrix, again: values.again, only: positionals },
    env: { ...QUIET, ...(values.python !== undefined && { LOCAL_V1_PYTHON: resolve(values.python) }) },
    node: join(folder, 'node_modules/node/bin/node'),
    minutes: Number(values.minutes),
    models: Number(values.models),
    turns: Number(values.turns),
  })
  const text = await readFile(file, 'utf8')
  const when = `Run on ${new Date().toISOString().slice(0, 10)}: ${summary}`
  await writeFile(
    file,
    text.replace(BETWEEN, (_, from, to) => `${from}\n\n${when}\n\n${to}`),
  )
  console.log(summary)
  if (!values.in) await rm(folder, { recursive: true, force: true })
  process.exit(runs.every(({ faults }) => faults.length === 0) ? 0 : 1)
}

const [nano, scripted] = [serveNano(), serveScripted()]
let faults = 0
const sections = new Map<string, string>()
try {
  const urls = [await printed(nano, /url\s+(http\S+)/), await printed(scripted, /(http\S+)/)] as const
  for (const client of CLIENTS) {
    if (positionals.length > 0 || client.large ? !isNamed(client) : false) continue
    const packages = client.large ?? [client.package ?? []].flat()
    const version = (await Promise.all(packages.map(versionOf))).join(', ') || undefined
    const rows = await rowsOf(client, ...urls)
    for (const { name, worked, result } of rows) {
      const expected = client.cannot?.includes(name) ?? false
      if (!worked && !expected) faults++
      console.log(
        `${worked ? 'yes' : 'NO '}  ${[client.title, version].filter(Boolean).join(' ')}, ${name}: ${result.slice(0, 500)}`,
      )
    }
    sections.set(client.title, sectionOf(client, version, rows))
  }
} finally {
  await Promise.all([nano.stop('SIGTERM'), scripted.stop('SIGTERM')])
}

const [before = '', after = ''] = (await readFile(file, 'utf8')).split(MARK)
const kept = new Map(after.split(/^(?=## )/m).map((section) => [section.match(/^## (.*)/)?.[1] ?? '', section.trim()]))
const when = `Run on ${new Date().toISOString().slice(0, 10)}: clients under Node ${await versionOf('node')}, local-v1 ${await versionOf('local-v1')} under Node ${process.versions.node}.`
const all = CLIENTS.flatMap(({ title }) => sections.get(title) ?? kept.get(title) ?? [])
await writeFile(file, `${before}${MARK}\n\n${[when, ...all].join('\n\n')}\n`)
if (!values.in) await rm(folder, { recursive: true, force: true })
process.exit(faults === 0 ? 0 : 1)
