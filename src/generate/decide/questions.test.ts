import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChatMessage, DecideQuestion } from '../../contract/engine.js'
import {
  INSTRUCTIONS,
  meanOf,
  meanShares,
  ordersOf,
  QUESTION,
  questionText,
  stateBlock,
  stateText,
} from './questions.js'

const choice = (...texts: string[]): DecideQuestion => ({
  ...{ type: 'choice', instructions: 'Which?' },
  options: texts.map((text) => ({ text })),
})

describe('a state', () => {
  it.each<[string, string | readonly ChatMessage[], string]>([
    ['a text, as it is', 'It rains.', 'It rains.'],
    ['what one user says, as it is', [{ role: 'user', content: 'It rains.' }], 'It rains.'],
    ['what one system says, with who does', [{ role: 'system', content: 'Be kind.' }], 'system: Be kind.'],
    [
      'a conversation, with who says what',
      [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'text', text: 'Does it rain?' }] },
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: 'Much?' },
      ],
      'system: Be kind.\n\nuser: Does it rain?\n\nassistant: Yes.\n\nuser: Much?',
    ],
    [
      'calls and what came of them',
      [
        { role: 'assistant', content: '', toolCalls: [{ id: '1', name: 'sky', arguments: '{}' }] },
        { role: 'tool', content: 'grey', toolCallId: '1' },
        {
          role: 'assistant',
          content: 'Once more.',
          toolCalls: [
            { id: '2', name: 'sky', arguments: '{"at":1}' },
            { id: '3', name: 'sea', arguments: '{}' },
          ],
        },
        { role: 'assistant', content: '' },
      ],
      [
        ...['assistant calls sky: {}', 'tool: grey'],
        'assistant: Once more.\nassistant calls sky: {"at":1}\nassistant calls sea: {}',
        'assistant: ',
      ].join('\n\n'),
    ],
    [
      'a conversation that a user begins, with who says what',
      [
        { role: 'user', content: 'It rains.' },
        { role: 'user', content: 'Much.' },
      ],
      'user: It rains.\n\nuser: Much.',
    ],
    ['nothing', [], ''],
  ])('is %s', (_, state, text) => {
    expect(stateText(state)).toBe(text)
  })

  it.each([
    ['It rains. ', '', 'State:\nIt rains.\n\n'],
    ['It rains.', ' Wet.\n', 'State:\nIt rains.\n\nThoughts about it:\nWet.\n\n'],
    [' \n', '', ''],
    ['', 'Wet.', 'Thoughts about it:\nWet.\n\n'],
    ['x', ' ', 'State:\nx\n\n'],
  ])('stands before the question, with what was thought of it: %j, %j', (state, thought, block) => {
    expect(stateBlock(state, thought)).toBe(block)
  })
})

describe('a question', () => {
  it('is told with its options in the order that is asked for', () => {
    const question: DecideQuestion = {
      ...{ type: 'choice', instructions: ' Which colour? ' },
      options: [{ text: 'red', description: ' warm ' }, { text: 'blue' }],
    }
    expect(QUESTION + questionText(question, [0, 1])).toBe(
      'Question: Which colour?\nOptions:\n- red: warm\n- blue\nAnswer with one option.',
    )
    expect(questionText(question, [1, 0])).toContain('- blue\n- red: warm\n')
  })

  it('is put to a model that has been told to say one of the options, and nothing else', () => {
    expect(INSTRUCTIONS).toMatch(/a state and a question\b.*\banswer with that option alone\.$/)
  })

  it('says of its kind how it is to be answered, and asks something where nothing was', () => {
    const options = [{ text: 'a' }, { text: 'b' }]
    const text = (type: DecideQuestion['type']) => questionText({ type, instructions: ' ', options }, [0, 1])
    expect(text('predicate')).toBe(
      ' Which option fits the state?\nOptions:\n- a\n- b\nIs it true? Answer with one option.',
    )
    expect(text('score')).toBe(
      ' Which option fits the state?\nLevels, from the lowest to the highest:\n- a\n- b\nAnswer with one level.',
    )
  })
})

describe('orders of options', () => {
  it('are the given one where no other is asked for, or there is one option', () => {
    expect(ordersOf(choice('b', 'a', 'c'), 'given')).toEqual([[0, 1, 2]])
    expect(ordersOf(choice('a'), 'average')).toEqual([[0]])
    expect(ordersOf({ ...choice('a'), type: 'score' }, 'average')).toEqual([[0]])
  })

  it('of levels are their own and its reverse', () => {
    expect(ordersOf({ ...choice('b', 'a', 'c'), type: 'score' }, 'average')).toEqual([
      [0, 1, 2],
      [2, 1, 0],
    ])
  })

  it('are the turns of one that hangs on their texts alone', () => {
    expect(ordersOf(choice('b', 'c', 'a'), 'average')).toEqual([
      [2, 0, 1],
      [0, 1, 2],
      [1, 2, 0],
    ])
  })

  it('are the same texts whatever order these are given in; eight at most, and each of them another beginning', () => {
    const texts = fc.uniqueArray(fc.string({ maxLength: 3 }), { minLength: 2, maxLength: 40 })
    fc.assert(
      fc.property(texts, (given) => {
        const ordered = (some: readonly string[]) =>
          ordersOf(choice(...some), 'average').map((order) => order.map((i) => some[i]))
        const orders = ordered(given)
        expect(ordered([...given].reverse())).toEqual(orders)
        expect(orders.length).toBe(Math.min(8, given.length))
        expect(new Set(orders.map(([first]) => first)).size).toBe(orders.length)
        for (const order of orders) expect([...order].sort()).toEqual([...given].sort())
        // As far from each other as may be.
        const places = orders.map(([first]) => orders[0]!.indexOf(first!))
        const steps = places.map((place, i) => (places[i + 1] ?? given.length) - place)
        expect(Math.max(...steps) - Math.min(...steps)).toBeLessThanOrEqual(1)
      }),
    )
  })
})

describe('means', () => {
  it('of what came of each order are shares again', () => {
    expect(meanOf([1, 2, 6])).toBe(3)
    expect(meanShares([[0.5, 0.5]])).toEqual([0.5, 0.5])
    const means = meanShares([
      [0.2, 0.7, 0.1],
      [0.4, 0.1, 0.5],
    ])
    expect(means).toEqual([0.3, 0.4, 0.3].map((one) => expect.closeTo(one, 12)))
    expect(meanShares([[0.1, 0.3]])).toEqual([0.25, 0.75].map((one) => expect.closeTo(one, 12)))
  })
})
