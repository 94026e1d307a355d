/** README says of no family more than the check has found: what bench/RESULTS.md keeps of its rows. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CASES } from './families/index.js'

const text = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

type Table = ReadonlyMap<string, ReadonlyMap<string, string>>

/** A row by its first cell, its cells by their heads. */
function tableOf(within: string, head: string): Table {
  const lines = within.slice(within.indexOf(`| ${head} |`)).split('\n')
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  const [heads, , ...rows] = lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('|')),
    )
    .map(cells)
  return new Map(rows.map((row) => [row[0]!, new Map(heads!.map((name, i) => [name, row[i]!]))]))
}

const results = text('bench/RESULTS.md')
const section = results.slice(results.indexOf('## Families held to float64 and llama.cpp'))
const [definitions, cpu, ...cuts] = ['float64', 'CPU', 'webgpu, cut for hardware', 'webgpu, cut for software'].map(
  (head) => tableOf(section, head),
)
const readme = tableOf(text('README.md'), 'Family | Sizes')

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  'Llama 2 and 3, TinyLlama, SmolLM2': ['llama'],
  Mistral: ['mistral'],
  'Qwen 2, 2.5 and 3': ['qwen2', 'qwen3'],
  'Qwen 3.5 (dense; of vision checkpoints the text)': ['qwen3_5'],
  'Gemma, Gemma 2 and 3 (text)': ['gemma', 'gemma2', 'gemma3'],
  'Gemma 4 (text)': ['gemma4'],
  'LFM2 and LFM2.5': ['lfm2'],
  'Phi 3, 3.5 and 4-mini': ['phi3', 'phi4-mini'],
  'Ministral 3 (text)': ['ministral3'],
  'OLMo 2': ['olmo2'],
  SmolLM3: ['smollm3'],
  'EXAONE 4': ['exaone4'],
  'Granite (dense)': ['granite'],
}

const FORMS = ['safetensors F32', 'safetensors BF16', 'safetensors F16', 'safetensors to 4 bits']
const GGUF = ['GGUF F32', 'GGUF F16', 'GGUF Q4_0']

/** A figure that is there, and not one over its bound, which is set in bold. */
const found = (table: Table | undefined, name: string, forms: readonly string[]) =>
  forms.every((form) => /^\d/.test(table?.get(name)?.get(form) ?? ''))

function heldTo(name: string): string {
  const { gguf } = CASES.find((of) => of.name === name)!
  const peer = found(definitions, name, ['llama.cpp is off by']) ? 'llama.cpp' : 'float64'
  const onCpu = found(cpu, name, gguf ? [...FORMS, ...GGUF] : FORMS)
    ? ['CPU']
    : found(cpu, name, ['safetensors F32'])
      ? ['CPU in F32']
      : []
  const onGpu = cuts.every((table) => found(table, name, ['safetensors F32']))
  return [peer, ...onCpu, ...(onGpu ? ['GPU'] : [])].join(', ')
}

describe('the table of families in README', () => {
  it('has every family that is checked, and no other', () => {
    expect([...readme.keys()]).toEqual(Object.keys(FAMILIES))
    expect(Object.values(FAMILIES).flat().sort()).toEqual(CASES.map(({ name }) => name).sort())
  })

  it.each(Object.entries(FAMILIES))('says of %s what was found', (family, names) => {
    for (const name of names) expect(readme.get(family)!.get('Held to'), name).toBe(heldTo(name))
  })

  it('stands on mistakes that were all found out', () => {
    for (const { name, mistakes } of CASES) {
      expect(definitions!.get(name)!.get('mistakes found'), name).toBe(String(mistakes.length))
    }
  })
})
