"""Simple questions and their answers. Each function returns a user's text and the model's reply."""

import names
from stories import article, upper_first

COLOURS = {
    "white": "snow,milk,salt,a polar bear,a swan,sugar,a cloud",
    "green": "grass,a frog,a leaf,a cucumber,an emerald,a crocodile,broccoli",
    "blue": "the sky,the sea,the ocean,a blueberry",
    "yellow": "the sun,a banana,a lemon,a sunflower,butter",
    "red": "blood,a strawberry,a tomato,a cherry,a ruby,a fire engine,ketchup",
    "orange": "a carrot,a pumpkin,an orange",
    "black": "coal,a crow,the night,tar",
    "brown": "chocolate,wood,a chestnut,earth",
    "pink": "a flamingo,a pig",
    "grey": "an elephant,a mouse,a rain cloud,ash",
    "purple": "a plum,lavender,an aubergine",
}
COLOUR_OF = {thing: colour for colour, things in COLOURS.items() for thing in things.split(",")}

OPPOSITES = """hot cold,big small,tall short,fast slow,happy sad,day night,up down,left right,open closed,hard soft,
old new,good bad,full empty,wet dry,light dark,early late,loud quiet,strong weak,rich poor,thick thin,
clean dirty,near far,high low,in out,on off,yes no,black white,begin end,love hate,win lose,easy difficult,
heavy light,deep shallow,wide narrow,sweet sour,push pull,first last,awake asleep,alive dead,true false,
front back,inside outside,always never,everything nothing,friend enemy,brave afraid,sharp blunt,smooth rough,
warm cool,young old,question answer,summer winter,north south,east west,laugh cry,buy sell,give take"""
OPPOSITE_OF = {}
for pair in OPPOSITES.replace("\n", "").split(","):
    one, other = pair.split()
    OPPOSITE_OF.setdefault(one, other)
    OPPOSITE_OF.setdefault(other, one)

SOUNDS = dict(pair.split() for pair in """dog woof,cat meow,cow moo,sheep baa,pig oink,duck quack,horse neigh,
owl hoot,mouse squeak,rooster cock-a-doodle-doo,bee buzz,snake hiss,lion roar,frog croak,goat meh,hen cluck,
wolf howl,crow caw,donkey hee-haw,bird tweet,goose honk,bear growl,tiger roar,chick cheep""".replace("\n", "").split(","))

BABIES = dict(pair.split() for pair in """dog puppy,cat kitten,cow calf,sheep lamb,pig piglet,duck duckling,
horse foal,bear cub,lion cub,goat kid,hen chick,deer fawn,goose gosling,frog tadpole,kangaroo joey,
swan cygnet,owl owlet,tiger cub,fox cub,elephant calf,whale calf""".replace("\n", "").split(","))

LEGS = {"dog": 4, "cat": 4, "horse": 4, "cow": 4, "sheep": 4, "pig": 4, "fox": 4, "lion": 4, "elephant": 4, "mouse": 4,
        "frog": 4, "bear": 4, "bird": 2, "duck": 2, "hen": 2, "owl": 2, "penguin": 2, "person": 2, "spider": 8,
        "ant": 6, "bee": 6, "butterfly": 6, "fly": 6, "beetle": 6, "snake": 0, "fish": 0, "crab": 10, "worm": 0,
        "table": 4, "octopus": 0}

PLURALS = dict(pair.split() for pair in """cat cats,dog dogs,mouse mice,child children,foot feet,tooth teeth,
goose geese,man men,woman women,fox foxes,box boxes,sheep sheep,fish fish,leaf leaves,wolf wolves,knife knives,
baby babies,city cities,bus buses,house houses,book books,tree trees,apple apples,tomato tomatoes,berry berries,
pony ponies,fly flies,ox oxen,loaf loaves,star stars,bird birds,cow cows,car cars,day days""".replace("\n", "").split(","))

PASTS = dict(pair.split() for pair in """go went,eat ate,see saw,run ran,sing sang,swim swam,write wrote,read read,
give gave,take took,come came,fly flew,drink drank,sleep slept,make made,find found,think thought,buy bought,
bring brought,say said,tell told,know knew,grow grew,fall fell,begin began,break broke,play played,walk walked,
jump jumped,laugh laughed,help helped,build built,lose lost,win won,sit sat,stand stood,hear heard,hold held,
sell sold,teach taught,catch caught,ride rode,draw drew,throw threw""".replace("\n", "").split(","))

