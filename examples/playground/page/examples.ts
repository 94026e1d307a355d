/** Texts and schemas to begin with. All values are invented. */
export interface Example {
  readonly name: string
  readonly instructions: string
  readonly text: string
  readonly schema: object
}

const record = (properties: Readonly<Record<string, object>>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

export const examples: readonly Example[] = [
  {
    name: 'Review',
    instructions: 'Extract the review.',
    text: 'Brenda says: great backpack! I paid 27 dollars and give it 4 of 5 stars. What I like: light, many pockets, waterproof. I recommend it.',
    schema: record({
      author: { type: 'string', description: 'Who wrote the review.' },
      sentiment: { enum: ['positive', 'neutral', 'negative'], description: 'How the author feels about it.' },
      stars: { type: 'integer', minimum: 1, maximum: 5 },
      price: { type: 'number', description: 'What was paid.' },
      liked: { type: 'array', items: { type: 'string' }, maxItems: 4, description: 'What the author liked.' },
      recommended: { type: 'boolean' },
    }),
  },
  {
    name: 'Invoice',
    instructions: 'Extract the invoice details.',
    text: 'Attached is invoice no. DZ7760, dated March 10, 2024. Harbour Supplies billed The Lantern Company 5,041 dollars. Payment due: April 20, 2024. VAT of 19% is included.',
    schema: record({
      number: { type: 'string', pattern: '^[A-Z]{2}[0-9]{4}$', description: 'Number of the invoice.' },
      vendor: { type: 'string', description: 'Who sent the bill.' },
      customer: { type: 'string', description: 'Who has to pay.' },
      total: { type: 'number', minimum: 0, description: 'The amount due.' },
      currency: { enum: ['USD', 'EUR', 'GBP'] },
      due_date: { type: 'string', description: 'When payment is due.' },
      paid: { type: 'boolean', description: 'Whether it has been paid.' },
    }),
  },
  {
    name: 'Contact',
    instructions: 'Extract the contact.',
    text: 'Full name: Arcade Girard. Job title: harbour pilot. Company: Blue Current Shipping. You can write to arcade.girard@example.com or call +42 242 287543.',
    schema: record({
      name: { type: 'string', description: 'Full name.' },
      email: { type: 'string', format: 'email' },
      phone: { type: ['string', 'null'], description: 'Phone number.' },
      job_title: { type: ['string', 'null'], description: 'What the person does for a living.' },
      company: { type: ['string', 'null'] },
    }),
  },
  {
    name: 'Meeting',
    instructions: 'Extract the meeting.',
    text: 'Budget review on May 14 at 3:30 pm in the Oslo room, with Ana, Ben and Chidi. It takes 45 minutes. Please bring the draft.',
    schema: record({
      topic: { type: 'string', description: 'What it is about.' },
      date: { type: 'string' },
      time: { type: 'string', description: 'When it starts.' },
      duration_minutes: { type: 'integer', minimum: 5, maximum: 480 },
      place: { type: ['string', 'null'], description: 'Where it takes place.' },
      attendees: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 6 },
    }),
  },
  {
    name: 'Ticket',
    instructions: 'Sort the support ticket.',
    text: 'Since the update the export button does nothing on my laptop. It is urgent, the report is due tomorrow. Maya',
    schema: record({
      customer: { type: 'string', description: 'Who writes.' },
      summary: { type: 'string', maxLength: 60 },
      category: { enum: ['bug', 'billing', 'question', 'feature request'] },
      priority: { enum: ['low', 'normal', 'high', 'urgent'] },
      affected: record({
        feature: { type: 'string' },
        device: { type: ['string', 'null'] },
      }),
    }),
  },
]
