import type { DecisionDraft } from './decision-draft.js'

/** Texts and questions to begin with: small enough that the embedded model gets them right. All values are invented. */
export const decisionExamples: readonly DecisionDraft[] = [
  {
    name: 'Ticket',
    text: 'Ticket #3310: the export is empty. Priority: high. Reported by Maya Lindt. It happens on Windows 11 since version 2.4.1.',
    questions: [
      { kind: 'score', text: 'What is the priority?', options: ['low', 'medium', 'high'] },
      { kind: 'choice', text: 'What is empty?', options: ['the login', 'the export', 'the search'] },
      { kind: 'predicate', text: 'It happens on a Mac.', options: [] },
    ],
    average: false,
  },
  {
    name: 'Spam',
    text: 'Win a free phone now! Click this link and enter your card number.',
    questions: [
      { kind: 'choice', text: 'What is asked for?', options: ['a photo', 'a card number', 'a signature'] },
      { kind: 'score', text: 'How dangerous is it?', options: ['harmless', 'somewhat', 'dangerous'] },
      { kind: 'predicate', text: 'A friend wrote it.', options: [] },
    ],
    average: false,
  },
  {
    name: 'Train',
    text: 'The train to Lyon is 40 minutes late, because of snow on the line.',
    questions: [
      { kind: 'choice', text: 'Why is it late?', options: ['a strike', 'snow', 'a broken engine'] },
      { kind: 'choice', text: 'Where does it go?', options: ['Lyon', 'Nice', 'Paris'] },
      { kind: 'predicate', text: 'The train is on time.', options: [] },
    ],
    average: false,
  },
  {
    name: 'Order',
    text: 'Please cancel my order 5512. I ordered 3 mirrors by mistake.',
    questions: [
      { kind: 'choice', text: 'What was ordered by mistake?', options: ['chairs', 'lamps', 'mirrors'] },
      { kind: 'predicate', text: 'The customer wants more mirrors.', options: [] },
    ],
    average: true,
  },
]
