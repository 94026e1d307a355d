/** A case as a GGUF file, with the words that llama.cpp asks of a vocabulary. */
import { F16, F32, Metadata, MXFP4, Q4_0, type Tensor, writeGgufFile } from '../../../bench/peers/gguf-file.js'
import type { Case, GgufTensor, Weights } from '../family.js'
import { toMxfp4Blocks, toQ4_0 } from '../rounded.js'
import { halvesOf } from './halves.js'

/** What a GGUF is made from. */
export interface Described extends Pick<Case, 'name' | 'config'> {
  readonly gguf?: (NonNullable<Case['gguf']> & { words?(out: Metadata): void }) | undefined
}

/** `MXFP4`: experts alone. */
export type GgufType = 'F32' | 'F16' | 'Q4_0' | 'MXFP4'

/** `type`: of its matrices, where their rows are whole blocks; all else is in F32. */
export async function writeGguf(path: string, of: Described, weights: Weights, type: GgufType = 'F32'): Promise<void> {
  const { gguf, config } = of
  if (!gguf) throw new Error(`${of.name} has no form as GGUF.`)
  const out = new Metadata()
  out.text('general.architecture', gguf.architecture)
  out.u32(`${gguf.architecture}.vocab_size`, config.vocab_size)
  gguf.metadata(out)
  if (gguf.words) gguf.words(out)
  else addWords(out, config.vocab_size)
  const tensors = gguf.tensors(weights).map((tensor) => stored(tensor, type))
  await writeGgufFile(path, out, tensors)
}

/** llama.cpp's quantiser leaves routers as they are, on which hangs what experts are chosen, and what is added. */
export const isQuantised = (name: string, type: GgufType): boolean =>
  !name.endsWith('.bias') && (type !== 'MXFP4' || /_exps\.|\.experts\./.test(name)) && !ROUTER.test(name)

const ROUTER =
  /ffn_gate_inp|mlp\.(shared_expert_)?gate\.|(feed_forward|block_sparse_moe)\.gate\.|router\.(layer\.|proj\.|weight)/

function stored({ name, dims, values }: GgufTensor, wanted: GgufType): Tensor {
  const type = dims.length > 1 && dims[0]! % 32 === 0 && isQuantised(name, wanted) ? wanted : 'F32'
  const { number, pack } = TYPES[type]
  const bytes = pack(values)
  return { name, dims, type: number, bytes: bytes.length, data: async () => bytes }
}

const TYPES: Readonly<Record<GgufType, { number: number; pack(values: ArrayLike<number>): Buffer }>> = {
  F32: { number: F32, pack: (values) => Buffer.from(new Float32Array(values).buffer) },
  F16: { number: F16, pack: (values) => Buffer.from(halvesOf(values).buffer) },
  Q4_0: { number: Q4_0, pack: toQ4_0 },
  MXFP4: { number: MXFP4, pack: toMxfp4Blocks },
}

/** The first token that is no mark and no byte. */
export const FIRST_WORD = 259

/** The words are made up; llama.cpp asks for a vocabulary with a token for each byte. */
export function addWords(out: Metadata, size: number): void {
  const marks = ['<unk>', '<s>', '</s>']
  const byte = (i: number) => `<0x${(i - marks.length).toString(16).toUpperCase().padStart(2, '0')}>`
  const word = (i: number) => marks[i] ?? (i < FIRST_WORD ? byte(i) : `w${i}`)
  out.text('tokenizer.ggml.model', 'llama')
  out.texts(
    'tokenizer.ggml.tokens',
    Array.from({ length: size }, (_, i) => word(i)),
  )
  out.floats('tokenizer.ggml.scores', new Float32Array(size))
  const kind = (i: number) => (i === 0 ? 2 : i < marks.length ? 3 : i < FIRST_WORD ? 6 : 1)
  out.integers(
    'tokenizer.ggml.token_type',
    Int32Array.from({ length: size }, (_, i) => kind(i)),
  )
  out.u32('tokenizer.ggml.bos_token_id', 1)
  out.u32('tokenizer.ggml.eos_token_id', 2)
}
