/**
 * `npm run check:clients -- --matrix FOLDER`: an agent of ten turns through every client, over the chat templates of a
 * folder, from six histories. What was run is kept in `matrix.jsonl` of `--in FOLDER` and not run again; `--again` runs
 * what had faults. `--minutes 10` is how long it may take, `--models 10` how many templates, `--turns 10` how long agents
 * run. `--python FOLDER` adds the clients of Python that `pip install openai anthropic -t FOLDER` put there.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { printed, type Running, start } from '../../../test/support/spawn.js'
import { modelsOf } from './models.js'

const here = fileURLToPath(new URL('./', import.meta.url))

interface MatrixClient {
  readonly title: string
  readonly file: string
  /** Who answers it, where made-up weights do not. */
  readonly server?: 'coder-server.ts'
}

const CLIENTS: readonly MatrixClient[] = [
  { title: 'openai 7', file: 'openai.mjs' },
  { title: 'openai 6', file: 'openai6.mjs' },
  { title: 'AI SDK', file: 'ai-sdk.mjs' },
  { title: 'Anthropic', file: 'anthropic.mjs' },
  { title: 'Agents SDK', file: 'agents.mjs' },
  { title: 'LangChain', file: 'langchain.mjs' },
  { title: 'LlamaIndex', file: 'llamaindex.mjs' },
  { title: 'Mastra', file: 'mastra.mjs' },
  { title: 'Genkit', file: 'genkit.mjs' },
  { title: 'Instructor', file: 'instructor.mjs' },
  { title: 'ollama', file: 'ollama.mjs' },
  { title: 'Open WebUI', file: 'open-webui.mjs' },
]
/** Where a folder has them. */
const PYTHON: MatrixClient = { title: 'Python', file: 'python.mjs' }
/** A gigabyte: where they are installed. */
const CODERS: MatrixClient = { title: 'Terminal', file: 'coders.mjs', server: 'coder-server.ts' }

/** One of each family that is known, by the names of llama.cpp's and vLLM's collections. */
const TEMPLATES = [
  ...[/Qwen3-0/, /Qwen2\.5-7B/, /Hermes-3/, /Llama-3\.2/, /Mistral-Nemo/, /Mistral-Small-3\.2/, /gemma-2/, /granite-3/],
  ...[/command-r7b/, /R1-Distill-Qwen/, /Phi-3\.5/, /Llama-3\.1/, /Devstral/, /Seed-OSS/],
]

