import { describe, expect, it } from 'vitest'
import { jsonOf, serviceOf } from '../../v1.test-helper.js'

describe('health', () => {
  it('is answered without a key, under the base path and outside it', async () => {
    const { v1, ask } = serviceOf()
    expect(jsonOf(await ask('/health', { headers: { authorization: '' } }))).toEqual({ status: 'ok' })
    expect(jsonOf(await ask('/ping', { headers: { authorization: '' } }))).toEqual({ status: 'ok' })
    expect(jsonOf(await ask('/version', { headers: { authorization: '' } }))).toEqual({ version: expect.any(String) })
    const outside = new Request('http://x/health')
    expect((await v1.fetch(outside)).status).toBe(200)
    // An application keeps a path of its own.
    expect(v1.match(outside)).toBe(false)
  })

  it('is 503 once the service closes', async () => {
    const { v1, ask } = serviceOf()
    await v1.close()
    expect((await ask('/health')).status).toBe(503)
  })
})
