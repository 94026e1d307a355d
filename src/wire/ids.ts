/** Random ids in OpenAI's forms. */
const random = (): string => crypto.randomUUID().replaceAll('-', '')

export const completionId = (): string => `chatcmpl-${random()}`
export const textCompletionId = (): string => `cmpl-${random()}`
export const embeddingId = (): string => `embd-${random()}`
export const rerankId = (): string => `rerank-${random()}`
export const decisionId = (): string => `dec-${random()}`
export const requestId = (): string => `req_${random()}`
export const toolCallId = (): string => `call_${random().slice(0, 24)}`
export const responseId = (): string => `resp_${random()}`
export const itemId = (prefix: string): string => `${prefix}_${random()}`
