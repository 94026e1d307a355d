/** How a configuration says by what angles queries and keys are turned: in either of transformers' two forms, or MLC's. */
import type { Angles, Scaling } from '../angles.js'
import { refuse } from '../refuse.js'
import type { Fields } from './fields.js'

export interface ReadAngles {
  readonly angles: Angles
  /** Positions beyond which the angles would have to change while a sequence grows; absent: none. */
  readonly most?: number
  /** Texts of more tokens are turned by others throughout. Absent: there are none. */
  readonly border?: number
}

/** `size`: values of a head that are turned. `parameters`: transformers 5 keeps everything about angles in one object. */
export function readAngles(fields: Fields, size: number, parameters = fields.part('rope_parameters')): ReadAngles {
  const outer = fields.number('rope_theta', fields.number('position_embedding_base', 10000))
  const theta = parameters?.number('rope_theta', outer) ?? outer
  const older = fields.part('rope_scaling')
  const scaled = [parameters, older].filter((part) => part && typeOf(part) !== 'default')
  const [scaling, other] = scaled.map((part) => readScaling(part!, fields, size))
  if (other && JSON.stringify(other) !== JSON.stringify(scaling)) {
    throw refuse(fields.model, 'rope_scaling beside a different rope_parameters')
  }
  if (scaling === 'dynamic') return { angles: { size, theta }, most: trained(fields) }
  const angles = { size, theta, ...(scaling && { scaling }) }
  const differs = scaling?.type === 'longrope' && scaling.short.some((each, i) => each !== scaling.long[i])
  return { angles, ...(differs && { border: scaling.originalLength }) }
}

/** Of heads of which only a part is turned, as the configuration says. */
export function readAnglesOfPart(fields: Fields, otherwise: number): (headSize: number) => ReadAngles {
  const parameters = fields.part('rope_parameters')
  const part = readPart(fields, parameters, otherwise)
  return (headSize) => readAngles(fields, Math.floor(headSize * part), parameters)
}

/** Of a head, the share that is turned: beside the other parameters, or outside of them. */
export function readPart(fields: Fields, parameters: Fields | undefined, otherwise: number): number {
  const outer = fields.number('partial_rotary_factor', otherwise)
  const part = parameters?.number('partial_rotary_factor', outer) ?? outer
  // As many angles are made as it says, before anything else would notice.
  if (part > 1) throw fields.odd('partial_rotary_factor', part)
  return part
}

function typeOf(part: Fields): unknown {
  const older = part.get('type')
  return part.get('rope_type') ?? older ?? 'default'
}

const trained = (fields: Fields) => fields.count('max_position_embeddings')

function readScaling(part: Fields, fields: Fields, size: number): Scaling | 'dynamic' {
  const type = typeOf(part)
  switch (type) {
    case 'linear':
      return { type, factor: part.number('factor') }
    case 'llama3':
      return {
        type,
        factor: part.number('factor'),
        lowFrequency: part.number('low_freq_factor'),
        highFrequency: part.number('high_freq_factor'),
        originalLength: part.count('original_max_position_embeddings'),
      }
    case 'yarn':
      return readYarn(part, fields)
    case 'longrope':
    case 'su':
      return readLongrope(part, fields, size)
    case 'dynamic':
      // Within the length that the model was trained for the angles are the plain ones.
      part.get('factor')
      part.get('original_max_position_embeddings')
      return type
  }
  throw refuse(fields.model, `the rope scaling "${String(type)}"`)
}

function readYarn(part: Fields, fields: Fields): Scaling {
  const factor = part.number('factor')
  const [one, all] = [part.get('mscale'), part.get('mscale_all_dim')] as (number | undefined)[]
  const scale = (mscale: number) => (factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1)
  return {
    type: 'yarn',
    factor,
    originalLength: part.count('original_max_position_embeddings', fields.limit('max_position_embeddings')),
    fast: part.number('beta_fast', 32),
    slow: part.number('beta_slow', 1),
    truncate: part.flag('truncate', true),
    attention: part.number('attention_factor', one && all ? scale(one) / scale(all) : scale(1)),
  }
}

function readLongrope(part: Fields, fields: Fields, size: number): Scaling {
  const outer = fields.limit('original_max_position_embeddings')
  const originalLength = part.count('original_max_position_embeddings', outer)
  const factor = part.number('factor', trained(fields) / originalLength)
  const attention = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalLength))
  return {
    type: 'longrope',
    short: part.numbers('short_factor', size / 2),
    long: part.numbers('long_factor', size / 2),
    originalLength,
    attention: part.number('attention_factor', attention),
  }
}
