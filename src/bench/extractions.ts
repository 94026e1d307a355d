/** Texts that people wrote, what is asked of them, and the right answers: some of `models/nano/eval/natural.jsonl`. */
import type { JsonObject } from '../platform/index.js'

export interface Extraction {
  readonly system: string
  readonly user: string
  readonly schema: JsonObject
  readonly answer: JsonObject
}

export const EXTRACTIONS: readonly Extraction[] = [
  {
    system: 'Extract the berth request.',
    user: "Hello harbour office, this is Wim Terpstra of the Anneke, 9.5 metres, drawing 1.60. Could we lie with you from Friday till Sunday? Shore power would be nice. We'll be in around 19:00, wind permitting.",
    schema: {
      type: 'object',
      properties: {
        boat: {
          type: 'string',
        },
        skipper: {
          type: 'string',
        },
        length: {
          type: 'number',
          description: 'length of the boat in metres',
        },
        draught: {
          type: 'number',
        },
        needsPower: {
          type: 'boolean',
        },
        arrivalTime: {
          type: 'string',
        },
      },
      required: ['boat', 'skipper', 'length', 'draught', 'needsPower', 'arrivalTime'],
      additionalProperties: false,
    },
    answer: {
      boat: 'Anneke',
      skipper: 'Wim Terpstra',
      length: 9.5,
      draught: 1.6,
      needsPower: true,
      arrivalTime: '19:00',
    },
  },
  {
    system: '',
    user: 'Hive 4, 11 May: queen seen, brood on six frames, lots of pollen coming in. Took nothing off yet. They were very calm today, worked without gloves. Hive 5 tomorrow.',
    schema: {
      title: 'Answer',
      type: 'object',
      properties: {
        hive: {
          type: 'integer',
          title: 'Hive',
        },
        queen_seen: {
          type: 'boolean',
          title: 'Queen Seen',
        },
        brood_frames: {
          type: 'integer',
          title: 'Brood Frames',
        },
        temper: {
          type: 'string',
          enum: ['calm', 'nervous', 'aggressive'],
          description: 'how the bees behaved',
          title: 'Temper',
        },
        honey_taken: {
          type: 'boolean',
          title: 'Honey Taken',
        },
      },
      required: ['hive', 'queen_seen', 'brood_frames', 'temper', 'honey_taken'],
      additionalProperties: false,
    },
    answer: {
      hive: 4,
      queen_seen: true,
      brood_frames: 6,
      temper: 'calm',
      honey_taken: false,
    },
  },
  {
    system: 'Extract the record.',
    user: 'Donor 20-4471, O negative, 450 ml, left arm. Felt dizzy afterwards, stayed lying for 20 minutes, then fine. Next possible date: 14 September 2025.',
    schema: {
      type: 'object',
      properties: {
        donorId: {
          type: 'string',
        },
        bloodGroup: {
          type: 'string',
        },
        volume: {
          type: 'integer',
          description: 'in ml',
          minimum: -9007199254740991,
          maximum: 9007199254740991,
        },
        complications: {
          type: 'boolean',
        },
        nextDate: {
          type: 'string',
          format: 'date',
        },
      },
      required: ['donorId', 'bloodGroup', 'volume', 'complications', 'nextDate'],
      additionalProperties: false,
    },
    answer: {
      donorId: '20-4471',
      bloodGroup: 'O negative',
      volume: 450,
      complications: true,
      nextDate: '2025-09-14',
    },
  },
  {
    system: '',
    user: "Hi Sanne, can you take Boef AND Pip next week? Mon, Wed, Fri as usual. Boef is limping a bit so not too far please. I'll leave the key under the pot. 15 a walk still right?",
    schema: {
      type: 'object',
      properties: {
        dogs: {
          type: 'array',
          items: {
            type: 'string',
          },
        },
        days: {
          type: 'array',
          items: {
            type: 'string',
          },
        },
        injuredDog: {
          type: 'string',
        },
        price: {
          type: 'number',
          description: 'per walk',
        },
        walker: {
          type: 'string',
        },
      },
      required: ['dogs', 'days', 'injuredDog', 'price', 'walker'],
      additionalProperties: false,
    },
    answer: {
      dogs: ['Boef', 'Pip'],
      days: ['Mon', 'Wed', 'Fri'],
      injuredDog: 'Boef',
      price: 15,
      walker: 'Sanne',
    },
  },
  {
    system: '',
    user: 'CALL SHEET day 12 of 30. Crew call 06:30, first shot 08:00, unit base: old brickworks. Sunrise 5:52. Scenes 41 and 43. No phones on set!! 1st AD: Cleo Marchetti',
    schema: {
      type: 'object',
      properties: {
        shootingDay: {
          type: 'integer',
        },
        totalDays: {
          type: 'integer',
        },
        crewCall: {
          type: 'string',
        },
        location: {
          type: 'string',
        },
        scenes: {
          type: 'array',
          items: {
            type: 'string',
          },
        },
        firstAD: {
          type: 'string',
        },
      },
      required: ['shootingDay', 'totalDays', 'crewCall', 'location', 'scenes', 'firstAD'],
      additionalProperties: false,
    },
    answer: {
      shootingDay: 12,
      totalDays: 30,
      crewCall: '06:30',
      location: 'old brickworks',
      scenes: ['41', '43'],
      firstAD: 'Cleo Marchetti',
    },
  },
  {
    system: 'Extract the fine.',
    user: 'Vehicle: grey Volvo, GKX 771. Parked in a loading zone on Bridge Street, 4 April 2025, 11:12 to 11:40. Fine: 35.00, reduced to 17.50 if paid within 14 days.',
    schema: {
      title: 'Answer',
      type: 'object',
      properties: {
        plate: {
          type: 'string',
          title: 'Plate',
        },
        make: {
          type: 'string',
          title: 'Make',
        },
        street: {
          type: 'string',
          title: 'Street',
        },
        date: {
          type: 'string',
          format: 'date',
          title: 'Date',
        },
        fine: {
          type: 'number',
          description: 'the full amount',
          title: 'Fine',
        },
        reduced_fine: {
          type: 'number',
          title: 'Reduced Fine',
        },
        days_to_pay: {
          type: 'integer',
          title: 'Days To Pay',
        },
      },
      required: ['plate', 'make', 'street', 'date', 'fine', 'reduced_fine', 'days_to_pay'],
      additionalProperties: false,
    },
    answer: {
      plate: 'GKX 771',
      make: 'Volvo',
      street: 'Bridge Street',
      date: '2025-04-04',
      fine: 35,
      reduced_fine: 17.5,
      days_to_pay: 14,
    },
  },
  {
    system: '',
    user: 'Sorry mate, running late - can we make it quarter to six instead of five? Just a trim and the beard. Ollie',
    schema: {
      type: 'object',
      properties: {
        name: {
          type: 'string',
        },
        oldTime: {
          type: 'string',
        },
        newTime: {
          type: 'string',
        },
        services: {
          type: 'array',
          items: {
            type: 'string',
          },
        },
        cancels: {
          type: 'boolean',
        },
      },
      required: ['name', 'oldTime', 'newTime', 'services', 'cancels'],
      additionalProperties: false,
    },
    answer: {
      name: 'Ollie',
      oldTime: 'five',
      newTime: 'quarter to six',
      services: ['trim', 'beard'],
      cancels: false,
    },
  },
  {
    system: '',
    user: 'I, Petra Nyqvist, born 8 August 1979, agree to the donation of all organs except my eyes. In case of doubt ask my brother Mats.',
    schema: {
      type: 'object',
      properties: {
        name: {
          type: 'string',
        },
        born: {
          type: 'string',
          format: 'date',
        },
        agrees: {
          type: 'boolean',
        },
        except: {
          type: 'string',
        },
        contact: {
          type: 'string',
        },
      },
      required: ['name', 'born', 'agrees', 'except', 'contact'],
      additionalProperties: false,
    },
    answer: {
      name: 'Petra Nyqvist',
      born: '1979-08-08',
      agrees: true,
      except: 'my eyes',
      contact: 'Mats',
    },
  },
]
