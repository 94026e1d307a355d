/**
 * The product of a matrix with many rows of activations: what prompts are made of. A workgroup computes a tile of rows of
 * the matrix by rows of activations, some columns at a time through shared memory.
 */

import { cutsOf, type MatmulCut } from '../../gpu/kernels/cuts.js'
import {
  type Binding,
  eightFunction,
  matrixBindings,
  matrixBuffers,
  type StoredMatrix,
  type StoredShape,
  storedShapeOf,
} from '../../gpu/kernels/formats.js'
import { type Gate, gatedBy, gateFunctions, gateOf } from '../../gpu/kernels/gate.js'
import { declare, type GpuTraits, type Kernel, memo, type Recorder, unrolled } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export interface MatmulShape extends StoredShape {
  readonly bias: boolean
  readonly add: boolean
  readonly gated: boolean
  /** What a gate goes through. @default 'silu' */
  readonly gate?: Gate
  readonly head: boolean
}

/** How a workgroup's invocations share out its rows of the matrix and of activations. */
export interface Tile {
  readonly rows: number
  readonly tokens: number
  /** Invocations along the rows of the matrix, and along those of activations. */
  readonly across: number
  readonly down: number
  /** Of both what an invocation holds. */
  readonly heldRows: number
  readonly heldTokens: number
}

export function tileOf({ rows, tokens, threads }: Pick<MatmulCut, 'rows' | 'tokens' | 'threads'>): Tile {
  const held = (rows * tokens) / threads
  const heldRows = held >= 32 ? 8 : 4
  const heldTokens = held / heldRows
  return { rows, tokens, across: rows / heldRows, down: tokens / heldTokens, heldRows, heldTokens }
}

/** How the product of so many rows of a matrix with so many of activations is cut. */
function cutOf(traits: GpuTraits, rows: number, count: number): MatmulCut {
  const cuts = cutsOf(traits).matmul
  const workgroups = (cut: MatmulCut) => Math.ceil(rows / cut.rows) * Math.ceil(count / cut.tokens)
  return cuts.find((cut) => workgroups(cut) >= (cut.least ?? 1)) ?? cuts.at(-1)!
}

export const matmulKernel = memo(function matmulKernel(shape: MatmulShape, cut: MatmulCut): Kernel {
  const { format, columns } = shape
  const list: Binding[] = [['batch', 'u32', 'r'], ['x', 'vec4<f32>', 'r'], ...matrixBindings(format, false)]
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  const { threads, quads, ahead } = cut
  const tile = tileOf(cut)
  const { across, down, heldRows, heldTokens } = tile
  // One more than rows: what an invocation and its neighbours store then lies in different banks.
  const [w, x] = [tile.rows + 1, tile.tokens + 1]
  const parts = quads / 2
  const ragged = columns % (quads * 4) !== 0
  const each = (rows: number, per: number) => Math.ceil((rows * per) / threads)
  const loads = [
    ...Array.from({ length: each(tile.rows, parts) }, (_, i) => weightLoad(tile, cut, shape, i, ragged)),
    ...Array.from({ length: each(tile.tokens, quads) }, (_, i) => activationLoad(tile, cut, columns, i, ragged)),
  ]
  const steps = Math.ceil(columns / (quads * 4))
  const product = `for (var q = 0u; q < ${quads}u; q++) {
${unrolled(heldRows, (r) => `      let p${r} = ws[q * ${w}u + tx + ${across * r}u];`)}
${unrolled(heldTokens, (t) => `      let y${t} = xs[q * ${x}u + ty + ${down * t}u];`)}
${unrolled(heldRows, (r) => unrolled(heldTokens, (t) => ['x', 'y', 'z', 'w'].map((lane) => `      a${r}_${t} += p${r}.${lane} * y${t}.${lane};`).join('')))}
    }`
  const loop = ahead
    ? `  var k = 0u;
${loads.map(({ declare, load }) => declare + load).join('\n')}
  for (; k < ${steps}u; ) {
${loads.map(({ store }) => store).join('\n')}
    workgroupBarrier();
    k++;
    if (k < ${steps}u) {
${loads.map(({ load }) => load).join('\n')}
    }
    ${product}
    workgroupBarrier();
  }`
    : `  for (var k = 0u; k < ${steps}u; k++) {
${loads.map(({ declare, load, store }) => declare + load + store).join('\n')}
    workgroupBarrier();
    ${product}
    workgroupBarrier();
  }`
  return {
    name: `matmul ${format} ${shape.rows}x${columns}`,
    bindings,
    source: /* wgsl */ `
${source}
${META}
${gateFunctions(shape.gate)}
${eightFunction(format, columns)}
var<workgroup> ws: array<vec4<f32>, ${quads * w}>;
var<workgroup> xs: array<vec4<f32>, ${quads * x}>;
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
${tileSetup(shape, tile)}
${loop}
${unrolled(heldTokens, (t) => writeToken(shape, tile, t, (r) => `a${r}_${t}`))}
}`,
  }
})

interface TileLoad {
  readonly declare: string
  readonly load: string
  readonly store: string
}

