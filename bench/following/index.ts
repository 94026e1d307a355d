/**
 * What the way back from a GPU costs strict JSON: tokens that are waited for one by one, and passes that are begun before
 * their masks are made. On a GPU that computes nothing, by a clock that only pretended work moves. `npm run
 * bench:following`.
 */
import { following } from './following.js'

const CASES = [
  { pass: 2.5, roundTrip: 0.3, mask: 0.2 },
  { pass: 2.5, roundTrip: 1, mask: 0.2 },
  { pass: 2.5, roundTrip: 3, mask: 0.2 },
  { pass: 10, roundTrip: 1, mask: 0.5 },
  { pass: 10, roundTrip: 3, mask: 2 },
]

console.log(
  'pass, reading back, mask (ms)      ms a token: one by one  started before its mask   tokens in the same time',
)
for (const each of CASES) {
  const { stepped, followed } = await following(each)
  const durations = Object.values(each).map((ms) => ms.toFixed(1).padStart(6))
  const [one, ahead, times] = [stepped, followed, stepped / followed].map((value) => value.toFixed(2))
  console.log(`${durations.join('')}${one!.padStart(41)}${ahead!.padStart(24)}${times!.padStart(24)}x`)
}
