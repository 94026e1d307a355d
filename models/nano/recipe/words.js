/** Small word lists of our own, for what the packages do not offer. */
const split = (text) => text.trim().split(/\s*,\s*/)

export const WORDS = {
  noun: 'river, stone, garden, lamp, bridge, tower, forest, cloud, mirror, window, harbor, engine, market, silver, shadow, island, paper, summer, winter, apple, wolf, eagle, lion, castle, valley, storm, ocean, candle, arrow, bottle, circle, crown, dragon, feather, flame, fountain, hammer, horizon, key, ladder, lantern, meadow, moon, mountain, needle, orchard, path, pearl, pepper, piano, planet, queen, rain, rose, sail, shell, ship, signal, sky, spring, star, sugar, sun, table, thunder, tiger, train, tree, wave, wheel, wind, wing, wood, yard'.split(
    ', ',
  ),
  adjective: split(
    'old, new, small, big, red, green, fresh, dark, bright, quiet, loud, early, late, hidden, golden, broken, lost, happy, strange, simple, sweet, cold, warm, wild, soft, hard, cheap, light, heavy, large, tiny, modern, classic, smart, strong, spicy, organic, dried, frozen, portable, wireless, foldable',
  ),
  color: split(
    'red, blue, green, black, white, yellow, grey, brown, orange, purple, pink, silver, dark blue, light green, beige, turquoise, navy, gold, crimson, ivory, olive',
  ),
  material: split(
    'steel, oak, cotton, leather, plastic, glass, wool, aluminium, ceramic, bamboo, silk, linen, copper, rubber, titanium, paper, pine, marble',
  ),
  product: split(
    'lamp, office chair, laptop, backpack, coffee machine, headphones, bicycle, desk, kettle, watch, camera, tent, blender, vacuum cleaner, keyboard, mouse, monitor, printer, toaster, sofa, mattress, mirror, carpet, umbrella, wallet, jacket, boots, shirt, scarf, drill, hammer, ladder, lawn mower, garden hose, water bottle, notebook, pen, calendar, speaker, phone case, charger, router, tablet, smartphone, guitar, puzzle, board game, skateboard, helmet, sleeping bag, suitcase, ring, necklace, perfume, razor, hair dryer, air fryer, rice cooker, bookshelf, lantern, tripod, projector',
  ),
  food: split(
    'apples, bread, milk, eggs, butter, cheese, rice, pasta, tomatoes, onions, garlic, potatoes, carrots, chicken, beef, salmon, flour, sugar, salt, pepper, honey, yoghurt, bananas, oranges, lemons, spinach, beans, lentils, mushrooms, olives, olive oil, basil, ginger, cream, coffee, tea, chocolate, cookies, ice cream, wine, beer, juice, water, nuts, raisins, pumpkin, cucumber, lettuce, tofu, noodles, coconut milk, cinnamon, strawberries, grapes, salad, cake, chips, corn, ham, tuna',
  ),
  skill: split(
    'Python, Java, SQL, Excel, JavaScript, Rust, Go, Docker, Kubernetes, welding, bookkeeping, negotiation, project management, English, German, French, driving, first aid, sales, marketing, design, Photoshop, copywriting, statistics, machine learning, Linux, customer service, cooking, planning, leadership, teamwork, data analysis, networking, testing, TypeScript, accounting, teaching',
  ),
  feature: split(
    'battery life, screen, sound, design, price, waterproof case, fast charging, dark mode, touch screen, bluetooth, handle, comfort, weight, speed, camera, packaging, user manual, customer service, timer, remote control, warranty, colour, search, offline mode, export, keyboard shortcuts, autosave, sync, quality, fit, taste, delivery, size, noise reduction, zoom, storage',
  ),
  con: split(
    'noise, short cable, high price, slow delivery, weak battery, poor manual, smell, bad fit, loose screws, thin material, slow start, small buttons, missing parts, weight, confusing menu, dim light, cheap plastic, sharp edges, leaks, bugs',
  ),
  industry: split(
    'software, logistics, farming, banking, insurance, textiles, energy, robotics, tourism, publishing, construction, chemistry, healthcare, shipping, education, fashion, mining, furniture, film, toys, printing, biotech',
  ),
  job: split(
    'teacher, nurse, baker, engineer, lawyer, driver, painter, cook, gardener, architect, accountant, plumber, carpenter, journalist, pilot, farmer, tailor, electrician, software developer, data scientist, project manager, sales manager, dentist, librarian, mechanic, photographer, translator, waiter, cashier, physicist, singer, poet, composer, chemist, surgeon, editor',
  ),
  problem: split(
    'the screen stays black, it does not turn on, the app crashes at start, the password cannot be reset, the battery is empty after an hour, connection refused, disk full, out of memory, the file cannot be saved, the page loads forever, the button does nothing, the printer is jammed, timeout while reading, invalid token, the invoice is wrong, the parcel arrived damaged, a part is missing, it makes a strange noise, the lid is broken, login fails, the search finds nothing, the export is empty, permission denied, unexpected end of file, the image is blurred, the sound is distorted, it overheats, the update does not install, the account is locked, the date is shown wrong',
  ),
  topic: split(
    'the new website, the budget, the summer party, hiring, the quarterly report, the product launch, office space, travel rules, the client survey, safety, the roadmap, marketing plans, rent, membership fee, consulting, school trip, sales figures, supplier contracts, the annual review, data protection, team building, the repair, a birthday present, tuition, the move to the new office, training',
  ),
  services: split(
    'cleaning of the offices, web hosting, delivery of office paper, maintenance of the lifts, bookkeeping, security at night, garden care, catering, software support, waste removal, parcel delivery, translation work',
  ),
  occasion: split(
    'birthday party, wedding, housewarming, graduation, anniversary, garden party, farewell, barbecue, baby shower, dinner, game night, retirement party, concert, picnic',
  ),
  symptom: split(
    'headache, fever, cough, back pain, sore throat, nausea, dizziness, a rash, chest pain, insomnia, stomach ache, fatigue, a runny nose, swollen knee, toothache, shortness of breath, blurred vision',
  ),
  amenity: split(
    'a balcony, a garden, a garage, a lift, a cellar, a fireplace, a fitted kitchen, underfloor heating, a pool, a sauna, a parking space, fast internet, a terrace, a washing machine, air conditioning',
  ),
  subject: split(
    'Algebra, Biology, Chemistry, World History, Spanish, Drawing, Pottery, Yoga, Statistics, Philosophy, Geography, Music Theory, Programming, Economics, Creative Writing, First Aid, Physics, Sociology, Linguistics',
  ),
  vehicle: split('truck, van, bus, bicycle, motorbike, taxi, tractor, sedan, scooter, tram, pickup, ambulance'),
  animal: split(
    'dog, cat, rabbit, parrot, hamster, horse, turtle, goldfish, guinea pig, canary, snake, ferret, goat, duck, beagle, poodle',
  ),
  language: split(
    'English, German, French, Spanish, Italian, Polish, Dutch, Turkish, Arabic, Greek, Hindi, Japanese, Korean, Latin, Russian, Swedish, Portuguese, Finnish',
  ),
  newshead: split(
    'a bridge was closed after the flood, the mayor opened a new school, workers went on strike, a rare bird was seen, the museum shows old maps, a power cut hit the old town, the price of bread rose again, a new tram line opens, firefighters saved a cat, the council voted for more trees, a fire destroyed a warehouse, researchers found a new fossil, the harbour is to be rebuilt, thousands joined the march, the festival drew a record crowd',
  ),
  task: split(
    'send the report, call the plumber, book a table, water the plants, pick up the parcel, print the tickets, pay the electricity bill, clean the kitchen, review the contract, update the price list, feed the cat, fix the printer, prepare the slides, order new chairs, renew the insurance, buy stamps, cancel the subscription, invite the neighbours, check the numbers, return the books, sign the form, wash the car',
  ),
  plant: split(
    'lavender, tulip, basil, fern, cactus, rose, orchid, sunflower, ivy, tomato plant, clover, heather, sage, thyme, mint, lily, dahlia, lime tree, bamboo, maple, foxglove, daisy',
  ),
  cargo: split(
    'timber, grain, steel pipes, coal, cars, containers, bananas, crude oil, cement, cotton, machine parts, fertilizer, salt, coffee, sand, paper rolls',
  ),
  find: split(
    'coins, pottery shards, a bronze sword, clay tablets, a gold ring, bones, arrow heads, glass beads, a stone axe, a mosaic, iron nails, an oil lamp, amber, a helmet, spindle whorls',
  ),
  planet: split('Mars, Venus, Jupiter, Saturn, Mercury, Titan, Europa, the Moon, Ceres, Pluto, Neptune, Phobos'),
}
