import type { FormField } from '../schema-fields.js'

export interface TableExample {
  readonly name: string
  readonly sentence: string
  readonly fields: readonly FormField[]
  readonly texts: readonly string[]
}

const field = (name: string, kind: FormField['kind'] = 'text', options = ''): FormField => ({ name, kind, options })

/** Sentences and texts to begin with. All values are invented. */
export const tableExamples: readonly TableExample[] = [
  {
    name: 'Reviews',
    sentence: 'From each review: the author, the product, how many stars, the price, and whether it is recommended.',
    fields: [
      field('author'),
      field('product'),
      field('stars', 'integer'),
      field('price', 'number'),
      field('recommended', 'boolean'),
    ],
    texts: [
      'Brenda gives the backpack 4 of 5 stars. She paid 27 dollars. She likes the many pockets, but the zip broke. She would recommend it.',
      'Tomás gives the kettle 2 of 5 stars. He paid 31 dollars. It boils fast, but the lid leaks. He would not recommend it.',
      'Aiko gives the desk lamp 5 of 5 stars. She paid 44 dollars. The light is warm and the arm stays where it is put. She would recommend it.',
      'Priya gives the headphones 3 of 5 stars. She paid 89 dollars. They sound good, and the cable is short. She would recommend them.',
      'Oskar gives the tent 1 of 5 stars. He paid 120 dollars. It was wet inside after one night. He would not recommend it.',
      'Leila gives the notebook 5 of 5 stars. She paid 9 dollars. The paper takes ink well. She would recommend it.',
    ],
  },
  {
    name: 'Tickets',
    sentence: 'From each ticket: the problem, the priority (low, medium, high), the reporter, the version.',
    fields: [field('problem'), field('priority', 'choice', 'low, medium, high'), field('reporter'), field('version')],
    texts: [
      'Ticket #3310: the export is empty. Priority: high. Reported by Maya Lindt. It happens since version 2.4.1.',
      'Ticket #3311: the search is slow. Priority: low. Reported by Jonas Weber. It happens since version 2.3.0.',
      'Ticket #3312: the login fails. Priority: high. Reported by Chidi Okafor. It happens since version 2.4.2.',
      'Ticket #3313: the chart has no title. Priority: medium. Reported by Ana Sousa. It happens since version 2.2.8.',
    ],
  },
]