CAPITALS = dict(pair.split(":") for pair in """France:Paris,Germany:Berlin,Italy:Rome,Spain:Madrid,England:London,
Japan:Tokyo,China:Beijing,Russia:Moscow,Poland:Warsaw,Austria:Vienna,Greece:Athens,Portugal:Lisbon,Norway:Oslo,
Sweden:Stockholm,Denmark:Copenhagen,Finland:Helsinki,Ireland:Dublin,Egypt:Cairo,Hungary:Budapest,Canada:Ottawa,
Belgium:Brussels,Scotland:Edinburgh,Cuba:Havana,Peru:Lima,Kenya:Nairobi""".replace("\n", "").split(","))

HOMES = {"a fish": "in the water", "a bird": "in a nest", "a bee": "in a hive", "a dog": "in a kennel", "a lion": "in Africa",
         "a penguin": "in the cold south", "a polar bear": "in the cold north", "a kangaroo": "in Australia",
         "a cow": "on a farm", "a pig": "on a farm", "a whale": "in the sea", "a shark": "in the sea", "a fox": "in a den",
         "a rabbit": "in a burrow", "a mole": "under the ground", "a spider": "in a web", "a horse": "in a stable",
         "a camel": "in the desert", "a monkey": "in the jungle", "a frog": "near a pond", "a bat": "in a cave",
         "an owl": "in a tree", "a squirrel": "in a tree", "a king": "in a castle", "a beaver": "by a river"}

USES = {"cut paper": "scissors", "open a door": "a key", "write a letter": "a pen", "eat soup": "a spoon",
        "brush your teeth": "a toothbrush", "dry your hands": "a towel", "tell the time": "a clock",
        "sweep the floor": "a broom", "cut bread": "a knife", "drive a nail": "a hammer", "stay dry in the rain": "an umbrella",
        "comb your hair": "a comb", "take a photo": "a camera", "read at night": "a lamp", "dig a hole": "a shovel",
        "paint a picture": "a brush", "cross a river": "a boat", "fly a long way": "a plane", "call a friend": "a phone",
        "see far away": "a telescope", "wash your hands": "soap", "hear": "ears", "see": "eyes", "smell": "a nose",
        "measure a table": "a ruler", "drink tea": "a cup"}

EATS = {"a rabbit": "carrots and grass", "a cow": "grass", "a cat": "fish and mice", "a dog": "meat and bones",
        "a bear": "berries, fish and honey", "a squirrel": "nuts", "a monkey": "fruit", "a horse": "hay and grass",
        "a panda": "bamboo", "a mouse": "cheese and seeds", "a lion": "meat", "a bird": "seeds and worms",
        "a frog": "flies", "a koala": "leaves", "a bee": "nectar", "a penguin": "fish", "a sheep": "grass",
        "an owl": "mice", "a giraffe": "leaves", "a fox": "mice and berries"}

MAKES = {"milk": "A cow gives milk", "honey": "Bees make honey", "eggs": "Hens lay eggs", "wool": "Sheep give wool",
         "bread": "A baker bakes bread", "webs": "Spiders spin webs", "cheese": "Cheese is made from milk",
         "wine": "Wine is made from grapes", "paper": "Paper is made from wood", "light": "The sun gives us light"}

KINDS = {"fruit": "an apple,a banana,a pear,a cherry,a plum,a grape,a lemon,a peach,a strawberry,an orange",
         "vegetable": "a carrot,a potato,a cabbage,an onion,a leek,a cucumber,spinach,broccoli",
         "animal": "a dog,a cat,a lion,a horse,a whale,a fox,a bear,a mouse,an elephant,a frog",
         "colour": "red,blue,green,yellow,pink,orange",
         "bird": "an owl,a robin,a sparrow,a swan,a duck,a penguin,an eagle",
         "plant": "a rose,a tulip,an oak,grass,a sunflower,a daisy",
         "tool": "a hammer,a saw,a screwdriver,a shovel"}
KIND_OF = {thing: kind for kind, things in KINDS.items() for thing in things.split(",") if thing != "orange"}

