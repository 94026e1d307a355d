/** The documentation says of no family more than the check has found: what bench/RESULTS.md keeps of its rows. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { RERANKERS } from '../../test/oracles/encoders/cross.js'
import { ENCODERS } from '../../test/oracles/encoders/index.js'
import { CASES } from '../../test/oracles/families/index.js'
import type { Case } from '../../test/oracles/family.js'
import { AS_USED, EXACT, formsOf, GPUS } from './our-core.js'
import { FORM, OVER_LLAMA_CPP } from './over-llama-cpp.js'
import { gridOf, OLD } from './table.js'

const text = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

type Table = ReadonlyMap<string, ReadonlyMap<string, string>>
const tableOf = (within: string, head: string): Table | undefined => gridOf(within, head)?.rows

const results = text('bench/RESULTS.md')
const section = results.slice(results.indexOf('## Families compared with float64 and llama.cpp'))
const [definitions, cpu, asUsed, ...cuts] = ['float64', EXACT, AS_USED, ...GPUS.map(({ name }) => name)].map((head) =>
  tableOf(section, head),
)
const families = tableOf(text('docs/guides/engines.md'), 'Family | Name in files')!

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  'Llama 2 and 3, TinyLlama, SmolLM2': ['llama'],
  Mistral: ['mistral'],
  'Qwen 2, 2.5 and 3': ['qwen2', 'qwen3'],
  'Qwen 2, 3 and 3.5 with experts': ['qwen2_moe', 'qwen3_moe', 'qwen3_5_moe'],
  'Qwen 3.5 (dense; the text part of vision checkpoints)': ['qwen3_5'],
  'Gemma, Gemma 2 and 3 (text)': ['gemma', 'gemma2', 'gemma3'],
  'Gemma 4 (text)': ['gemma4'],
  'Gemma 4 with experts (text)': ['gemma4_moe'],
  'LFM2 and LFM2.5': ['lfm2'],
  'LFM2 with experts': ['lfm2_moe'],
  OLMoE: ['olmoe'],
  Mixtral: ['mixtral'],
  'gpt-oss': ['gpt_oss'],
  'Phi 1.5 and 2': ['phi'],
  'Phi 3, 3.5 and 4-mini': ['phi3', 'phi4-mini'],
  'Ministral 3 (text)': ['ministral3'],
  'OLMo 2': ['olmo2'],
  SmolLM3: ['smollm3'],
  Apertus: ['apertus'],
  'Arcee (AFM)': ['arcee'],
  'Command R and R7B': ['cohere2'],
  'StableLM 2': ['stablelm'],
  'StarCoder 2': ['starcoder2'],
  'EXAONE 4': ['exaone4'],
  'Granite 3 with experts': ['granitemoe'],
  'Granite (dense)': ['granite', 'granite4'],
}

/** The guide says that so many are held everywhere. */
const COUNT = 'tokens or texts'

const named = (forms: readonly { readonly name: string }[]) => forms.map(({ name }) => name)
const onGpu = (of: Case) => named(formsOf(of).filter((form) => form.onGpu))
const onProcessor = (of: Case) => named(formsOf(of))

const VECTOR_FORMS = ['safetensors F32', 'safetensors F16', 'safetensors to 4 bits']

/** A figure that is there, and not one over its bound, which is set in bold. */
const found = (table: Table | undefined, name: string, forms: readonly string[]) =>
  forms.every((form) => /^\d/.test(table?.get(name)?.get(form) ?? ''))

function heldTo(name: string): string {
  const of = CASES.find((of) => of.name === name)!
  const peer = found(definitions, name, ['llama.cpp is off by']) ? 'llama.cpp' : 'float64'
  const cpuToo = found(cpu, name, onProcessor(of)) ? ['CPU'] : []
  const gpuToo = cuts.every((table) => found(table, name, onGpu(of))) ? ['GPU'] : []
  return [peer, ...cpuToo, ...gpuToo].join(', ')
}

describe('the table of families in the guide to engines', () => {
  it('has every family that is checked, and no other', () => {
    expect([...families.keys()]).toEqual(Object.keys(FAMILIES))
    expect(Object.values(FAMILIES).flat().sort()).toEqual(CASES.map(({ name }) => name).sort())
  })

  it.each(Object.entries(FAMILIES))('says of %s what was found', (family, names) => {
    for (const name of names) expect(families.get(family)!.get('Tested against'), name).toBe(heldTo(name))
  })

  it('stands on mistakes that were all found out', () => {
    for (const { name, mistakes } of CASES) {
      // Those of an earlier version of the code are marked.
      const found = definitions!.get(name)!.get('mistakes found')!.replace(OLD, '')
      expect(found, name).toBe(String(mistakes.length))
    }
  })
})

describe('what the check has found', () => {
  it.each(CASES)('is there of $name in every form on every device, and lies within its bound', (of) => {
    expect(found(definitions, of.name, of.gguf ? ['llama.cpp is off by'] : []), 'llama.cpp').toBe(true)
    expect(found(cpu, of.name, onProcessor(of)), EXACT).toBe(true)
    expect(found(asUsed, of.name, of.gguf ? ['GGUF Q4_0'] : []), AS_USED).toBe(true)
    for (const [i, { name }] of GPUS.entries()) expect(found(cuts[i], of.name, onGpu(of)), name).toBe(true)
    for (const table of [cpu, ...cuts]) expect(table!.get(of.name)!.get(COUNT)).toBe('128')
  })

  it('is there of our engine over llama.cpp for the families that the guide names, and no others', () => {
    const over = tableOf(section, OVER_LLAMA_CPP)!
    const line = text('docs/guides/engines.md')
      .split('\n')
      .find((line) => line.includes('--peers FOLDER --engine llama-cpp'))!
    const [, list = ''] = /families (.*?), on the CPU/.exec(line) ?? []
    expect([...over.keys()]).toEqual([...list.matchAll(/`([\w-]+)`/g)].map(([, name]) => name))
    for (const name of over.keys()) expect(found(over, name, [COUNT, FORM]), name).toBe(true)
  })

  it.each([...ENCODERS, ...RERANKERS])('is there of $name', ({ name }) => {
    expect(found(definitions, name, ['llama.cpp is off by'])).toBe(true)
    for (const table of [cpu, ...cuts]) expect(found(table, name, VECTOR_FORMS)).toBe(true)
  })
})
