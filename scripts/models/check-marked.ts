/** Decisions of models that score options at their marks or all together, from their own files and as GGUF, held to float64. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Metadata } from '../../bench/peers/gguf-file.js'
import type { TextTokens } from '../../src/contract/vector-model.js'
import type { Device } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { loadEncoderPlanned, planEncoderLoad } from '../../src/models/encoders/load-encoder.js'
import { openRepository } from '../../src/models/files/open.js'
import { clef, clefInputs } from '../../test/oracles/encoders/clef.js'
import { d1Omni, omniInputs } from '../../test/oracles/encoders/d1-omni.js'
import { type LayaInput, laya, layaInputs, writeLaya } from '../../test/oracles/encoders/laya.js'
import { encoderWeights } from '../../test/oracles/encoders/source.js'
import { writeGguf } from '../../test/oracles/files/gguf.js'
import type { Vector } from '../../test/oracles/float64.js'
import { weightsOf } from '../../test/oracles/weights.js'
import { BOUND, DECISIONS } from './check-decisions.js'
import { EXACT, GPUS, type Where } from './our-core.js'
import type { Rows } from './rows.js'

/** A model that scores options. */
interface Marked {
  readonly name: string
  readonly texts: readonly TextTokens[]
  /** All forms of its files, which are told apart by nothing in what comes of them. */
  readonly files: readonly ((path: string) => Promise<void>)[]
  /** Of each text. */
  scores(): readonly Vector[]
}

const marked = ({ tokens, marks, kind }: LayaInput): TextTokens => ({ tokens, marks, types: tokens.map(() => kind) })
/** Nobody asks it in words here. */
const UNASKED = ''

const omniWeights = weightsOf(d1Omni)
const omniFile = {
  ...d1Omni,
  gguf: {
    ...d1Omni.gguf,
    metadata(out: Metadata) {
      d1Omni.gguf.metadata(out)
      out.text('lfm2.decision.type', 'lfm2-d1-omni')
      out.text('tokenizer.chat_template.systemone', UNASKED)
    },
  },
}
const clefWeights = weightsOf(clef)
const clefFile = {
  ...clef,
  gguf: {
    ...clef.gguf,
    metadata(out: Metadata) {
      clef.gguf.metadata(out)
      out.text('clef.decision.type', 'clef')
      out.text('tokenizer.chat_template.systemone', UNASKED)
    },
  },
}

export const MARKED: readonly Marked[] = [
  {
    name: laya.name,
    texts: layaInputs().map(marked),
    files: [writeLaya, (path) => writeGguf(path, laya, encoderWeights(laya))],
    scores: () => layaInputs().map((input) => laya.reference(encoderWeights(laya), input)),
  },
  {
    name: d1Omni.name,
    texts: omniInputs().map(marked),
    files: [(path) => writeGguf(path, omniFile, omniWeights)],
    scores: () => omniInputs().map((input) => d1Omni.scores(omniWeights, input)),
  },
  {
    name: clef.name,
    texts: clefInputs(),
    files: [(path) => writeGguf(path, clefFile, clefWeights)],
    scores: () => clefInputs().map((input) => clef.scores(clefWeights, input)),
  },
]

export async function checkMarked(of: Marked, rows: Rows, devices: readonly Where[]): Promise<void> {
  const row = (device: string, code: 'encoders on cpu' | 'encoders on gpu', open: () => Promise<Device>) =>
    rows.once({ family: of.name, kind: 'decisions', what: DECISIONS, device }, code, async () =>
      verdictOn(await open(), of),
    )
  if (devices.includes('cpu')) await row(EXACT, 'encoders on cpu', () => openCpuDevice({ threads: 1, exact: true }))
  for (const { name, cut, open } of GPUS) if (devices.includes(cut)) await row(name, 'encoders on gpu', open)
}

async function verdictOn(device: Device, { name, texts, files, scores }: Marked) {
  const truth = scores().map((own, i) => sharesOf(own, texts[i]!))
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-marked-'))
  const forms: number[][][] = []
  try {
    for (const write of files) {
      const path = join(folder, write === writeLaya ? 'laya' : 'model.gguf')
      await write(path)
      const options = { report: () => {}, signal: new AbortController().signal } as const
      const { weights } = await openRepository({ kind: 'folder', path }, options)
      const model = await loadEncoderPlanned(device, weights, planEncoderLoad(weights, device, { name }))
      // What a GPU rehearses must be what it then runs.
      await model.prepare()
      const own = await model.vectors(texts)
      forms.push(own.map((scores, i) => sharesOf(scores, texts[i]!)))
      await model.close()
    }
  } finally {
    if (device.info.kind === 'cpu') device.destroy()
    await rm(folder, { recursive: true })
  }
  const off = forms.flatMap((form) => form.flatMap((own, i) => own.map((share, k) => Math.abs(share - truth[i]![k]!))))
  const likeliest = (own: readonly number[]) => own.indexOf(Math.max(...own))
  const worst = Math.max(...off)
  return {
    tokens: truth.flat().length,
    otherTokens: forms.flatMap((form) => form.filter((own, i) => likeliest(own) !== likeliest(truth[i]!))).length,
    rms: Math.sqrt(off.reduce((sum, one) => sum + one ** 2, 0) / off.length),
    worst,
    bound: BOUND,
    good: worst < BOUND,
  }
}

/** Of each question's options, one question's after the other's. */
function sharesOf(scores: Vector | Float32Array, { fields }: TextTokens): number[] {
  if (!fields) return shares(scores)
  let at = 0
  return fields.flatMap(({ options }) => {
    const from = at
    at += options.length
    return shares(scores.subarray(from, at))
  })
}

function shares(scores: ArrayLike<number>): number[] {
  const most = Math.max(...Array.from(scores))
  const all = Array.from(scores, (score) => Math.exp(score - most))
  const sum = all.reduce((total, one) => total + one, 0)
  return all.map((one) => one / sum)
}
