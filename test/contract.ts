import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chatContract } from './contract/chat.js'
import { endpointsContract } from './contract/endpoints.js'
import { errorsContract } from './contract/errors.js'
import { leavingContract } from './contract/leaving.js'
import { modelsContract } from './contract/models.js'
import type { Reach } from './contract/reach.js'
import { wireSchema } from './contract/speak.js'
import { streamContract } from './contract/stream.js'

/**
 * What every way to a service must keep, whatever the runtime: `start` brings up the services of
 * `contract/services.ts` there and says how to reach them. Where the runtime is not `available`, its tests are skipped.
 */
export function contract(name: string, start: () => Promise<Reach>, available = true): void {
  describe.skipIf(!available)(name, () => {
    let reach: Reach
    beforeAll(async () => {
      reach = await start()
    })
    afterAll(() => reach?.close())

    test.skipIf(!wireSchema())('answers are checked against ../shared/openai/wire.schema.json', () => {
      expect(wireSchema()).toHaveProperty('$defs.CreateChatCompletionResponse')
    })
    describe('models and paths', () => modelsContract(() => reach))
    describe('chat', () => chatContract(() => reach))
    describe('endpoints', () => endpointsContract(() => reach))
    describe('streams', () => streamContract(() => reach))
    describe('errors', () => errorsContract(() => reach))
    describe('leaving', () => leavingContract(() => reach))
  })
}
