/**
 * The product of a 4-bit matrix with many rows of activations in f16, twice as quick where the hardware is twice as quick
 * with f16, and half the traffic through shared memory where it is not. Only sums within a block of 32 are in f16: of
 * whole codes, without their scale, with the activations of `to-half.ts`, so that they can never overflow. All else is f32.
 */
import { cutsOf, type HalvesCut } from '../../gpu/kernels/cuts.js'
import type { Binding } from '../../gpu/kernels/formats.js'
import { matrixBindings, matrixBuffers, scaleAt, storedShapeOf } from '../../gpu/kernels/formats.js'
import { gateFunctions } from '../../gpu/kernels/gate.js'
import { declare, type Kernel, memo, type Recorder, unrolled } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { loadRow, type MatmulOperands, type MatmulShape, tileOf, tileSetup, writeToken } from './tiled.js'
import type { HalfRows } from './to-half.js'

/** Rows of the matrix, and of activations, of one workgroup. */
const TILE = 64
const THREADS = 256
const HELD = tileOf({ rows: TILE, tokens: TILE, threads: THREADS })
/** Columns of a block, in vectors of four. */
const QUADS = 8

export const matmulHalfKernel = memo(function matmulHalfKernel(shape: MatmulShape, { twice }: HalvesCut): Kernel {
  const { format, columns } = shape
  const list: Binding[] = [
    ['batch', 'u32', 'r'],
    ['x', 'vec4<f16>', 'r'],
    ['steps', 'f32', 'r'],
    ...matrixBindings(format, false),
  ]
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  const blocks = columns / 32
  const rooms = twice ? 2 : 1
  // What is loaded waits in registers until there is room for it.
  const load = (k: string) => `    k8 = ${k} * 4u + part;
    word = w[loadRow * ${columns / 8}u + k8];
    low = x[loadToken * ${columns / 4}u + k8 * 2u];
    high = x[loadToken * ${columns / 4}u + k8 * 2u + 1u];
    if (part == 0u) { scale = ${scaleAt(format, `loadRow * ${blocks}u + ${k}`)}; }`
  const store = (room: string) => `    let at = ${room} * ${QUADS * TILE}u + part * ${2 * TILE}u + index / 4u;
    ws[at] = vec4<f16>(pair(word, 0u), pair(word, 1u)) - 1031.0h;
    ws[at + ${TILE}u] = vec4<f16>(pair(word, 2u), pair(word, 3u)) - 1031.0h;
    xs[at] = low;
    xs[at + ${TILE}u] = high;
    if (part == 0u) { blockScales[${room} * ${TILE}u + index / 4u] = scale; }`
  const products = (room: string) => `${unrolled(4, (r) => unrolled(4, (t) => `    var h${r}_${t} = vec4<f16>();`))}
    for (var q = ${room} * ${QUADS}u; q < ${room} * ${QUADS}u + ${QUADS}u; q++) {
${unrolled(4, (r) => `      let p${r} = ws[q * ${TILE}u + tx + ${16 * r}u];`)}
${unrolled(4, (t) => `      let y${t} = xs[q * ${TILE}u + ty + ${16 * t}u];`)}
${unrolled(4, (r) => unrolled(4, (t) => `      h${r}_${t} = fma(p${r}, y${t}, h${r}_${t});`))}
    }
${unrolled(4, (r) => `    let s${r} = blockScales[${room} * ${TILE}u + tx + ${16 * r}u];`)}
${unrolled(4, (r) => unrolled(4, (t) => `    a${r}_${t} += s${r} * dot(vec2<f32>(h${r}_${t}.xy + h${r}_${t}.zw), vec2<f32>(1.0));`))}`
  return {
    name: `matmul half ${format} ${shape.rows}x${columns}`,
    bindings,
    source: /* wgsl */ `
enable f16;
${source}
${META}
${gateFunctions(shape.gate)}
var<workgroup> ws: array<vec4<f16>, ${rooms * QUADS * TILE}>;
var<workgroup> xs: array<vec4<f16>, ${rooms * QUADS * TILE}>;
var<workgroup> blockScales: array<f32, ${rooms * TILE}>;
/** Codes \`first\` and \`first\` + 4 of a word, as the ends of two mantissas of 1024. */
fn pair(word: u32, first: u32) -> vec2<f16> {
  return bitcast<vec2<f16>>(((word >> (4u * first)) & 0x000f000fu) | 0x64006400u);
}
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
${tileSetup(shape, HELD)}
  let loadRow = ${loadRow(shape, HELD, 'index / 4u')};
  let loadToken = min(token + index / 4u, count - 1u);
  let part = index % 4u;
  var k8: u32;
  var word: u32;
  var low: vec4<f16>;
  var high: vec4<f16>;
  var scale: f32;
${(twice ? inTwoRooms : inOneRoom)(blocks, load, store, products)}
${unrolled(4, (t) => `  let step${t} = steps[min(token + ty + ${16 * t}u, count - 1u)];`)}
${unrolled(4, (t) => writeToken(shape, HELD, t, (r) => `(a${r}_${t} * step${t})`))}
}`,
  }
})

type Written = (at: string) => string

function inOneRoom(blocks: number, load: Written, store: Written, products: Written): string {
  return `  for (var k = 0u; k < ${blocks}u; k++) {
${load('k')}
${store('0u')}
    workgroupBarrier();
${products('0u')}
    workgroupBarrier();
  }`
}

/** The next step's tiles go where those of the step before were, with which all are done at this step's barrier. */
function inTwoRooms(blocks: number, load: Written, store: Written, products: Written): string {
  return `  {
${load('0u')}
${store('0u')}
  }
  for (var k = 0u; k < ${blocks}u; k++) {
    let room = k & 1u;
    let more = k + 1u < ${blocks}u;
    workgroupBarrier();
    if (more) {
${load('(k + 1u)')}
    }
${products('room')}
    if (more) {
${store('(1u - room)')}
    }
  }`
}

export function multiplyTiledHalf(
  pass: Recorder,
  shape: Pick<MatmulShape, 'add' | 'gated' | 'gate' | 'bias' | 'head'>,
  { matrix, bias, out }: Omit<MatmulOperands, 'x'>,
  { halves, steps }: HalfRows,
  count: number,
): void {
  const kernel = matmulHalfKernel({ ...shape, ...storedShapeOf(matrix) }, cutsOf(pass.traits).halves)
  const buffers = [pass.meta, halves, steps, ...matrixBuffers(matrix), ...(bias ? [bias] : []), out]
  pass.dispatch(kernel, buffers, Math.ceil(matrix.rows / TILE), Math.ceil(count / TILE))
}
