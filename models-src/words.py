"""The words that stories and questions are made of."""

GIRLS = """Mia Anna Emma Lena Lucy Ella Clara Nora Rosa Ruby Lily Lola Zoe Ida Eva Amy Alice Molly Daisy
Holly Poppy Tilly Sophie Hannah Julia Laura Sarah Maria Marta Greta Hilda Frieda Paula Nina Tina Lisa
Bella Stella Luna Flora Dora Cora Vera Wilma Olga Irma Elsa Heidi Kate Jane Rose Grace Hope Joy Pearl
Penny Polly Sally Betty Kitty Lottie Maggie Nelly Peggy Susie Trudy Wendy Abby Becky Carla Diana Edith
Fiona Gina Helen Irene Jenny Karen Linda Monica Nadia Olive Petra Rita Sandra Tara Ursula Violet Yara
Zara Ada Bea Cleo Dina Elin Freya Gwen Hana Inga Jill Kira Lea Maya Noa Opal Pia Rhea Sara Thea Una
Chloe Olivia Amelia Isla Aria Layla Priya Fatima Aisha Yuki Sakura Mei Carmen Lucia Sofia Camila""".split()

BOYS = """Tom Ben Max Sam Leo Tim Jack Finn Oscar Hugo Otto Karl Paul Peter Jan Nils Lars Erik Emil Felix
Jonas Lukas Moritz Anton Bruno Carl David Daniel Martin Oliver Simon Theo Toby Victor Walter Henry Harry
George Frank Fred Freddy Billy Bobby Charlie Danny Eddie Gary Jimmy Johnny Kenny Larry Mickey Ned Ollie
Percy Ralph Rex Rudy Sid Teddy Timmy Tommy Wally Ziggy Adam Alan Arthur Barney Basil Bert Boris Caleb
Cedric Colin Dexter Dylan Edgar Elmer Ernie Ethan Fritz Gus Hector Horace Igor Isaac Ivan Jacob James Jasper
Joel Joseph Kai Kevin Liam Louis Luke Marco Mark Matt Milo Monty Noah Nico Omar Otis Owen Pablo Pedro
Pip Quentin Rob Roger Rory Rufus Sami Scott Stan Steve Ted Toni Uwe Vince Will Yuri Zack
Ali Ahmed Hassan Ravi Arjun Kenji Hiro Chen Wei Diego Carlos Mateo Rafael""".split()

# Held out of training: check.py gives these in the first turn and expects them in the second.
HELD_OUT = """Bettina Gustav Marlene Roderick Celeste Winston Florian Rebecca Dominic Tabea Casper Melinda
Norbert Giselle Humphrey Katja Leopold Sabrina Torsten Valerie""".split()

ONSETS = """b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sc sh sk sl sm sn sp
st str sw t th tr tw v w wh y z""".split() + ["", "", ""]
VOWELS = "a e i o u a e i o a e ai ea ee ie oa oo ou".split()
CODAS = "b ck d f g ll m n nd ng nk p r rd rk rn rt s sk ss st t th x y z la na ra ka ta ly ny ry na".split() + [""] * 14

LAND = """fox dog cat bear rabbit mouse hedgehog squirrel badger deer wolf horse pony donkey cow sheep lamb
goat pig hen rooster goose mole beaver raccoon lion tiger elephant monkey panda koala kangaroo giraffe
zebra camel rhino hippo leopard llama hamster kitten puppy hare tortoise snail lizard snake spider ant
beetle moose otter frog toad ferret sloth gorilla dragon unicorn giant dwarf gnome elf knight farmer baker
robot snowman troll wizard pirate piglet duckling chick""".split()
FLYERS = "owl robin crow sparrow swan duck parrot bee butterfly ladybird bat pigeon stork eagle penguin fairy".split()
SWIMMERS = "fish whale dolphin crab seal octopus turtle shark mermaid goldfish".split()
GIRL_KINDS = "girl queen princess witch".split()
BOY_KINDS = "boy king prince".split()
KNOWN = frozenset(LAND + FLYERS + SWIMMERS + GIRL_KINDS + BOY_KINDS)
HELPERS = LAND[:56] + FLYERS[:12]

ADJECTIVES = """little small young brave kind clever shy curious cheerful gentle tiny friendly funny lazy
grumpy happy quiet proud lonely""".split()

# A preposition, an article to choose and a noun; "the" means that the noun takes no adjective.
PLACES = [(prep, noun) for prep, nouns in {
    "in": "forest garden village valley wood town castle barn meadow cave park jungle city tower cottage field desert",
    "on": "farm hill mountain island",
    "by": "river lake pond stream",
    "near": "waterfall bridge mill lighthouse",
}.items() for noun in nouns.split()] + [("by", "the sea"), ("at", "the beach"), ("in", "the mountains")]
WET_PLACES = [("in", "lake"), ("in", "river"), ("in", "the sea"), ("in", "the ocean"), ("in", "pond")]
PLACE_ADJECTIVES = "green quiet small big sunny old beautiful pretty lovely".split()

COLOURS = "red blue green yellow golden silver white black brown pink purple orange".split()
THINGS = """ball kite hat scarf drum book boat key bell flute lamp ring coat blanket basket bucket spoon cup
button map whistle balloon umbrella necklace teddy watch feather stone shell lantern crown wagon
doll puzzle violin backpack ribbon marble coin mirror pillow toy""".split()
FOODS = """apples berries nuts carrots cherries pancakes cookies strawberries plums pears honey soup bread
cheese cake pumpkins blueberries mushrooms""".split()
PLANTS = "sunflower rose tulip pumpkin tomato bean carrot strawberry daisy".split()
SKILLS = ["swim", "sing", "dance", "whistle", "read", "paint", "climb trees", "ride a bicycle", "skate",
          "jump over the stream", "bake bread", "play the drum"]
FEARS = ["the dark", "thunder", "deep water", "loud noises", "the big storm", "high places", "shadows"]
BUILT = ["a little house", "a tree house", "a small boat", "a snow castle", "a bridge", "a sand castle",
         "a wooden cart", "a big kite", "a raft"]
SPOTS = ["under an old tree", "behind the barn", "in the tall grass", "next to the stream", "under a bush",
         "behind a big rock", "at the top of the hill", "inside a hollow log", "near the well", "under the bridge"]
TIMES = ["One day", "One morning", "One sunny day", "One rainy afternoon", "One evening", "One cold morning",
         "One windy day", "One summer day", "One night", "One spring morning"]