SIZES = """an ant,a bee,a mouse,a frog,a squirrel,a cat,a fox,a sheep,a bear,a horse,a giraffe,an elephant,a whale""".split(",")
SHAPES = {"triangle": 3, "square": 4, "rectangle": 4, "pentagon": 5, "hexagon": 6, "octagon": 8}
COUNTS = {("days", "a week"): 7, ("months", "a year"): 12, ("hours", "a day"): 24, ("minutes", "an hour"): 60,
          ("seconds", "a minute"): 60, ("seasons", "a year"): 4, ("weeks", "a year"): 52, ("fingers", "one hand"): 5,
          ("toes", "one foot"): 5, ("letters", "the alphabet"): 26}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
SEASONS = "spring summer autumn winter".split()
SEASON_MONTHS = {"December": "winter", "January": "winter", "February": "winter", "March": "spring", "April": "spring",
                 "May": "spring", "June": "summer", "July": "summer", "August": "summer", "September": "autumn",
                 "October": "autumn", "November": "autumn"}
NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty""".split()


def pick(rng, *choices):
    return rng.choice(choices)


def addition(rng):
    a = rng.randrange(0, 21)
    b = rng.randrange(0, 21 - a)
    if rng.random() < 0.3 and max(a, b) < 13:
        ask = pick(rng, "What is {} plus {}?", "How much is {} plus {}?", "What is {} and {}?")
        answer = f"{upper_first(NUMBERS[a])} plus {NUMBERS[b]} is {NUMBERS[a + b]}."
        return ask.format(NUMBERS[a], NUMBERS[b]), answer
    ask = pick(rng, "What is {} + {}?", "What is {} + {}?", "What is {} plus {}?", "How much is {} plus {}?", "{} + {} = ?",
               "{} + {}", "Add {} and {}.", "How much is {} + {}?", "What is the sum of {} and {}?", "What's {} plus {}?",
               "Can you add {} and {}?")
    return ask.format(a, b), f"{a} plus {b} is {a + b}."


def subtraction(rng):
    a = rng.randrange(0, 21)
    b = rng.randrange(0, a + 1)
    if rng.random() < 0.25 and a < 13:
        ask = pick(rng, "What is {} minus {}?", "How much is {} minus {}?")
        return ask.format(NUMBERS[a], NUMBERS[b]), f"{upper_first(NUMBERS[a])} minus {NUMBERS[b]} is {NUMBERS[a - b]}."
    ask = pick(rng, "What is {} - {}?", "What is {} minus {}?", "How much is {} minus {}?", "{} - {} = ?", "{} - {}",
               "What's {} minus {}?", "How much is {} - {}?")
    return ask.format(a, b), f"{a} minus {b} is {a - b}."


def apples(rng):
    a, b = rng.randrange(1, 11), rng.randrange(1, 11)
    thing = pick(rng, "apples", "nuts", "cookies", "balls", "books", "stones", "flowers")
    name, female = names.pick(rng)
    he = "she" if female else "he"
    if rng.random() < 0.5:
        ask = f"{name} has {a + 1} {thing} and gets {b + 1} more. How many {thing} does {he} have now?"
        return ask, f"{name} has {a + b + 2} {thing} now."
    if a < b:
        a, b = b, a
    ask = f"{name} has {a + 2} {thing} and gives away {b}. How many {thing} are left?"
    left = a + 2 - b
    return ask, f"{name} has {left} {thing} left." if left > 1 else f"{name} has {left} {thing[:-1]} left."


def next_number(rng):
    n = rng.randrange(0, 40)
    if rng.random() < 0.5:
        ask = pick(rng, "What number comes after {}?", "Which number comes after {}?", "What comes after {}?")
        return ask.format(n), f"{n + 1} comes after {n}."
    ask = pick(rng, "What number comes before {}?", "Which number comes before {}?", "What comes before {}?")
    return ask.format(n + 1), f"{n} comes before {n + 1}."


def count(rng):
    n = rng.randrange(2, 21)
    said = pick(rng, str(n), NUMBERS[n])
    if rng.random() < 0.3:
        ask = pick(rng, "Count down from {}.", "Can you count down from {}?", "Count backwards from {}.")
        return ask.format(said), ", ".join(str(i) for i in range(n, 0, -1)) + "."
    ask = pick(rng, "Count to {}.", "Can you count to {}?", "Please count to {}.", "Count from 1 to {}.", "Count up to {}.")
    return ask.format(said), ", ".join(str(i) for i in range(1, n + 1)) + "."


def larger(rng):
    if rng.random() < 0.5:
        a, b = rng.sample(range(0, 41), 2)
        if rng.random() < 0.6:
            ask = pick(rng, "Which number is bigger, {} or {}?", "What is more, {} or {}?", "Which is larger, {} or {}?")
            return ask.format(a, b), f"{max(a, b)} is bigger than {min(a, b)}."
        ask = pick(rng, "Which number is smaller, {} or {}?", "What is less, {} or {}?")
        return ask.format(a, b), f"{min(a, b)} is smaller than {max(a, b)}."
    i, j = sorted(rng.sample(range(len(SIZES)), 2))
    small, big = SIZES[i], SIZES[j]
    first, second = rng.sample((small, big), 2)
    if rng.random() < 0.6:
        ask = pick(rng, "Which is bigger, {} or {}?", "What is bigger, {} or {}?", "Who is bigger, {} or {}?")
        return ask.format(first, second), f"{upper_first(big)} is bigger than {small}."
    ask = pick(rng, "Which is smaller, {} or {}?", "What is smaller, {} or {}?")
    return ask.format(first, second), f"{upper_first(small)} is smaller than {big}."


def colour(rng):
    thing = rng.choice(sorted(COLOUR_OF))
    answer = f"{upper_first(thing)} is {COLOUR_OF[thing]}."
    if rng.random() < 0.2:
        guess = rng.choice(sorted(COLOURS)) if rng.random() < 0.5 else COLOUR_OF[thing]
        yes = "Yes" if guess == COLOUR_OF[thing] else "No"
        return f"Is {thing} {guess}?", f"{yes}, {answer[0].lower() + answer[1:]}"
    ask = pick(rng, "What colour is {}?", "What colour is {}?", "What color is {}?", "Which colour is {}?",
               "What is the colour of {}?", "Tell me the colour of {}.", "What colour does {} have?")
    return ask.format(thing), answer


def opposite(rng):
    word = rng.choice(sorted(OPPOSITE_OF))
    quote = pick(rng, "{}", "{}", "\"{}\"")
    ask = pick(rng, "What is the opposite of {}?", "What is the opposite of {}?", "What's the opposite of {}?",
               "Tell me the opposite of {}.", "The opposite of {} is", "Which word is the opposite of {}?")
    return ask.format(quote.format(word)), f"The opposite of {word} is {OPPOSITE_OF[word]}."


def sound(rng):
    animal = rng.choice(sorted(SOUNDS))
    if rng.random() < 0.25 and list(SOUNDS.values()).count(SOUNDS[animal]) == 1:
        ask = pick(rng, "Which animal says {}?", "What animal says {}?", "Who says {}?", "Which animal goes {}?")
        return ask.format(SOUNDS[animal]), f"{upper_first(article(animal))} says {SOUNDS[animal]}."
    ask = pick(rng, "What does {} say?", "What sound does {} make?", "Which sound does {} make?", "How does {} go?")
    return ask.format(article(animal)), f"{upper_first(article(animal))} says {SOUNDS[animal]}."


def baby(rng):
    animal = rng.choice(sorted(BABIES))
    ask = pick(rng, "What is a baby {} called?", "What do you call a baby {}?", "What is the name of a baby {}?")
    return ask.format(animal), f"A baby {animal} is called {article(BABIES[animal])}."


def legs(rng):
    thing = rng.choice(sorted(LEGS))
    ask = pick(rng, "How many legs does {} have?", "How many legs has {} got?", "How many legs are there on {}?")
    number = LEGS[thing]
    shown = NUMBERS[number] if number else "no"
    return ask.format(article(thing)), f"{upper_first(article(thing))} has {shown} legs."


def plural(rng):
    word = rng.choice(sorted(PLURALS))
    ask = pick(rng, "What is the plural of {}?", "What's the plural of {}?", "Tell me the plural of {}.")
    return ask.format(word), f"The plural of {word} is {PLURALS[word]}."


def past(rng):
    word = rng.choice(sorted(PASTS))
    ask = pick(rng, "What is the past tense of {}?", "What's the past tense of {}?", "What is the past of {}?")
    return ask.format(word), f"The past tense of {word} is {PASTS[word]}."


def capital(rng):
    country = rng.choice(sorted(CAPITALS))
    if rng.random() < 0.2:
        return f"Which country is {CAPITALS[country]} in?", f"{CAPITALS[country]} is in {country}."
    ask = pick(rng, "What is the capital of {}?", "What is the capital of {}?", "What's the capital of {}?",
               "What is the capital city of {}?", "Tell me the capital of {}.", "Which city is the capital of {}?")
    return ask.format(country), f"The capital of {country} is {CAPITALS[country]}."


def home(rng):
    who = rng.choice(sorted(HOMES))
    return f"Where does {who} live?", f"{upper_first(who)} lives {HOMES[who]}."


def food(rng):
    who = rng.choice(sorted(EATS))
    return pick(rng, "What does {} eat?", "What does {} like to eat?").format(who), f"{upper_first(who)} eats {EATS[who]}."


def use(rng):
    task = rng.choice(sorted(USES))
    ask = pick(rng, "What do you use to {}?", "What do I need to {}?", "What do people use to {}?", "What can I use to {}?")
    return ask.format(task), f"You use {USES[task]} to {task}."


def makes(rng):
    thing = rng.choice(sorted(MAKES))
    ask = pick(rng, "Where does {} come from?", "Where do we get {} from?")
    if thing in ("eggs", "webs"):
        ask = ask.replace("does", "do")
    return ask.format(thing), MAKES[thing] + "."


def category(rng):
    thing = rng.choice(sorted(KIND_OF))
    right = KIND_OF[thing]
    wrong = rng.choice([kind for kind in KINDS if kind != right and {kind, right} != {"bird", "animal"}
                        and {kind, right} != {"plant", "fruit"} and {kind, right} != {"plant", "vegetable"}])
    first, second = rng.sample((right, wrong), 2)
    return f"Is {thing} {article(first)} or {article(second)}?", f"{upper_first(thing)} is {article(right)}."


def shape(rng):
    thing = rng.choice(sorted(SHAPES))
    ask = pick(rng, "How many sides does {} have?", "How many corners does {} have?")
    word = "corners" if "corners" in ask else "sides"
    return ask.format(article(thing)), f"{upper_first(article(thing))} has {NUMBERS[SHAPES[thing]]} {word}."


def how_many(rng):
    what, where = rng.choice(sorted(COUNTS))
    ask = pick(rng, "How many {} are in {}?", "How many {} are there in {}?", "How many {} does {} have?")
    if "hand" in where or "foot" in where:
        ask = "How many {} are on {}?"
        return ask.format(what, where), f"There are {COUNTS[what, where]} {what} on {where}."
    return ask.format(what, where), f"There are {COUNTS[what, where]} {what} in {where}."


def calendar(rng):
    what, row = pick(rng, ("day", DAYS), ("day", DAYS), ("month", MONTHS), ("month", MONTHS), ("season", SEASONS))
    i = rng.randrange(len(row))
    this, after = row[i], row[(i + 1) % len(row)]
    if rng.random() < 0.6:
        ask = pick(rng, "What {} comes after {}?", "Which {} comes after {}?", "What {} is after {}?", "Which {} follows {}?")
        return ask.format(what, this), f"{upper_first(after)} comes after {this}."
    ask = pick(rng, "What {} comes before {}?", "Which {} comes before {}?", "What {} is before {}?")
    return ask.format(what, after), f"{upper_first(this)} comes before {after}."


def lists(rng):
    return rng.choice([
        ("Name the days of the week.", ", ".join(DAYS[:-1]) + " and Sunday."),
        ("What are the days of the week?", ", ".join(DAYS[:-1]) + " and Sunday."),
        ("Name the months of the year.", ", ".join(MONTHS[:-1]) + " and December."),
        ("What are the months of the year?", ", ".join(MONTHS[:-1]) + " and December."),
        ("Name the seasons.", "Spring, summer, autumn and winter."),
        ("What are the four seasons?", "Spring, summer, autumn and winter."),
        ("Name three colours.", "Red, blue and green."), ("Name three animals.", "A fox, an owl and a bear."),
        ("Name three fruits.", "An apple, a pear and a banana."), ("Name a fruit.", "An apple is a fruit."),
        ("Name an animal.", "A fox is an animal."), ("Name a colour.", "Blue is a colour."),
        ("Name a bird.", "An owl is a bird."), ("Name a vegetable.", "A carrot is a vegetable."),
        ("Say the alphabet.", "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"),
    ])


def season_of(rng):
    month = rng.choice(MONTHS)
    ask = pick(rng, "Which season is {} in?", "What season is it in {}?", "In which season is {}?")
    return ask.format(month), f"{month} is in {SEASON_MONTHS[month]}."


def greeting(rng):
    hello = pick(rng, "Hello", "Hi", "Hey", "Hello there", "Good morning", "Good evening", "Good afternoon", "Hi there",
                 "Hello Pippin", "Hi Pippin")
    back = hello.removesuffix(" there").removesuffix(" Pippin")
    back = "Hello" if back in ("Hi", "Hey") else back
    if rng.random() < 0.25:
        return f"{hello}{pick(rng, '!', ',', '.')} How are you?".replace(", How", ", how"), \
            f"{back}! I am fine, thank you. How can I help you?"
    return hello + pick(rng, "!", ".", ""), f"{back}! How can I help you?"


def about_me(rng):
    asks, answer = rng.choice([
        ("What is your name?|What's your name?|Who are you?|What are you called?|Tell me your name.|May I ask your name?|Who am I talking to?",
         "I am Pippin, a very small language model."),
        ("What are you?|Are you a robot?|Are you a person?|Are you human?|Are you an AI?",
         "I am a very small language model. I am not a person."),
        ("What can you do?|How can you help me?|What do you know?|Help|Can you help me?",
         "I can tell short stories and answer simple questions."),
        ("How are you?|How are you doing?|How do you do?|How are you today?|Are you well?", "I am fine, thank you. How are you?"),
        ("How old are you?|When were you born?", "I am quite new."),
        ("Where do you live?|Where are you?|Where are you from?", "I live in your computer."),
        ("Who made you?|Who built you?|Who trained you?", "The makers of Pippin trained me."),
        ("How big are you?|Are you big?|Are you small?", "I am very small. I have fewer than three million numbers inside."),
        ("What is your favourite colour?|What colour do you like?", "My favourite colour is green."),
        ("What is your favourite animal?|Which animal do you like?", "My favourite animal is the fox."),
        ("Do you like stories?|What do you like?|What do you like to do?", "I like to tell stories."),
        ("Do you sleep?|Are you tired?", "No, I never sleep."),
        ("Do you like me?|Are you my friend?|Can we be friends?", "Yes, I am your friend."),
        ("Can you sing?|Sing a song.", "La la la! That is my song."),
        ("Tell me a joke.|Do you know a joke?|Make me laugh.", "Why did the cow cross the road? To get to the other moo!"),
    ])
    return rng.choice(asks.split("|")), answer


def feelings(rng):
    return rng.choice([
        ("I am sad.", "I am sorry to hear that. Shall I tell you a story?"),
        ("I am happy.", "I am glad to hear that!"), ("I am tired.", "Then you should rest a little."),
        ("I am hungry.", "Then you should eat something."), ("I am bored.", "Shall I tell you a story?"),
        ("I am thirsty.", "Then you should drink some water."), ("I am cold.", "Then you should put on a warm coat."),
        ("I am fine.", "I am glad to hear that!"), ("I am fine, thank you.", "I am glad to hear that!"),
        ("I love you.", "Thank you! That is very kind."), ("You are funny.", "Thank you! That is very kind."),
        ("You are nice.", "Thank you! That is very kind."), ("That was a nice story.", "Thank you! I am glad that you liked it."),
        ("I liked the story.", "Thank you! I am glad that you liked it."), ("Well done!", "Thank you! That is very kind."),
        ("Good job!", "Thank you! That is very kind."), ("That is wrong.", "I am sorry. I am very small and make mistakes."),
        ("Sorry.", "That is all right."), ("Ok", "Is there anything else that I can do?"), ("Great!", "I am glad that you like it."),
        ("Yes.", "Very well."), ("No.", "Very well."), ("Good night!", "Good night! Sleep well."), ("I cannot sleep.", "Shall I tell you a story?"),
    ])


def say(rng):
    if rng.random() < 0.4:
        name, _ = names.pick(rng)
        ask = pick(rng, "Say hello to {}.", "Please say hello to {}.", "Can you say hello to {}?", "Greet {}.")
        return ask.format(name), f"Hello, {name}!"
    words = [rng.choice(ECHO) if rng.random() < 0.8 else names.made_up(rng).lower() for _ in range(rng.randrange(1, 5))]
    phrase = " ".join(words)
    ask = pick(rng, "Say {}.", "Repeat after me: {}.", "Please say {}.", "Repeat: {}.", "Say \"{}\".")
    return ask.format(phrase), upper_first(phrase) + "."


def name_list(rng):
    """A list to look something up in, which makes the model copy from the right place."""
    people = rng.sample(names.LISTED, rng.choice((2, 2, 3)))
    things = rng.sample("a ball,a book,a cat,a dog,a kite,a boat,a drum,a hat,a cake,a car,a horse,a bird".split(","), len(people))
    asked = rng.randrange(len(people))
    facts = " ".join(f"{person} has {thing}." for person, thing in zip(people, things))
    if rng.random() < 0.5:
        return f"{facts} What does {people[asked]} have?", f"{people[asked]} has {things[asked]}."
    return f"{facts} Who has {things[asked]}?", f"{people[asked]} has {things[asked]}."


ECHO = sorted({word for group in (OPPOSITE_OF, SOUNDS, PASTS, PLURALS) for word in group} - {"rooster"})

DONT_KNOW = "I do not know that. I am a very small model."
TOPICS = """history science music football politics chemistry physics the economy computers Python Java Rome Asia Brazil Texas
New York the moon Mars Jupiter the internet religion art medicine cooking pizza cars trains planes rockets dinosaurs mathematics
algebra geometry the weather the president the king of Spain the stock market electricity magnets atoms gravity war peace
democracy Shakespeare Mozart Beethoven Einstein Newton Napoleon Cleopatra the pyramids volcanoes earthquakes vitamins viruses
philosophy logic poetry grammar French German Latin Chinese money banks taxes insurance law chess tennis the Olympics""".replace("\n", " ")
TOPICS = ["history", "science", "music", "the economy"] + [word for word in TOPICS.split() if len(word) > 3]
UNKNOWN = ["What is the population of {}?", "Who won the world cup in {n}?", "How do I fix {}?", "Explain {} to me.",
           "Why is {} important?", "Who invented {}?", "What happened in {n}?", "How does {} work?", "Write a program about {}.",
           "What do you think about {}?", "Can you explain {}?", "When did {} begin?", "Who wrote the book about {}?",
           "What is {}?", "Tell me about {}.", "Where can I buy {}?", "How much does {} cost?", "Translate {} into French.",
           "What is the meaning of {}?", "Who is the president of {}?", "What is {n} times {m}?", "What is {n} + {m}?",
           "What is {n} - {m}?", "How do you spell {}?", "What is the history of {}?", "Is {} dangerous?", "Who is {}?",
           "What time is it?", "What is the weather like today?", "What day is it today?", "What is the news?",
           "How far is it to {}?", "What is the square root of {n}?", "How many people live in {}?", "Do you know {}?",
           "Give me a recipe with {}.", "What is the best {}?", "Summarise {}.", "How long does {} take?", "Why {}?",
           "What does {} mean?", "Which is better, {} or {}?", "How many {} are there?", "{}",
           "What colour is {}?", "What is the capital of {}?", "What is the opposite of {}?", "What does a {} say?"]
NOT_ALSO_KNOWN = ("colour", "capital", "opposite", "say")


def unknown(rng):
    topic = rng.choice(TOPICS) if rng.random() < 0.5 else " ".join(
        names.made_up(rng).lower() if rng.random() < 0.6 else rng.choice(ECHO) for _ in range(rng.choice((1, 1, 2, 3))))
    ask = rng.choice(UNKNOWN)
    if ask.endswith("{}?") and any(word in ask for word in NOT_ALSO_KNOWN) or "does a" in ask:
        topic = names.made_up(rng).lower()
        topic = upper_first(topic) if "capital" in ask else topic
    return ask.replace("{n}", str(rng.randrange(42, 2100))).replace("{m}", str(rng.randrange(21, 500))).replace("{}", topic), DONT_KNOW


# Weights by the amount to learn.
ALL = [(addition, 10), (subtraction, 8), (apples, 4), (next_number, 3), (count, 3), (larger, 4), (colour, 5), (opposite, 5),
       (sound, 3), (baby, 2), (legs, 3), (plural, 3), (past, 3), (capital, 3), (home, 2), (food, 2), (use, 2), (makes, 1),
       (category, 4), (shape, 1), (how_many, 2), (calendar, 4), (lists, 2), (season_of, 1), (greeting, 4), (about_me, 6),
       (feelings, 3), (say, 5), (name_list, 5), (unknown, 9)]
FUNCTIONS = [function for function, _ in ALL]
WEIGHTS = [weight for _, weight in ALL]
