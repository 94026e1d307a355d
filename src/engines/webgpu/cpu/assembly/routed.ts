/** Which experts rows go to, products with the weights of those, and what comes of them. */
import { Collect, GROUP, ROUTED_GROUPS, Route, Routed } from './abi'
import { addBias } from './elementwise'
import { exp4 } from './exp'
import { multiply } from './matmul'

function wordAt(p: usize, i: i32): i32 {
  return load<i32>(p + ((<usize>i) << 2))
}

function putWord(p: usize, i: i32, value: i32): void {
  store<i32>(p + ((<usize>i) << 2), value)
}

function scoreAt(p: usize, i: i32): f32 {
  return load<f32>(p + ((<usize>i) << 2))
}

function exp1(x: f32): f32 {
  return f32x4.extract_lane(exp4(f32x4.splat(x)), 0)
}

export function route(args: usize): void {
  const rows = Route.rows(args)
  const experts = Route.experts(args)
  const chosen = Route.chosen(args)
  const placeOf = Route.placeOf(args)
  const cursors = Route.cursors(args)
  for (let e = 0; e < experts; e++) putWord(cursors, e, 0)
  for (let row = 0; row < rows; row++) {
    const scores = Route.scores(args) + <usize>row * Route.scoresStride(args)
    const own = placeOf + ((<usize>(row * chosen)) << 2)
    choose(keysOf(args, scores), experts, chosen, own)
    for (let i = 0; i < chosen; i++) putWord(cursors, wordAt(own, i), wordAt(cursors, wordAt(own, i)) + 1)
    weigh(args, scores, own, Route.weights(args) + ((<usize>(row * (chosen + 1))) << 2))
  }
  const list = Route.list(args)
  const firsts = Route.firsts(args)
  let active = 0
  let at = 0
  for (let e = 0; e < experts; e++) {
    const count = wordAt(cursors, e)
    if (count === 0) continue
    putWord(list, active, e)
    putWord(firsts, active, at)
    putWord(cursors, e, at)
    at += count
    active++
  }
  putWord(firsts, active, at)
  store<i32>(Route.active(args), active)
  const rowOf = Route.rowOf(args)
  for (let i = 0; i < rows * chosen; i++) {
    const e = wordAt(placeOf, i)
    const place = wordAt(cursors, e)
    putWord(cursors, e, place + 1)
    putWord(rowOf, place, i / chosen)
    putWord(placeOf, i, place)
  }
}

/** What a row's experts are chosen by. */
function keysOf(args: usize, scores: usize): usize {
  const bias = Route.bias(args)
  if (bias === 0) return scores
  const keys = Route.keys(args)
  const sigmoid = Route.kind(args) === 1
  for (let e = 0; e < Route.experts(args); e++) {
    const score = scoreAt(scores, e)
    store<f32>(keys + ((<usize>e) << 2), (sigmoid ? 1 / (1 + exp1(-score)) : score) + scoreAt(bias, e))
  }
  return keys
}

/** The numbers of the greatest scores to `out`, one after the other. Of no numbers the first ones are chosen. */
function choose(scores: usize, experts: i32, chosen: i32, out: usize): void {
  let before: f32 = Infinity
  let last = -1
  for (let i = 0; i < chosen; i++) {
    let best = -1
    let most: f32 = 0
    for (let e = 0; e < experts; e++) {
      const score = scoreAt(scores, e)
      // Behind the one before: less, or as much and further on.
      if (!(score < before || (score === before && e > last))) continue
      if (best >= 0 && !(score > most)) continue
      best = e
      most = score
    }
    if (best < 0) {
      for (i = 0; i < chosen; i++) putWord(out, i, i)
      return
    }
    putWord(out, i, best)
    before = most
    last = best
  }
}

