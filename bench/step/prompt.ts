/** What a part of a prompt asks of a GPU, on one that computes nothing: how its products with many rows are cut. */
import type { GpuTraits } from '../../src/device/gpu/kernels/kernel.js'
import type { Dispatched } from '../guard/still-gpu.js'
import { type Form, stillModel } from './step.js'

export interface PromptCost {
  readonly dispatches: number
  /** Between dispatches. */
  readonly barriers: number
  /** `workgroupBarrier`s of all workgroups of products, those of their loops as often as they come. */
  readonly waitsOfProducts: number
  /** Bytes of factors that invocations of products, or their subgroups as one, read from what a workgroup shares. */
  readonly shared: number
}

/** Rows of a prompt that are read together. */
export const READ = 256

export async function costOfPrompt(shape: string, traits: GpuTraits, form: Form = 'q4f16'): Promise<PromptCost> {
  const { gpu, read, close } = await stillModel(shape, traits, form)
  await read(READ)
  gpu.take()
  await read(READ)
  const { counts, dispatched } = gpu.take()
  await close()
  const tiled = dispatched.filter(({ kernel }) => kernel.startsWith('matmul'))
  const sum = (of: (product: Dispatched) => number) => tiled.reduce((all, each) => all + of(each), 0)
  const { dispatches, barriers } = counts
  return { dispatches, barriers, waitsOfProducts: sum(waitsOf), shared: sum(sharedOf) }
}

/** The loop over columns, and how often it is gone through. */
function loopOf({ source }: Dispatched): readonly [body: string, steps: number] {
  const [, steps, body] = /\n {2}for \(var k = 0u; k < (\d+)u; k\+\+\) \{\n(.*?)\n {2}\}\n/s.exec(source)!
  return [body!, Number(steps)]
}

function waitsOf(product: Dispatched): number {
  const count = (text: string) => text.split('workgroupBarrier()').length - 1
  const [body, steps] = loopOf(product)
  return product.workgroups * (count(product.source) + (steps - 1) * count(body))
}

function sharedOf(product: Dispatched): number {
  const [body, steps] = loopOf(product)
  const { source, workgroups } = product
  const bytes = (type: string) => (type === 'f16' ? 2 : 4)
  const subgroups = [...body.matchAll(/Load<subgroup_matrix_\w+<(f16|f32), (\d+), (\d+)>/g)].reduce(
    (all, [, type, columns, rows]) => all + 4 * Number(columns) * Number(rows) * bytes(type!),
    0,
  )
  const [, quads = 0] = /; q < (?:\w+ \* \d+u \+ )?(\d+)u; q\+\+/.exec(body) ?? []
  const [, type] = /var<workgroup> ws: array<(?:vec4<)?(f16|f32)/.exec(source)!
  const [, threads] = /@workgroup_size\((\d+)\)/.exec(source)!
  const loads = body.split(/= [wx]s\[/).length - 1
  return workgroups * steps * (subgroups + Number(threads) * Number(quads) * loads * 4 * bytes(type!))
}
