export type { DeepPartial } from '../../src/grammar/partial.js'
export type {
  Answers,
  ChoiceAnswer,
  ChoiceQuestion,
  PredicateAnswer,
  PredicateQuestion,
  Questions,
  ScoreAnswer,
  ScoreQuestion,
} from '../client/decide.js'
export type { DeviceTarget, Endpoint, ServiceTarget, Target } from '../client/endpoint.js'
export type { EvidenceOf, PointerIn, ValueEvidence } from '../client/evidence.js'
export type { FromSchema } from '../client/json-schema-type.js'
export type { AnySchema, DocumentOf, JsonSchema, Output, StandardSchema } from '../client/schema.js'
export { type Chat, type ChatMessage, type ChatOptions, useChat } from './use-chat.js'
export { type DecisionOptions, type UsedDecision, useDecision } from './use-decision.js'
export { type ModelProgress, type ModelState, type UsedModel, useModel } from './use-model.js'
export { type ObjectOptions, type UsedObject, useObject } from './use-object.js'
export { type Review, type ReviewField, type ReviewOptions, type ReviewValue, useReview } from './use-review.js'
