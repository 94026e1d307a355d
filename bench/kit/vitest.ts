/** `vitest` where only its own runner and matchers travel: no configuration, no workers, no Vite. */
import { ASYMMETRIC_MATCHERS_OBJECT, chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect'

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from '@vitest/runner'

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)

const asymmetric = (globalThis as Record<symbol, object>)[ASYMMETRIC_MATCHERS_OBJECT]
export const expect = Object.assign(
  (value: unknown, message?: string) => chai.expect(value, message),
  chai.expect,
  asymmetric,
)