/** What each of the chosen counts for. */
function weigh(args: usize, scores: usize, chosen: usize, out: usize): void {
  const count = Route.chosen(args)
  const experts = Route.experts(args)
  const factors = Route.factors(args)
  const sigmoid = Route.kind(args) === 1
  // With a bias the first that was chosen need not have the greatest score.
  let most = scoreAt(scores, wordAt(chosen, 0))
  for (let i = 1; i < count; i++) most = max(most, scoreAt(scores, wordAt(chosen, i)))
  let sum: f32 = 0
  for (let i = 0; i < count; i++) {
    const score = scoreAt(scores, wordAt(chosen, i))
    const weight: f32 = sigmoid ? 1 / (1 + exp1(-score)) : exp1(score - most)
    store<f32>(out + ((<usize>i) << 2), weight)
    sum += weight
  }
  if (!sigmoid && !Route.normed(args)) {
    sum = 0
    for (let e = 0; e < experts; e++) sum += exp1(scoreAt(scores, e) - most)
  }
  let factor = Route.scale(args)
  if (!sigmoid || Route.normed(args)) factor /= sum
  for (let i = 0; i < count; i++) {
    const own: f32 = factors === 0 ? factor : factor * scoreAt(factors, wordAt(chosen, i))
    store<f32>(out + ((<usize>i) << 2), scoreAt(out, i) * own)
  }
  store<f32>(out + ((<usize>count) << 2), Route.shared(args) ? 1 / (1 + exp1(-scoreAt(scores, experts))) : 1)
}

export function routed(args: usize, from: i32, to: i32, thread: i32): void {
  const n = Routed.rows(args)
  const k = Routed.columns(args)
  const groups = n / GROUP
  const units = (groups + ROUTED_GROUPS - 1) / ROUTED_GROUPS
  const active = load<i32>(Routed.active(args))
  const xStride = Routed.xStride(args)
  const yStride = Routed.yStride(args)
  const bias = Routed.bias(args)
  const planes = Routed.unpacked(args) + <usize>thread * Routed.unpackedGap(args)
  while (from < to) {
    const index = from / units
    if (index >= active) return
    // All that is wanted of an expert at once.
    const first = from % units
    const last = min(units, first + to - from)
    from += last - first
    const places = wordAt(Routed.firsts(args), index)
    const tokens = wordAt(Routed.firsts(args), index + 1) - places
    const base = Routed.first(args) + wordAt(Routed.list(args), index) * Routed.every(args)
    const begin = base + first * ROUTED_GROUPS
    const end = min(base + last * ROUTED_GROUPS, base + groups)
    // The product writes where its rows stand in the whole.
    const y = Routed.y(args) + <usize>places * yStride - ((<usize>(base * GROUP)) << 2)
    const x = Routed.x(args) + <usize>places * xStride
    multiply(args, x, y, yStride, begin, end, (base + groups) * GROUP, k, tokens, false, planes)
    if (bias === 0) continue
    const row = (<usize>(begin * GROUP)) << 2
    for (let t: usize = 0; t < <usize>tokens; t++) addBias(y + t * yStride + row, bias + row, (end - begin) * GROUP)
  }
}

export function collect(args: usize, from: i32, to: i32): void {
  const chosen = Collect.chosen(args)
  const bytes = (<usize>Collect.columns(args)) << 2
  for (let row = from; row < to; row++) {
    const out = Collect.out(args) + <usize>row * Collect.outStride(args)
    for (let i = 0; i < chosen; i++) {
      const at = row * chosen + i
      const weight = f32x4.splat(scoreAt(Collect.weights(args), at + row))
      const x = Collect.x(args) + <usize>wordAt(Collect.placeOf(args), at) * Collect.xStride(args)
      for (let c: usize = 0; c < bytes; c += 16) {
        const value = f32x4.mul(v128.load(x + c), weight)
        v128.store(out + c, i === 0 ? value : f32x4.add(v128.load(out + c), value))
      }
    }
    if (Collect.shared(args) === 0) continue
    const shared = Collect.shared(args) + <usize>row * Collect.sharedStride(args)
    const weight = f32x4.splat(scoreAt(Collect.weights(args), row * (chosen + 1) + chosen))
    for (let c: usize = 0; c < bytes; c += 16) {
      v128.store(out + c, f32x4.add(v128.load(out + c), f32x4.mul(v128.load(shared + c), weight)))
    }
  }
}
