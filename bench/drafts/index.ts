/**
 * Guesses of values that stand in the prompt, on and off in one run: passes of strict extractions from texts that people
 * wrote (`models/nano/eval/natural.jsonl`), and how often guesses were right.
 *
 *     npm run bench:drafts -- [--model FOLDER] [--device cpu|webgpu] [--threads N] [--limit N] [--draft FOLDER]
 *
 * `--head` measures a made-up model's multi-token head instead (`head.ts`). A `--model` that brings one along uses it.
 *
 * `--draft` adds rows in which a draft model guesses, too, where the prompt has nothing to copy: with the model itself
 * each of its guesses is right, and costs as much as a pass.
 *
 * Speeds are ratios to an answer without guesses, by the time that the process computed and by the clock (`chrt -r 1`).
 * `webgpu` takes the machine's GPU, and SwiftShader where there is none.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chatCallOf, timed } from '../../src/bench/clock.js'
import type { DraftMode } from '../../src/generate/drafts/mode.js'
import { compile } from '../../src/grammar/structured.js'
import { compareHead } from './head.js'
import { type DraftSubject, openSubject } from './subject.js'

interface Case {
  readonly system: string
  readonly user: string
  readonly schema: Record<string, unknown>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values } = parseArgs({
  options: {
    model: { type: 'string', default: `${root}models/nano` },
    device: { type: 'string', default: 'cpu' },
    threads: { type: 'string', default: '1' },
    draft: { type: 'string' },
    head: { type: 'boolean', default: false },
    limit: { type: 'string', default: '60' },
  },
})
if (values.device !== 'cpu' && values.device !== 'webgpu') throw new TypeError("--device is 'cpu' or 'webgpu'.")

if (values.head) process.exit((await compareHead(Number(values.threads))) ? 0 : 1)

const cases = readFileSync(`${root}models/nano/eval/natural.jsonl`, 'utf8')
  .trim()
  .split('\n')
  .slice(0, Number(values.limit))
  .map((line) => JSON.parse(line) as Case)

const grammars = cases.map(({ schema }) => compile(schema))
const MODES: readonly DraftMode[] = ['never', 'gaining', 'always']
const ROUNDS = 3
const { draft } = values
const subjects = new Map<string, DraftSubject>()
for (const mode of MODES) {
  subjects.set(mode, await openSubject(values.model, values.device, Number(values.threads), mode))
  if (draft === undefined || mode === 'never') continue
  subjects.set(
    `${mode}, draft model`,
    await openSubject(values.model, values.device, Number(values.threads), mode, draft),
  )
}
const sums = new Map<string, { passes: number; tokens: number; milliseconds: number; clock: number; texts: string[] }>()
const kinds = new Map<string, { right: number; wrong: number }>()

for (let round = 0; round <= ROUNDS; round++) {
  for (const [mode, subject] of subjects) {
    const { loop } = subject
    const sum = { passes: 0, tokens: 0, milliseconds: 0, clock: 0, texts: [] as string[] }
    for (const [i, { system, user, schema }] of cases.entries()) {
      const messages = [
        ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
        { role: 'user' as const, content: user },
      ]
      const call = chatCallOf({
        model: 'bench',
        messages,
        output: { type: 'json_schema', name: 'answer', strict: true, schema },
        grammar: grammars[i]!,
        describeSchema: true,
        sampling: { temperature: 0 },
      })
      // The prompt goes into the cache, so that what is compared is writing alone.
      await timed(
        { generate: (chatCall) => loop.generate(chatCall), models: [] },
        { ...call, maxTokens: 1, grammar: undefined },
      )
      subject.passes = 0
      const before = process.cpuUsage()
      const begun = performance.now()
      const answer = await timed({ generate: (chatCall) => loop.generate(chatCall), models: [] }, call)
      const { user: own, system: kernel } = process.cpuUsage(before)
      sum.clock += performance.now() - begun
      sum.passes += subject.passes
      sum.tokens += answer.tokens
      sum.milliseconds += (own + kernel) / 1000
      sum.texts.push(answer.text)
    }
    // The first round warms up.
    if (round > 0) {
      const all = sums.get(mode)
      sums.set(
        mode,
        all
          ? {
              ...sum,
              passes: all.passes + sum.passes,
              tokens: all.tokens + sum.tokens,
              milliseconds: all.milliseconds + sum.milliseconds,
              clock: all.clock + sum.clock,
            }
          : sum,
      )
      if (mode === [...subjects.keys()].at(-1))
        for (const [kind, { right, wrong }] of Object.entries(loop.guesses!)) {
          const known = kinds.get(kind) ?? { right: 0, wrong: 0 }
          kinds.set(kind, { right: known.right + right, wrong: known.wrong + wrong })
        }
    }
  }
}

const never = sums.get('never')!
console.log(`${cases.length} documents, ${ROUNDS} times, on ${subjects.get('never')!.device}\n`)
console.log(
  '| guesses | passes a document | tokens a pass | processor time a document, ms | speed by processor time | by the clock |',
)
console.log('|---|--:|--:|--:|--:|--:|')
for (const [mode, { passes, tokens, milliseconds, clock }] of sums) {
  const documents = cases.length * ROUNDS
  const [processor, waited] = [never.milliseconds / milliseconds, never.clock / clock]
  console.log(
    `| ${mode} | ${(passes / documents).toFixed(1)} | ${(tokens / passes).toFixed(2)} | ${(milliseconds / documents).toFixed(1)} | ${processor.toFixed(2)} | ${waited.toFixed(2)} |`,
  )
}
console.log('\n| guess | right | of |\n|---|--:|--:|')
for (const [kind, { right, wrong }] of kinds) {
  const all = right + wrong
  console.log(`| ${kind} | ${all === 0 ? '' : `${((100 * right) / all).toFixed(0)} %`} | ${all} |`)
}
const differ = [...sums].filter(([, { texts }]) => texts.join('\n') !== never.texts.join('\n'))
console.log(
  `\nThe answers are ${differ.length === 0 ? 'the same, letter for letter' : `different: ${differ.map(([mode]) => mode).join(', ')}`}.`,
)
for (const subject of subjects.values()) await subject.close()
process.exit(differ.length === 0 ? 0 : 1)