export interface MatrixOptions {
  /** Where the clients are installed. */
  readonly folder: string
  readonly node: string
  readonly key: string
  readonly templates: string
  readonly minutes: number
  readonly models: number
  readonly turns: number
  readonly again: boolean
  /** Parts of clients' files; none: all. */
  readonly only: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

interface Run {
  readonly client: string
  readonly form: string
  readonly model: string
  readonly kind: string
  readonly asked: number
  readonly ms: number
  readonly faults: readonly { readonly turn: number; readonly what: string }[]
}

/** The runs there are, and whether none had a fault. */
export async function runMatrix(
  options: MatrixOptions,
): Promise<{ readonly runs: readonly Run[]; readonly summary: string }> {
  const { folder, key, templates, models, only, turns } = options
  const clients = [
    ...CLIENTS,
    ...(options.env.LOCAL_V1_PYTHON ? [PYTHON] : []),
    ...(existsSync(join(folder, 'node_modules/.bin/codex')) ? [CODERS] : []),
  ]
  const place = join(folder, 'matrix-models')
  const ids = await modelsOf(templates, TEMPLATES.slice(0, models), place)
  const kept = join(folder, 'matrix.jsonl')
  const before = existsSync(kept) ? (await readFile(kept, 'utf8')).split('\n').filter(Boolean) : []
  const runs = before
    .map((line) => JSON.parse(line) as Run)
    .filter(({ faults }) => !options.again || faults.length === 0)
  await writeFile(kept, runs.map((run) => `${JSON.stringify(run)}\n`).join(''))
  const end = Date.now() + 60_000 * options.minutes
  const servers = new Map<string, { readonly running: Running; readonly url: Promise<string> }>()
  const urlOf = (script = 'server.mjs'): Promise<string> => {
    let server = servers.get(script)
    if (server === undefined) {
      // What is of TypeScript stands over the sources, the other over the package.
      const own = script.endsWith('.ts')
        ? ['--import', 'tsx', join(here, script)]
        : [join(folder, 'clients/matrix', script)]
      const running = start(process.execPath, [...own, place, ...ids], { LOCAL_V1_KEY: key })
      server = { running, url: printed(running, /(http\S+)/) }
      servers.set(script, server)
    }
    return server.url
  }
  try {
    // All clients over few templates first: a budget that runs out has then seen of each what it could.
    for (const models of batches(ids)) {
      for (const { title, file, server } of clients.filter(
        ({ file }) => only.length === 0 || only.some((word) => file.startsWith(word)),
      )) {
        const seconds = (end - Date.now()) / 1000
        if (seconds < 5) break
        const done = runs.flatMap((run) => (run.client === title ? [`${run.form}|${run.model}|${run.kind}`] : []))
        const flags = ['--models', JSON.stringify(models), '--turns', `${turns}`, '--done', JSON.stringify(done)]
        const url = await urlOf(server)
        const args = ['run.mjs', '--file', `./${file}`, '--url', url, '--key', key, '--seconds', `${seconds}`, ...flags]
        for await (const line of linesOf(options, args)) {
          const run: Run = { client: title, ...JSON.parse(line) }
          runs.push(run)
          await appendFile(kept, `${JSON.stringify(run)}\n`)
          for (const { turn, what } of run.faults) {
            console.log(`NO   ${title}, ${run.form}, ${run.model}, ${run.kind}, turn ${turn}: ${what}`)
          }
        }
      }
    }
  } finally {
    await Promise.all([...servers.values()].map(({ running }) => running.stop('SIGTERM')))
  }
  return { runs, summary: tableOf(runs) }
}

/** So many models go through one process of a client: some take seconds to begin. */
const TOGETHER = 3
const batches = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / TOGETHER) }, (_, i) => ids.slice(TOGETHER * i, TOGETHER * (i + 1)))

async function* linesOf({ folder, node, env }: MatrixOptions, args: readonly string[]): AsyncGenerator<string> {
  const child = spawn(node, args, { cwd: join(folder, 'clients/matrix'), env: { ...process.env, ...env } })
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('{"form":')) yield line
  if ((await ended) !== 0) console.log(`NO   ${args.join(' ').slice(0, 80)}: ${errors.trim().slice(-500)}`)
}

/** A row for each form of each client, with runs that had no fault of all that were run, and their requests. */
function tableOf(runs: readonly Run[]): string {
  const models = [...new Set(runs.map(({ model }) => model))]
  const rows = new Map<string, Run[]>()
  for (const run of runs) {
    const name = `${run.client}, ${run.form}`
    rows.set(name, [...(rows.get(name) ?? []), run])
  }
  const good = (some: readonly Run[]) => `${some.filter(({ faults }) => faults.length === 0).length} of ${some.length}`
  const requests = (some: readonly Run[]) => some.reduce((sum, run) => sum + run.asked, 0)
  const lines = [...rows].map(([name, some]) => {
    const kinds = new Set(some.map(({ kind }) => kind)).size
    const over = new Set(some.map(({ model }) => model)).size
    return `| ${name} | ${over} | ${kinds} | ${good(some)} | ${requests(some)} |`
  })
  return [
    `${runs.length} runs, ${requests(runs)} requests, ${good(runs)} runs passed, over ${models.length} templates: ${models.map((id) => id.replace('made-up/', '')).join(', ')}.`,
    '',
    '| Client and form | Templates | Histories | Runs passed | Requests |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}
