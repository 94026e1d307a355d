/**
 * Whether the definitions of architectures in `test/oracles` hold: each in float64 against llama.cpp on the same made-up
 * model, and against itself with one usual mistake in it; and whether our core is where they are, on the processor and on a
 * GPU in software, in every form of weights, however its sequences are fed; and our engine over llama.cpp. `--resume FILE`
 * keeps what was found.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Command, Option } from 'commander'
import { RERANKERS } from '../test/oracles/encoders/cross.js'
import { ENCODERS } from '../test/oracles/encoders/index.js'
import { CASES } from '../test/oracles/families/index.js'
import { qwen35Head, qwen35MoeHead } from '../test/oracles/families/qwen3-5-head.js'
import { weightsOf } from '../test/oracles/weights.js'
import { checkDecisions, DECISIONS } from './models/check-decisions.js'
import { checkDefinition } from './models/check-definition.js'
import { checkMarked, MARKED } from './models/check-marked.js'
import { checkEncoder, checkReranker } from './models/check-vectors.js'
import { checkOurCore, FORMS, type Where } from './models/our-core.js'
import { checkOverLlamaCpp, FORM } from './models/over-llama-cpp.js'
import { Rows } from './models/rows.js'
import { report, withTables } from './models/table.js'

interface Options {
  readonly peers?: string
  readonly tokens: string
  readonly gpuTokens: string
  readonly device: Where[]
  readonly form: string[]
  readonly resume?: string
  readonly write?: true
  /** Without the definitions. */
  readonly ours?: true
  /** Nothing but this. */
  readonly engine?: 'llama-cpp'
  /** In this process. */
  readonly only?: string[]
}

const RESULTS = new URL('../bench/RESULTS.md', import.meta.url)
const SECTION = 'Families compared with float64 and llama.cpp'
const HEADS = [qwen35Head, qwen35MoeHead]
const FAMILIES = [...CASES, ...HEADS, ...ENCODERS, ...RERANKERS, ...MARKED].map(({ name }) => name)

async function checkFamily(family: string, path: string, options: Options): Promise<void> {
  const { peers, tokens, gpuTokens, device: devices, form: forms, ours, engine } = options
  const rows = new Rows(path)
  const judge = peers === undefined ? {} : { peers }
  const decides = forms.length === 0 || forms.some((part) => DECISIONS.includes(part))
  const decidesOnly = forms.length > 0 && forms.every((part) => DECISIONS.includes(part))
  const of = CASES.find(({ name }) => name === family)
  if (of) {
    const weights = weightsOf(of)
    const count = Number(tokens)
    const inForm = forms.length === 0 || forms.some((part) => FORM.includes(part))
    if (peers !== undefined && (engine || (inForm && !ours)))
      await checkOverLlamaCpp(of, weights, { rows, tokens: count, peers })
    if (engine) return
    if (!ours && !decidesOnly) await checkDefinition(of, weights, { rows, tokens: count, ...judge })
    if (decides) await checkDecisions(of, weights, { rows, devices, ...judge })
    await checkOurCore(of, weights, {
      rows,
      devices,
      forms,
      tokens: count,
      onGpu: Math.min(count, Number(gpuTokens)),
      ...judge,
    })
  }
  if (engine) return
  // All rows go through all layers there; what the model says is the same.
  const head = HEADS.find(({ name }) => name === family)
  if (head && decides) await checkDecisions(head, weightsOf(head), { rows, devices, ...judge })
  const marked = MARKED.find(({ name }) => name === family)
  if (marked && decides) await checkMarked(marked, rows, devices)
  if (decidesOnly) return
  const encoder = ENCODERS.find(({ name }) => name === family)
  if (encoder) await checkEncoder(encoder, { rows, devices, ...judge })
  const reranker = RERANKERS.find(({ name }) => name === family)
  if (reranker) await checkReranker(reranker, { rows, devices, ...judge })
}

/**
 * This program once more, for some families one after the other: shaders are compiled once for the same shapes. What is
 * left when it dies is given to another. Names those at which one did.
 */
async function inProcesses(families: readonly string[], path: string): Promise<string[]> {
  const given = process.argv.slice(1).filter((argument, i, all) => argument !== '--resume' && all[i - 1] !== '--resume')
  const broken: string[] = []
  for (let left = families; left.length > 0; ) {
    const args = [...process.execArgv, ...given, '--resume', path, '--only', ...left]
    const child = spawn(process.execPath, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
    let done = 0
    child.on('message', () => done++)
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('exit', resolve))
    if (code === 0) break
    broken.push(left[done] ?? 'its end')
    left = left.slice(done + 1)
  }
  return broken
}

async function checkAll(wanted: readonly string[], options: Options): Promise<void> {
  const strange = wanted.find((name) => !FAMILIES.includes(name))
  if (strange !== undefined) throw new Error(`"${strange}" is none of ${FAMILIES.join(', ')}.`)
  const path = options.resume ?? join(mkdtempSync(join(tmpdir(), 'local-v1-check-')), 'rows.jsonl')
  const families = FAMILIES.filter((name) => wanted.length === 0 || wanted.includes(name))
  const broken = await inProcesses(families, path)
  const rows = new Rows(path)
  const all = rows.current.filter(({ family }) => families.includes(family))
  console.log(`\n${report(all, FAMILIES)}\n`)
  if (options.write)
    writeFileSync(RESULTS, withTables(readFileSync(RESULTS, 'utf8'), SECTION, report(rows.current, FAMILIES), FAMILIES))
  const failed = all.filter(({ good }) => !good).length
  const seconds = all.reduce((sum, row) => sum + row.seconds, 0)
  const old = rows.outdated > 0 ? `, ${rows.outdated} of older code left out` : ''
  const ends = broken.length > 0 ? `, ${broken.join(' and ')} broke off` : ''
  console.log(
    `${all.length - failed} passed, ${failed} failed${ends}${old}; ${Math.round(seconds / 60)} minutes of a processor`,
  )
  process.exit(failed > 0 || broken.length > 0 ? 1 : 0)
}

await new Command('check:models')
  .argument('[architectures...]', 'only these')
  .option('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--tokens <n>', 'how many follow the prompt', '128')
  .option('--gpu-tokens <n>', 'and on a GPU in software, where 12 take a third of the time that 128 do', '128')
  .option('--device <name...>', 'cpu, hardware or software (as SwiftShader runs kernels cut for it), none', [
    'cpu',
    'hardware',
    'software',
  ])
  .option(
    '--form <part...>',
    `in what, by parts of names: ${FORMS.map(({ name }) => name).join(', ')}; or ${DECISIONS}`,
    [],
  )
  .option('--ours', 'our core alone, without the definitions that it is held to')
  .addOption(
    new Option('--engine <name>', 'an engine alone that has its forward pass from --peers').choices(['llama-cpp']),
  )
  .option('--resume <file>', 'of what was found: rows that the same code has found are not computed again')
  .option(
    '--write',
    'writes tables of what the file has of this code into bench/RESULTS.md; older figures stay, marked',
  )
  .option('--only <families...>', 'in this process')
  .action(async (wanted: string[], options: Options) => {
    if (options.engine && options.peers === undefined) throw new Error('--engine needs --peers.')
    if (options.only === undefined || options.resume === undefined) return checkAll(wanted, options)
    for (const family of options.only) {
      await checkFamily(family, options.resume, options)
      process.send?.(family)
    }
    // llama.cpp keeps threads that would keep the process.
    process.exit(0)
  })
  .parseAsync()
