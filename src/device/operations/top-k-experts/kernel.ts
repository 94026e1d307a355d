/** Chooses the experts of each row, and brings together the rows of each expert. */
import type { RoutingShape } from '../../contract/tensors.js'
import type { Binding } from '../../gpu/kernels/formats.js'
import { declare, float, type GpuTraits, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { routingLists } from '../../gpu/kernels/routing.js'

export interface TopKExpertsShape extends RoutingShape {
  /** Of a row of scores. */
  readonly columns: number
  readonly kind: 'softmax' | 'sigmoid'
  readonly normed: boolean
  readonly scale: number
  readonly bias: boolean
  readonly factors: boolean
  readonly shared: boolean
}

const rowsOf = (head: boolean) => (head ? 'headRows()' : 'rowCount()')

/** The experts of a row go where its places will be. */
export const topKExpertsKernel = memo(function topKExpertsKernel(
  { rows, experts, chosen, columns, kind, normed, scale, bias, factors, shared }: TopKExpertsShape,
  head: boolean,
  { serial }: Pick<GpuTraits, 'serial'>,
): Kernel {
  const list: Binding[] = [
    ['batch', 'u32', 'r'],
    ['scores', 'f32', 'r'],
    ['routing', 'u32', 'w'],
  ]
  if (bias) list.push(['bias', 'f32', 'r'])
  if (factors) list.push(['factors', 'f32', 'r'])
  const { source, bindings } = declare(list)
  const { placeOf, weights } = routingLists({ rows, chosen })
  const threads = serial ? 1 : 64
  const sigmoid = (score: string) => `(1.0 / (1.0 + exp(-${score})))`
  const weight = kind === 'sigmoid' ? sigmoid('score') : 'exp(score - most)'
  const score = 'scores[start + e]'
  const key = bias ? `${kind === 'sigmoid' ? sigmoid(score) : score} + bias[e]` : score
  const ofAll = kind === 'softmax' && !normed
  return {
    name: 'topKExperts',
    bindings,
    source: /* wgsl */ `
${source}
${META}
var<workgroup> bestOf: array<u32, ${threads}>;
/** What experts are chosen by. */
fn keyOf(start: u32, e: u32) -> f32 { return ${key}; }
/** Whether a score comes before another. */
fn before(score: f32, e: u32, other: f32, o: u32) -> bool { return score > other || (score == other && e < o); }
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x;
  if (row >= ${rowsOf(head)}) { return; }
  let start = row * ${columns}u;
  var chosen: array<u32, ${chosen}>;
  for (var i = 0u; i < ${chosen}u; i++) {
    var best = ${experts}u;
    for (var e = lane; e < ${experts}u; e += ${threads}u) {
      let score = keyOf(start, e);
      if (i > 0u && !before(keyOf(start, chosen[i - 1u]), chosen[i - 1u], score, e)) { continue; }
      if (best == ${experts}u || before(score, e, keyOf(start, best), best)) { best = e; }
    }
    ${
      serial
        ? ''
        : `bestOf[lane] = best;
    workgroupBarrier();
    best = bestOf[0];
    for (var l = 1u; l < ${threads}u; l++) {
      let other = bestOf[l];
      if (other == ${experts}u) { continue; }
      if (best == ${experts}u || before(keyOf(start, other), other, keyOf(start, best), best)) { best = other; }
    }
    workgroupBarrier();`
    }
    // Of no numbers any will do.
    chosen[i] = min(best, ${experts - 1}u);
  }
  if (lane > 0u) { return; }
  var most = scores[start + chosen[0]];
  for (var i = 1u; i < ${chosen}u; i++) { most = max(most, scores[start + chosen[i]]); }
  var sum = 0.0;
  ${
    ofAll
      ? `for (var e = 0u; e < ${experts}u; e++) { sum += exp(scores[start + e] - most); }`
      : normed
        ? `for (var i = 0u; i < ${chosen}u; i++) { let score = scores[start + chosen[i]]; sum += ${weight}; }`
        : 'sum = 1.0;'
  }
  for (var i = 0u; i < ${chosen}u; i++) {
    let score = scores[start + chosen[i]];
    routing[${placeOf}u + row * ${chosen}u + i] = chosen[i];
    let own = ${weight} / sum * ${float(scale)}${factors ? ' * factors[chosen[i]]' : ''};
    routing[${weights}u + row * ${chosen + 1}u + i] = bitcast<u32>(own);
  }
  let all = ${shared ? sigmoid(`scores[start + ${experts}u]`) : '1.0'};
  routing[${weights}u + row * ${chosen + 1}u + ${chosen}u] = bitcast<u32>(all);
}`,
  }
})

/** Which place of an expert's a row has hangs on chance, and nothing hangs on that. */
export const groupKernel = memo(function groupKernel(
  { rows, experts, chosen }: RoutingShape,
  held: number,
  head: boolean,
  { serial }: Pick<GpuTraits, 'serial'>,
): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['routing', 'u32', 'w'],
  ])
  const { tiles, rowOf, placeOf } = routingLists({ rows, chosen })
  const threads = serial ? 1 : 256
  const barrier = serial ? '' : 'workgroupBarrier();'
  return {
    name: 'group rows by experts',
    bindings,
    source: /* wgsl */ `
${source}
${META}
var<workgroup> counts: array<atomic<u32>, ${experts}>;
@compute @workgroup_size(${threads})
fn main(@builtin(local_invocation_index) lane: u32) {
  let places = ${rowsOf(head)} * ${chosen}u;
  for (var e = lane; e < ${experts}u; e += ${threads}u) { atomicStore(&counts[e], 0u); }
  ${barrier}
  for (var i = lane; i < places; i += ${threads}u) { atomicAdd(&counts[routing[${placeOf}u + i]], 1u); }
  ${barrier}
  if (lane == 0u) {
    var at = 0u;
    var tile = 0u;
    for (var e = 0u; e < ${experts}u; e++) {
      let count = atomicLoad(&counts[e]);
      atomicStore(&counts[e], at);
      for (var i = 0u; i < count; i += ${held}u) {
        routing[${tiles}u + 2u * tile] = e | (min(${held}u, count - i) << 16u);
        routing[${tiles}u + 2u * tile + 1u] = at + i;
        tile++;
      }
      at += count;
    }
    routing[0] = tile;
  }
  ${barrier}
  for (var i = lane; i < places; i += ${threads}u) {
    let place = atomicAdd(&counts[routing[${placeOf}u + i]], 1u);
    routing[${rowOf}u + place] = i / ${chosen}u;
    routing[${placeOf}u + i] = place;
  }
}`,
  }
})
