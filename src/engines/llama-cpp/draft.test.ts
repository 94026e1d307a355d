/** A small model beside a large one in llama.cpp changes how many passes an answer takes, and nothing of what is said. */
import { basename, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { ChatCall } from '../../contract/engine.js'
import type { SampleSettings } from '../../contract/token-model.js'
import { sampleRow } from '../../device/sampling.js'
import { DecodeLoop } from '../../generate/decode-loop.js'
import { DraftModel } from '../../generate/drafts/draft-model.js'
import type { DraftRequest } from '../../generate/drafts/guesser.js'
import { call, collect, smallText } from '../../generate/testing/call.test-helper.js'
import { compile } from '../../grammar/structured.js'
import { createV1 } from '../../index.js'
import { writeMadeUp } from '../../models/files/formats/gguf/made-up.test-helper.js'
import { locationOf } from '../../models/files/location.js'
import { openOnDisk } from '../../models/files/open.js'
import { sampleRowOf } from '../../models/sampling.js'
import { openDraftFile } from './draft.js'
import { llamaCpp } from './index.js'
import type { LlamaCppLibrary, NativeModel } from './library.js'
import { loadLlamaCpp } from './load.js'
import type { LlamaCppModule, LlamaCppOptions } from './options.js'
import { hasPeer, lack, loadPeer } from './peer.test-helper.js'
import { openLlama } from './shared.js'
import { logitsAfter, type StandInOptions, standInSequence } from './stand-in.test-helper.js'
import { LlamaCppModel } from './token-model.js'

const tokens = smallText.tokenizer.size
const contextLength = 200

function forward(maxBatch: number, options: Partial<StandInOptions> = {}) {
  const whole = { tokens, contextSize: contextLength + 1, ...options }
  let steps = 0
  const natives = Array.from({ length: maxBatch }, () => standInSequence(whole))
  for (const native of natives) {
    const evaluate = native.controlledEvaluate
    native.controlledEvaluate = (input) => {
      steps++
      return evaluate(input)
    }
  }
  const parts = { tokens: whole.tokens, contextLength, maxBatch, maxChunk: 16, fingerprint: 'fp', natives }
  return { model: new LlamaCppModel({ ...parts, release: async () => {} }), steps: () => steps }
}

const grammar = compile({
  type: 'object',
  properties: { name: { type: 'string', maxLength: 12 }, kind: { enum: ['first', 'second'] } },
  required: ['name', 'kind'],
  additionalProperties: false,
})
const messages = [{ role: 'user' as const, content: 'the quick brown fox jumps over the lazy dog '.repeat(2) }]
const CALLS: readonly Partial<ChatCall>[] = [
  {},
  { messages, n: 2 },
  { output: { type: 'json_schema', name: 'x', strict: true, schema: {} }, grammar },
  { messages: [...messages, { role: 'assistant', content: 'jumps' }, { role: 'user', content: 'and then' }] },
]

async function answers(places: number, small?: Partial<StandInOptions>) {
  const [large, draft] = [forward(places), small && forward(places, small)]
  const draftModel = draft && new DraftModel(draft.model)
  const decoder = new DecodeLoop(large.model, smallText, { drafts: draft ? 'always' : 'never', draftModel })
  const outputs: string[][] = []
  // The second time they find what was kept of the first.
  for (const seed of [1, 2]) {
    const calls = CALLS.map((more, i) => {
      const sampling = { ...call().sampling, temperature: i % 2, seed }
      return call({ maxTokens: 16, ignoreEnds: !more.grammar, ...more, sampling })
    })
    outputs.push(
      ...(await Promise.all(calls.map((one) => collect(decoder.generate(one), one.n)))).map(({ texts }) => texts),
    )
  }
  const guesses = decoder.guesses?.model
  await decoder.close()
  await expect(large.model.step([])).rejects.toThrow(/closed/)
  if (draft) await expect(draft.model.step([])).rejects.toThrow(/closed/)
  return { outputs, guesses, steps: large.steps() }
}

const known = new Map<number, ReturnType<typeof answers>>()
/** Without a draft model. */
const alone = (places: number) => {
  const found = known.get(places) ?? answers(places)
  known.set(places, found)
  return found
}

describe('an answer with a draft model', () => {
  it.each<[string, Partial<StandInOptions>]>([
    ['that says the same', {}],
    ['whose sequences cannot be copied', { copies: false }],
    ['that goes back to few places', { needsCheckpoints: true }],
  ])('is the same in fewer passes, and no guess is wrong: %s', async (_, small) => {
    for (const places of [1, 3]) {
      const without = await alone(places)
      const { outputs, guesses, steps } = await answers(places, small)
      expect(outputs).toEqual(without.outputs)
      expect(guesses).toEqual({ right: expect.any(Number), wrong: 0 })
      expect(steps).toBeLessThan(without.steps)
    }
  })

  it('is the same where the draft model says something else, and knows fewer tokens', async () => {
    const { outputs, guesses } = await answers(3, { width: 0.5, tokens: tokens - 1 })
    expect(outputs).toEqual((await alone(3)).outputs)
    expect(guesses!.wrong).toBeGreaterThan(0)
  })
})

describe('the draft model', () => {
  it('reads again what it has lost to another answer’s prompt', async () => {
    const none = { presencePenalty: 0, frequencyPenalty: 0 }
    const settings: SampleSettings = { temperature: 1, topP: 1, seed: 3, index: 0, ...none }
    const { model } = forward(2)
    const small = new DraftModel(model)
    const requestOf = (length: number, first: number) => {
      const written: number[] = []
      const push = (token: number) => written.push(token) > 0
      const lane = { tokens: Array.from({ length }, (_, i) => (first + i) % tokens) }
      return { lane, outlook: { tokens: written, settings: () => settings, push } } as unknown as DraftRequest
    }
    const right = ({ lane, outlook }: DraftRequest) =>
      outlook.tokens.forEach((token, i) => {
        const before = [...lane.tokens, ...outlook.tokens.slice(0, i)]
        const logits = logitsAfter(before, tokens)
        expect(token).toBe(sampleRow(logits, tokens, sampleRowOf(settings, 0), new Float32Array(tokens)).token)
      })
    const [first, other] = [requestOf(10, 0), requestOf(12, 50)]
    await small.guess([first, other], 2)
    // What was read of it stays, and was used later than that of the first.
    small.drop(other.lane)
    const again = { ...first, outlook: requestOf(0, 0).outlook }
    await small.guess([again, requestOf(60, 100)], 2)
    expect([first, again].map(({ outlook }) => outlook.tokens.length)).toEqual([2, 2])
    for (const each of [first, other, again]) right(each)
    await small.close()
  })
})

const LARGE = 'large.gguf'
const SMALL = 'small.gguf'
const FOREIGN = 'foreign.gguf'
const folder = ownFolder()
const at = (name: string) => join(folder, name)
beforeAll(async () => {
  await writeMadeUp(at(LARGE), { types: { '*': 'F32' }, vocabulary: 'bpe' })
  // The same numbers, rounded: it is mostly right.
  await writeMadeUp(at(SMALL), { types: { '*': 'F16' }, vocabulary: 'bpe' })
  await writeMadeUp(at(FOREIGN), { types: { '*': 'F16' }, vocabulary: 'sentencepiece' })
})

/** Node-llama-cpp that loads nothing, and fails at one file. */
function standIn(fails?: string, original?: number) {
  const loaded: string[] = []
  const opened: number[] = []
  const held = new Set<string>()
  const loadModel = async ({ modelPath }: { readonly modelPath: string }) => {
    const name = basename(modelPath)
    loaded.push(name)
    if (name === fails) throw new Error('It has a cold.')
    held.add(name)
    const createContext: NativeModel['createContext'] = async ({ contextSize, sequences }) => {
      opened.push(contextSize)
      return {
        contextSize,
        memoryUsage: { ram: 10 * sequences, vram: 0 },
        getSequence: () => standInSequence({ tokens: 600, contextSize }),
        dispose: async () => {},
      }
    }
    const scaling = { original_context_length: original }
    const fileInfo = { metadata: { general: { architecture: 'phi3' }, phi3: { rope: { scaling } } } }
    return { trainContextSize: 512, fileInfo, size: 1000, createContext, dispose: async () => void held.delete(name) }
  }
  const llama = { gpu: false, llamaCppRelease: { release: 'b0' }, loadModel, dispose: async () => {} }
  return { loaded, opened, held, loader: async () => ({ getLlama: async () => llama }) as LlamaCppModule }
}

interface ReplyBody {
  readonly error: { readonly code: string; readonly message: string }
  readonly data: readonly { readonly metadata: Readonly<Record<string, unknown>> }[]
}

function service(options: Partial<LlamaCppOptions> = {}, draft = SMALL, fails?: string, original?: number) {
  const { loader, ...seen } = standIn(fails, original)
  const models = [{ id: 'local/large', from: at(LARGE), draft: at(draft) }]
  const v1 = createV1({ engine: llamaCpp({ models, loader, log: () => {}, ...options }), keys: 'none', log: () => {} })
  const body = { model: 'local/large', messages: [{ role: 'user', content: 'kalomi resu' }], max_tokens: 8 }
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const ask = async () => {
    const response = await v1.fetch(new Request('http://device/v1/chat/completions', init))
    return { status: response.status, json: (await response.json()) as ReplyBody }
  }
  const metadata = async () => {
    const { data } = (await (await v1.fetch(new Request('http://device/v1/models'))).json()) as ReplyBody
    return data[0]!.metadata
  }
  return { v1, ask, metadata, ...seen }
}

describe('a context', () => {
  it.each([
    ['has a token more than is read', undefined, 513, 512],
    ['has one also where the model was first made for fewer', 256, 513, 512],
    ['has none more than the model was first made for, or each is turned as in long texts', 512, 512, 511],
  ])('%s', async (_, original, opened, told) => {
    const { v1, ask, opened: sizes } = service({}, SMALL, undefined, original)
    expect((await ask()).status).toBe(200)
    expect(sizes[0]).toBe(opened)
    const { data } = (await (await v1.fetch(new Request('http://device/v1/models'))).json()) as { data: object[] }
    expect(JSON.stringify(data[0])).toMatch(new RegExp(`"context_length":${told}\\b`))
    await v1.close()
  })
})

describe('a model with a draft model', () => {
  it('is loaded with it, says what that takes, and is freed with it', async () => {
    const { v1, ask, metadata, held, loaded } = service({ maxBatch: 2 })
    expect((await ask()).status).toBe(200)
    expect(loaded).toEqual([LARGE, SMALL])
    expect(await metadata()).toMatchObject({ memory_bytes: 2 * 1020, draft_bytes: 1020 })
    await v1.close()
    expect(held.size).toBe(0)
  })

  it('is loaded alone where nothing is guessed', async () => {
    const { v1, ask, metadata, loaded } = service({ drafts: 'never' })
    expect((await ask()).status).toBe(200)
    expect(loaded).toEqual([LARGE])
    expect(await metadata()).not.toHaveProperty('draft_bytes')
    await v1.close()
  })

  it('is refused by name, before weights are read, where the vocabulary of that one is another', async () => {
    const { v1, ask, loaded } = service({}, FOREIGN)
    const { json } = await ask()
    expect(json.error.code).toBe('draft_model_mismatch')
    expect(json.error.message).toMatch(/'local\/foreign' cannot guess what 'local\/large' says: .*token \d+/)
    expect(loaded).toEqual([])
    await v1.close()
  })

  it('leaves nothing where that one cannot be loaded', async () => {
    const { v1, ask, held, loaded } = service({}, SMALL, SMALL)
    const { json } = await ask()
    expect(json.error.message).toContain('It has a cold')
    expect([loaded, [...held]]).toEqual([[LARGE, SMALL], []])
    await v1.close()
  })

  it('is refused at once where the name of that one is none', () => {
    const of = (draft: unknown) => () =>
      llamaCpp({ models: [{ id: 'local/x', from: './x.gguf', draft: draft as string }] })
    expect(of(5)).toThrow('The draft of local/x must be the name of a model')
    expect(of('no name at all')).toThrow(/is no model/)
  })
})

describe.skipIf(!hasPeer)(`a draft model in llama.cpp itself${lack}`, () => {
  it('guesses, and the answer is the same', async () => {
    const library = (await loadPeer()) as unknown as LlamaCppLibrary
    const { llama, close } = await openLlama(library, { device: 'cpu', threads: 1 }, () => {})
    const { signal } = new AbortController()
    const openFile: Parameters<typeof openDraftFile>[2] = (place, check) =>
      openOnDisk(place, { report: () => {}, signal, check })
    const decoded = async (drafts: 'always' | 'never') => {
      const file = await openFile(locationOf(at(LARGE)), () => {})
      const draft =
        drafts === 'never' ? undefined : await openDraftFile(at(SMALL), { id: 'local/large', head: file }, openFile)
      const settings = { threads: 1, maxBatch: 2, drafts }
      const context = { llama, file, draft, settings, signal, report: () => {}, complaints: () => [] }
      const { runner } = await loadLlamaCpp({ id: 'local/large', from: at(LARGE) }, context)
      const decoder = runner as DecodeLoop
      const sampling = { ...call().sampling, temperature: 0 }
      const greedy = (one: Partial<ChatCall>) => call({ maxTokens: 20, sampling, ...one })
      const calls = [greedy({ ignoreEnds: true }), greedy({ ...CALLS[2], maxTokens: 60 })]
      const outputs = []
      for (const one of calls) outputs.push((await collect(decoder.generate(one))).texts)
      const { guesses } = decoder
      await decoder.close()
      return { outputs, guesses: guesses?.model }
    }
    const { outputs, guesses } = await decoded('always')
    expect(outputs).toEqual((await decoded('never')).outputs)
    expect(guesses!.right).toBeGreaterThan(guesses!.wrong)
    await close()
  })
})
