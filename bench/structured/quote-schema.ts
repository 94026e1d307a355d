const quote = { type: 'string', 'x-quote': true }

export const QUOTES = {
  type: 'object',
  properties: { first: quote, second: { ...quote, type: ['string', 'null'] }, all: { type: 'array', items: quote } },
  required: ['first', 'second', 'all'],
  additionalProperties: false,
}
