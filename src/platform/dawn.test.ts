import { expect, it } from 'vitest'
import { DAWN_UNSAFE, dawnFlags, matricesOf } from './dawn.js'

const FEATURE = 'chromium-experimental-subgroup-matrix'

function adapter(features: readonly string[], info: object) {
  return { features: new Set(features), info }
}

it('tells which matrices subgroups multiply, where the adapter has the feature', () => {
  const eight = { M: 8, N: 8, K: 8, componentType: 'f16', resultComponentType: 'f16' }
  const wide = { M: 8, N: 16, K: 32, componentType: 'i8', resultComponentType: 'i32' }
  const info = { subgroupMatrixConfigs: [eight, wide] }
  expect(matricesOf(adapter([FEATURE], info))).toEqual(['8x8x8 f16 to f16', '8x16x32 i8 to i32'])
  expect(matricesOf(adapter([FEATURE], {}))).toEqual([])
  expect(matricesOf(adapter(['subgroups'], info))).toBeUndefined()
})

it('has Dawn show what is behind a flag only where the environment allows it', () => {
  expect(dawnFlags({})).toEqual([])
  expect(dawnFlags({ LOCAL_V1_UNSAFE_WEBGPU: '' })).toEqual([])
  expect(dawnFlags({ LOCAL_V1_UNSAFE_WEBGPU: '1' })).toEqual([DAWN_UNSAFE])
})
