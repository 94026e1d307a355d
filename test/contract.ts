import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chatContract } from './contract/chat.js'
import { endpointsContract } from './contract/endpoints.js'
import { errorsContract } from './contract/errors.js'
import { leavingContract } from './contract/leaving.js'
import { modelsContract } from './contract/models.js'
import type { Reach } from './contract/reach.js'
import { wireSchema } from './contract/speak.js'
import { streamContract } from './contract/stream.js'
import { FULL } from './support/full.js'

/**
 * What every way to a service must keep, whatever the runtime: `start` brings up the services of
 * `contract/services.ts` there and says how to reach them. Where the runtime is not `available`, its tests are skipped.
 *
 * In Node and in Chromium it is kept as a whole. Elsewhere the same service answers, and what is tested is the way to it:
 * paths, methods, bodies, streams, readers that leave; all of it with `LOCAL_V1_FULL=1`.
 */
export function contract(
  name: string,
  start: () => Promise<Reach>,
  { available = true, whole = FULL }: { readonly available?: boolean; readonly whole?: boolean } = {},
): void {
  describe.skipIf(!available)(name, () => {
    let reach: Reach
    beforeAll(async () => {
      reach = await start()
    })
    afterAll(() => reach?.close())

    test.skipIf(!wireSchema())('answers are checked against ../shared/openai/wire.schema.json', () => {
      expect(wireSchema()).toHaveProperty('$defs.CreateChatCompletionResponse')
    })
    describe('models and paths', () => modelsContract(() => reach, whole))
    describe('chat', () => chatContract(() => reach, whole))
    if (whole) describe('endpoints', () => endpointsContract(() => reach))
    describe('streams', () => streamContract(() => reach, whole))
    describe('errors', () => errorsContract(() => reach, whole))
    describe('leaving', () => leavingContract(() => reach))
  })
}
