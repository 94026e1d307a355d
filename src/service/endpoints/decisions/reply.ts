import type { Decided, Decision } from '../../../contract/index.js'
import type { DecisionsRequest, QuestionRequest } from './request.js'
import type { NamedQuestion, SystemOneRequest } from './systemone.js'

/** TypeSafe's: how far the likeliest option stands above chance; 1 where there is one alone. */
export function confidenceOf(probabilities: readonly number[]): number {
  const chance = 1 / probabilities.length
  return probabilities.length === 1 ? 1 : (Math.max(...probabilities) - chance) / (1 - chance)
}

/**
 * TypeSafe's of levels: how near the others lie to the likeliest, against levels that are all alike around their middle.
 * Never below 0.
 */
export function scoreConfidenceOf(probabilities: readonly number[]): number {
  const { length } = probabilities
  if (length === 1) return 1
  const [most, middle] = [likeliest(probabilities), (length - 1) / 2]
  const away = probabilities.reduce((sum, probability, level) => sum + probability * Math.abs(level - most), 0)
  const alike = probabilities.reduce((sum, _, level) => sum + Math.abs(level - middle), 0) / length
  return Math.max(0, 1 - away / alike)
}

export function wireDecisions({ model, questions }: DecisionsRequest, decided: Decided) {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens = 0 } = decided.usage
  return {
    model,
    answers: decided.answers.map((decision, i) => answerOf(questions[i]!, decision)),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
      output_tokens: completionTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: promptTokens + completionTokens,
    },
    ...calibration(decided),
  }
}

function answerOf({ type, name, values }: QuestionRequest, decision: Decision): object {
  if ('refused' in decision) return { type: 'refusal', name }
  const { probabilities } = decision
  const mass = massOf(decision)
  if (type === 'predicate') return { type, name, probability: probabilities[0], ...mass }
  if (type === 'choice') {
    const confidence = confidenceOf(probabilities)
    const options = probabilities.map((probability, i) => ({ value: values[i]!, probability }))
    return { type, name, choice: values[likeliest(probabilities)], confidence, probabilities: options, ...mass }
  }
  const levels = probabilities.map((probability, value) => ({ label: values[value]!, value, probability }))
  const confidence = scoreConfidenceOf(probabilities)
  return { type, name, score: meanOf(probabilities), confidence, probabilities: levels, ...mass }
}

export function wireSystemOne({ model, questions }: SystemOneRequest, decided: Decided) {
  const { promptTokens, completionTokens } = decided.usage
  return {
    model,
    answers: Object.fromEntries(
      decided.answers.map((decision, i) => [questions[i]!.name, namedAnswer(questions[i]!, decision)]),
    ),
    usage: { input_tokens: promptTokens, output_tokens: completionTokens },
    ...calibration(decided),
  }
}

function namedAnswer({ type, options, legend }: NamedQuestion, decision: Decision): object {
  if ('refused' in decision) return { type: 'refusal' }
  const { probabilities: all } = decision
  const mass = massOf(decision)
  if (type === 'predicate') return { type: 'noul', noul: all[0], ...mass }
  const probabilities = Object.fromEntries(options.map(({ text }, i) => [text, all[i]]))
  if (type === 'choice') {
    return { type, choice: options[likeliest(all)]!.text, probabilities, confidence: confidenceOf(all), ...mass }
  }
  const labels = Object.fromEntries(legend.map((level, i) => [i, level]))
  return { type, score: meanOf(all), legend: labels, probabilities, confidence: scoreConfidenceOf(all), ...mass }
}

/** The first of those that are as likely. */
const likeliest = (probabilities: readonly number[]): number => probabilities.indexOf(Math.max(...probabilities))

const meanOf = (probabilities: readonly number[]): number =>
  probabilities.reduce((sum, probability, value) => sum + probability * value, 0)

/** Ours: how much of the model's own probability fell on the options at all; JSON leaves it out where it is unknown. */
const massOf = ({ optionMass }: Exclude<Decision, { readonly refused: true }>) => ({ option_mass: optionMass })

/** Ours, there only where probabilities are no longer the model's own. */
const calibration = ({ temperature }: Decided) => (temperature === undefined ? {} : { calibration: { temperature } })
