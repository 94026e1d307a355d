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
    name: 'Ticket',
    instructions: 'Extract the ticket.',
    text: 'Ticket #3310: the export is empty. Priority: high. Reported by Maya Lindt. It happens on Windows 11 since version 2.4.1.',
    schema: record({
      ticket: { type: 'string' },
      problem: { type: 'string' },
      priority: { enum: ['low', 'medium', 'high'] },
      reporter: { type: 'string' },
      version: { type: 'string' },
      os: { type: 'string' },
    }),
  },
  {
    name: 'Review',
    instructions: 'Extract the review.',
    text: 'Brenda gives the backpack 4 of 5 stars. She paid 27 dollars. She likes the handle and the many pockets, but the zip broke. She would recommend it.',
    schema: record({
      author: { type: 'string' },
      product: { type: 'string' },
      stars: { type: 'integer' },
      price: { type: 'number' },
      recommends: { type: 'boolean' },
    }),
  },
  {
    name: 'Invoice',
    instructions: 'Extract the invoice.',
    text: 'Invoice no. DZ-7760, dated March 10, 2024. Harbour Supplies billed The Lantern Company 5,041 dollars. Payment is due on April 20, 2024.',
    schema: record({
      invoice_number: { type: 'string' },
      vendor: { type: 'string', description: 'who sent the bill' },
      customer: { type: 'string', description: 'who has to pay' },
      total: { type: 'number' },
      invoice_date: { type: 'string' },
      due_date: { type: 'string', description: 'when it must be paid' },
    }),
  },
  {
    name: 'Meeting',
    instructions: 'Extract the meeting.',
    text: 'The meeting is about the budget. It is on May 14 at 3:30 pm in room 12 and takes 45 minutes. Attendees: Ana, Ben and Chidi.',
    schema: record({
      topic: { type: 'string' },
      date: { type: 'string' },
      time: { type: 'string' },
      duration_minutes: { type: 'integer', minimum: 5, maximum: 480 },
      room: { type: 'string' },
      attendees: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 6 },
    }),
  },
  {
    name: 'Order',
    instructions: 'Extract the customer.',
    text: 'Customer: Ines Prado, 12 Harbour Lane, Aveiro. Phone: 234 118 220. Order 5512: 3 mirrors, total 87.50 euros.',
    schema: record({
      customer: record({ name: { type: 'string' }, phone: { type: 'string' } }),
      order: record({ id: { type: 'string' }, quantity: { type: 'integer' }, total: { type: 'number' } }),
    }),
  },
  {
    name: 'Job',
    instructions: 'Extract the job.',
    text: 'Marlow Optics in Jena is looking for an accountant. The salary is 41,000 euros a year. You need 3 years of experience. Apply by 15 June.',
    schema: record({
      company: { type: 'string' },
      job: { type: 'string' },
      city: { type: 'string' },
      salary: { type: 'number' },
      experience_years: { type: 'integer' },
      deadline: { type: 'string' },
    }),
  },
]
