/** Which experts rows go to. */
import { TopKExperts } from '../../cpu/assembly/abi'
import { exp4 } from '../../cpu/assembly/exp'
import { floatAt, putWord, wordAt } from '../../cpu/assembly/words'

function exp1(x: f32): f32 {
  return f32x4.extract_lane(exp4(f32x4.splat(x)), 0)
}

export function topKExperts(args: usize, _from: i32, _to: i32, _thread: i32): void {
  const rows = TopKExperts.rows(args)
  const experts = TopKExperts.experts(args)
  const chosen = TopKExperts.chosen(args)
  const placeOf = TopKExperts.placeOf(args)
  const cursors = TopKExperts.cursors(args)
  for (let e = 0; e < experts; e++) putWord(cursors, e, 0)
  for (let row = 0; row < rows; row++) {
    const scores = TopKExperts.scores(args) + <usize>row * TopKExperts.scoresStride(args)
    const own = placeOf + ((<usize>(row * chosen)) << 2)
    choose(keysOf(args, scores), experts, chosen, own)
    for (let i = 0; i < chosen; i++) putWord(cursors, wordAt(own, i), wordAt(cursors, wordAt(own, i)) + 1)
    weigh(args, scores, own, TopKExperts.weights(args) + ((<usize>(row * (chosen + 1))) << 2))
  }
  const list = TopKExperts.list(args)
  const firsts = TopKExperts.firsts(args)
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
  store<i32>(TopKExperts.active(args), active)
  const rowOf = TopKExperts.rowOf(args)
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
  const bias = TopKExperts.bias(args)
  if (bias === 0) return scores
  const keys = TopKExperts.keys(args)
  const sigmoid = TopKExperts.kind(args) === 1
  for (let e = 0; e < TopKExperts.experts(args); e++) {
    const score = floatAt(scores, e)
    store<f32>(keys + ((<usize>e) << 2), (sigmoid ? 1 / (1 + exp1(-score)) : score) + floatAt(bias, e))
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
      const score = floatAt(scores, e)
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
  const count = TopKExperts.chosen(args)
  const experts = TopKExperts.experts(args)
  const factors = TopKExperts.factors(args)
  const sigmoid = TopKExperts.kind(args) === 1
  // With a bias the first that was chosen need not have the greatest score.
  let most = floatAt(scores, wordAt(chosen, 0))
  for (let i = 1; i < count; i++) most = max(most, floatAt(scores, wordAt(chosen, i)))
  let sum: f32 = 0
  for (let i = 0; i < count; i++) {
    const score = floatAt(scores, wordAt(chosen, i))
    const weight: f32 = sigmoid ? 1 / (1 + exp1(-score)) : exp1(score - most)
    store<f32>(out + ((<usize>i) << 2), weight)
    sum += weight
  }
  if (!sigmoid && !TopKExperts.normed(args)) {
    sum = 0
    for (let e = 0; e < experts; e++) sum += exp1(floatAt(scores, e) - most)
  }
  let factor = TopKExperts.scale(args)
  if (!sigmoid || TopKExperts.normed(args)) factor /= sum
  for (let i = 0; i < count; i++) {
    const own: f32 = factors === 0 ? factor : factor * floatAt(factors, wordAt(chosen, i))
    store<f32>(out + ((<usize>i) << 2), floatAt(out, i) * own)
  }
  store<f32>(out + ((<usize>count) << 2), TopKExperts.shared(args) ? 1 / (1 + exp1(-floatAt(scores, experts))) : 1)
}