/** Eight columns of a row of the matrix; beyond its last column zeros. */
function weightLoad(
  tile: Tile,
  { threads, quads }: MatmulCut,
  shape: MatmulShape,
  i: number,
  ragged: boolean,
): TileLoad {
  const parts = quads / 2
  const stride = tile.rows + 1
  const eighth = `k * ${parts}u + w${i} % ${parts}u`
  const whole = (tile.rows * parts) % threads === 0
  const guard = whole ? '' : `if (w${i} < ${tile.rows * parts}u) `
  const loaded = `let values = eight(${loadRow(shape, tile, `w${i} / ${parts}u`)}, ${eighth}); wa${i} = values[0]; wb${i} = values[1];`
  return {
    declare: `
    let w${i} = index + ${i * threads}u;
    var wa${i} = vec4<f32>();
    var wb${i} = vec4<f32>();`,
    load: ragged
      ? `
    if (${eighth} < ${shape.columns / 8}u) { ${loaded} } else { wa${i} = vec4<f32>(); wb${i} = vec4<f32>(); }`
      : `
    ${guard}{ ${loaded} }`,
    store: `
    ${guard}{ ws[w${i} % ${parts}u * ${2 * stride}u + w${i} / ${parts}u] = wa${i}; ws[w${i} % ${parts}u * ${2 * stride}u + ${stride}u + w${i} / ${parts}u] = wb${i}; }`,
  }
}

function activationLoad(
  tile: Tile,
  { threads, quads }: MatmulCut,
  columns: number,
  i: number,
  ragged: boolean,
): TileLoad {
  const quad = `k * ${quads}u + x${i} % ${quads}u`
  const loaded = `xa${i} = x[min(token + x${i} / ${quads}u, count - 1u) * ${columns / 4}u + ${quad}];`
  const whole = (tile.tokens * quads) % threads === 0
  const guard = whole ? '' : `if (x${i} < ${tile.tokens * quads}u) `
  return {
    declare: `
    let x${i} = index + ${i * threads}u;
    var xa${i} = vec4<f32>();`,
    load: ragged
      ? `
    if (${quad} < ${columns / 4}u) { ${loaded} } else { xa${i} = vec4<f32>(); }`
      : `
    ${guard}{ ${loaded} }`,
    store: `
    ${guard}{ xs[x${i} % ${quads}u * ${tile.tokens + 1}u + x${i} / ${quads}u] = xa${i}; }`,
  }
}

/** Where an invocation stands in its tile, and the sums that it holds. */
export function tileSetup(shape: MatmulShape, { tokens, across, heldRows, heldTokens }: Tile): string {
  return `  let tx = index % ${across}u;
  let ty = index / ${across}u;
  let count = ${shape.head ? 'headRows()' : 'rowCount()'};
  let token = group.y * ${tokens}u;
${unrolled(heldRows, (r) => unrolled(heldTokens, (t) => `  var a${r}_${t} = 0.0;`))}`
}

/** The row of the matrix that is one of a tile's. Gated: the first half are gates, the others their values. */
export function loadRow({ rows, gated }: MatmulShape, tile: Tile, row: string): string {
  if (!gated) return `min(group.x * ${tile.rows}u + ${row}, ${rows - 1}u)`
  const [half, own] = [rows / 2, tile.rows / 2]
  return `(select(0u, ${half}u, ${row} >= ${own}u) + min(group.x * ${own}u + (${row}) % ${own}u, ${half - 1}u))`
}

/** `sum`: the finished sum of a held row of the matrix. */
export function writeToken(shape: MatmulShape, tile: Tile, t: number, sum: (r: number) => string): string {
  const { rows, gated, first, of } = shape
  const { across, down, heldRows } = tile
  const own = gated ? rows / 2 : rows
  const width = gated ? of / 2 : of
  const outputs = gated ? heldRows / 2 : heldRows
  const bias = (row: string) => (shape.bias ? ` + bias[${row}]` : '')
  const one = (r: number) => {
    const value = gated
      ? `let gate = ${sum(r)}${bias(`row + ${first}u`)};
      out[at] = ${gateOf(shape.gate)} * ${gatedBy(shape.gate, `${sum(r + outputs)}${bias(`row + ${first + width}u`)}`)};`
      : `out[at] ${shape.add ? '+=' : '='} ${sum(r)}${bias(`row + ${first}u`)};`
    return `  {
    let row = group.x * ${gated ? tile.rows / 2 : tile.rows}u + tx + ${across * r}u;
    let to = token + ty + ${down * t}u;
    let at = to * ${width}u + ${first}u + row;
    if (row < ${own}u && to < count) {
      ${value}
    }
  }`
  }
  return unrolled(outputs, one)
}

export interface MatmulOperands {
  readonly matrix: StoredMatrix
  readonly x: GPUBuffer
  readonly bias?: GPUBuffer
  readonly out: GPUBuffer
}

export function multiplyTiled(
  pass: Recorder,
  shape: Pick<MatmulShape, 'add' | 'gated' | 'gate' | 'bias' | 'head'>,
  { matrix, x, bias, out }: MatmulOperands,
  count: number,
): void {
  const cut = cutOf(pass.traits, matrix.rows, count)
  const kernel = matmulKernel({ ...shape, ...storedShapeOf(matrix) }, cut)
  const buffers = [pass.meta, x, ...matrixBuffers(matrix), ...(bias ? [bias] : []), out]
  // Tiles of one row of weights beside each other: they share its reads.
  pass.dispatch(kernel, buffers, Math.ceil(matrix.rows / cut.rows), Math.ceil(count / cut.tokens))
}
