/**
 * Hugging Face's names as MLC's. MLC keeps the projections that read the same input in one matrix: queries, keys and
 * values one below the other, gates above values.
 */
export interface Renamed {
  readonly name: string
  /** This tensor's place within a fused one, and the number of its parts. */
  readonly part: number
  readonly of: number
}

const QKV = ['q_proj', 'k_proj', 'v_proj']
const GATES = ['gate_proj', 'up_proj']

/** Undefined for what a decoder does not need: rotary tables that old exports carry along. */
export function renamed(name: string, modelType: unknown): Renamed | undefined {
  if (name.endsWith('.rotary_emb.inv_freq')) return undefined
  const fusedQkv = modelType === 'qwen2' || modelType === 'qwen3' ? 'c_attn' : 'qkv_proj'
  return (
    fuse(name, /^(.*\.self_attn\.)([qkv]_proj)(\.(?:weight|bias))$/, QKV, fusedQkv) ??
    fuse(name, /^(.*\.mlp\.)(gate_proj|up_proj)(\.(?:weight|bias))$/, GATES, 'gate_up_proj') ?? { name, part: 0, of: 1 }
  )
}

function fuse(name: string, pattern: RegExp, parts: readonly string[], fused: string): Renamed | undefined {
  const match = name.match(pattern)
  return match
    ? { name: `${match[1]}${fused}${match[3]}`, part: parts.indexOf(match[2]!), of: parts.length }
    : undefined
}

/** Matrices that MLC quantises: all but norms and biases. */
export const isQuantizable = (name: string, shape: readonly number[]): boolean =>
  name.endsWith('.weight') && shape.length === 2 && shape[1]! % 32 === 0
