"""A story grammar: a request, the story, and the facts that later questions may ask for."""

import names
import words as w

# Each plot is a list of steps, each step a list of ways to say it; "" leaves the step out.
# Slots: n, k hero's name and kind; he, him, his (and capitalised); f, fk, fa friend's name, kind, kind with
# its article; fhe, fhis friend's pronouns; the others are drawn from words.py.
TELL = ["\"Do not worry, I will help you,\" said {f}.", "\"Let us do it together,\" said {f}.",
        "{f} wanted to help at once.", "\"I can help,\" said {f} kindly.",
        "{f} listened and said, \"Two are better than one.\""]
MEET = ["Then {he} met {fa} called {f}.", "Soon {he} met {fa} called {f}.", "On the path {he} met {fa} called {f}.",
        "Just then {fa} called {f} came along.", "Then {fa} called {f} came by."]

LAND_PLOTS = {
    "stuck": [
        ["{time}, {n} went out to look for {food}.", "{time}, {n} was running down the hill.",
         "{time}, {n} was playing near the old well."],
        ["Suddenly {he} slipped and fell into a deep hole.", "All at once {he} was stuck in the mud.",
         "{He} did not look where {he} was going and fell into a ditch."],
        ["\"Help!\" cried {n}, but nobody was there.", "{n} tried to get out, but {he} could not.", ""],
        ["After a while {fa} called {f} heard {him}.", "At last {fa} called {f} came by."],
        ["{f} found a long rope and pulled {him} out.", "{f} held out a long branch and pulled as hard as {fhe} could."],
        ["\"Thank you, you saved me!\" said {n}.", "{n} was free and hugged {f}.", "{n} thanked {f} with all {his} heart."],
    ],
    "way": [
        ["{time}, {n} walked farther than ever before.", "{time}, {n} followed a blue butterfly for a long time.",
         "{time}, {n} went to look for {food}."],
        ["When it got dark, {he} did not know the way home.", "Soon {he} was lost and did not know where to go.",
         "Then a thick fog came, and {n} could not see the path."],
        ["{He} sat down and began to cry.", "{n} was afraid, but {he} did not give up.", ""],
        MEET,
        ["\"I know the way,\" said {f}, \"follow me.\"", "{f} knew every path and went ahead.",
         "\"Come with me, I will take you home,\" said {f}."],
        ["Before long they saw the light of {n}'s house.", "Soon {n} was safe at home.",
         "When the moon came up, they were at {n}'s door."],
        ["{n} gave {f} a bowl of soup, and they talked all evening.", "{n} thanked {f} and gave {fhim} some {food}.", ""],
    ],
    "race": [
        ["{n} thought that nobody could run as fast as {he} could.", "{n} loved to run more than anything else."],
        ["{time}, {fa} called {f} asked {him} to run a race.", "{time}, {n} had a race with {fa} called {f}."],
        ["They ran from the big oak to the river.", "All the animals came to watch.", ""],
        ["Halfway there, {f} tripped over a stone and hurt {fhis} leg.",
         "{n} was far ahead when {he} heard {f} cry for help."],
        ["{n} stopped at once and went back to help.", "{n} did not think about the race and ran back to {f}."],
        ["They walked over the line together, and everybody clapped.",
         "They came in last, side by side, and everybody cheered."],
        ["\"A friend is better than a prize,\" said {n}.", "That day {n} won a friend, and that was better than a prize.", ""],
    ],
    "baby": [
        ["{time}, {n} found a baby bird on the ground.", "{time}, {n} heard a soft cry and found a baby bird in the grass."],
        ["It had fallen out of its nest.", "The little bird was cold and could not fly."],
        ["{n} wanted to help, but the nest was too high.", "{n} looked up, but {he} could not reach the nest."],
        ["So {he} asked {his} friend {f}, {fa}, for help.", "So {he} called {his} friend {f}, {fa}."],
        ["{f} let {him} stand on {fhis} back, and {n} put the bird into the nest.",
         "Together they carried the bird up and put it back into the nest."],
        ["The mother bird sang a song to thank them.", "The baby bird was safe, and its mother was glad."],
    ],
}

PLOTS = {
    "lost": [
        ["{n} had {a_thing} that {he} loved very much.", "{His} favourite thing was {a_thing}.",
         "{n} had {a_thing}, and {he} took it everywhere."],
        ["{time}, the {thing} was gone.", "{time}, {he} could not find the {thing} anywhere.",
         "{time}, {n} lost the {thing}."],
        ["{He} looked here and there, but {he} did not find it.", "{n} looked in every corner, but it was not there.",
         "{n} was very sad."],
        MEET, TELL + [""],
        ["Together they looked {spot}, and there was the {thing}!", "They looked everywhere and found the {thing} {spot}.",
         "{f} looked {spot} and found the {thing}."],
        ["{n} jumped for joy and thanked {f}.", "{n} was so happy that {he} danced.", "\"Thank you, {f}!\" said {n}."],
    ],
    "hungry": [
        ["{time}, {n} was very hungry, but there was nothing to eat at home.", "{time}, {n} woke up and was very hungry."],
        ["{He} looked for {food} everywhere.", "So {he} went out to find some {food}."],
        MEET,
        ["{f} had a big basket full of {food}.", "{f} had found more {food} than {fhe} could eat."],
        ["\"Please have some,\" said {f}.", "\"Let us share,\" said {f}.", "{f} gave {him} half of it with a smile."],
        ["They sat down {spot} and ate until they were full.", "They ate and laughed together all afternoon."],
        ["The next day {n} shared {his} own food with {f}.", "{n} never forgot how kind {f} had been.", ""],
    ],
    "lonely": [
        ["{n} had nobody to play with.", "{n} was often alone and wished for a friend.", "Every day {n} played alone."],
        ["{time}, {he} heard a voice {spot}.", "{time}, {he} saw somebody {spot}."],
        ["It was {fa} called {f}.", "There sat {fa} called {f}."],
        ["\"Will you play with me?\" asked {n}.", "\"Hello, I am {n}. Who are you?\" asked {n}.", ""],
        ["{f} was lonely too and was glad to have a friend.", "\"I would love to play with you,\" said {f}."],
        ["They played with {a_thing} all day long.", "They sang songs and told each other stories.",
         "{n} showed {f} {his} {thing}, and they laughed a lot."],
        ["After that {n} was never lonely again.", "When the sun went down, they promised to meet again the next day."],
    ],
    "build": [
        ["{n} wanted to build {built}.", "{time}, {n} began to build {built}."],
        ["{He} worked hard all day.", "{He} worked from morning to night.", ""],
        ["But in the night a strong wind came and broke it.", "But it fell down with a loud crash.",
         "But it was not strong enough and broke."],
        ["{n} was sad and wanted to give up.", "{n} nearly cried.", "\"I will never do it,\" said {n}."],
        MEET, TELL,
        ["They worked together, and this time it was strong.", "With a friend the work was easy.",
         "Together they built it again, and it was even better than before."],
        ["{n} was very proud and thanked {f}.", "\"We did it!\" cried {n}."],
    ],
    "garden": [
        ["{time}, {n} found a small seed {spot}.", "{time}, somebody gave {n} a tiny seed."],
        ["{He} planted it in the ground and gave it water every day.", "{He} put it into the earth and waited."],
        ["For many days nothing happened, and {n} became sad.", "Days went by, but nothing grew."],
        ["{His} friend {f}, {fa}, said, \"Be patient.\"", "\"Good things need time,\" said {his} friend {f}, {fa}."],
        ["Then, after a warm rain, a green leaf came out.", "Then one morning a little green leaf was there."],
        ["It grew and grew until it was the biggest {plant} of all.", "Soon it was a beautiful {plant}."],
        ["{n} and {f} looked at it and were proud.", "{n} shared the {plant} with {f}."],
    ],
    "birthday": [
        ["It was {n}'s birthday, but nobody said a word about it.", "Today was {n}'s birthday, and {he} was looking forward to it."],
        ["{n} thought that everybody had forgotten {him}.", "Nobody came, and {n} grew sad."],
        ["Then {his} friend {f}, {fa}, knocked at the door.", "In the evening {his} friend {f}, {fa}, came to the door."],
        ["\"Come with me,\" said {f}, \"I must show you something.\"", "\"Close your eyes and follow me,\" said {f}."],
        ["{spot_cap} all {his} friends were waiting with a big cake.", "There stood all {his} friends with cake and {food}."],
        ["\"Happy birthday, {n}!\" they all called.", "They sang a song for {n}."],
        ["{f} gave {him} {a_thing}.", "The best present was {a_thing} from {f}.", ""],
    ],
    "afraid": [
        ["{n} was afraid of {fear}.", "There was one thing that {n} did not like: {he} was afraid of {fear}."],
        ["The others laughed about it, and that made {him} sad.", "{He} told nobody about it.", ""],
        ["{time}, {he} told {his} friend {f}, {fa}, about it.", "{time}, {he} met {fa} called {f} and told {fhim} about it."],
        ["\"Everybody is afraid of something,\" said {f}.", "\"I was afraid too when I was small,\" said {f}."],
        ["{f} held {his} hand, and they sang a song together.", "{f} stayed with {him} and gave {him} {a_thing}."],
        ["Little by little {n} became brave.", "After a while {n} was not afraid any more."],
    ],
    "learn": [
        ["{n} wanted to learn to {skill}.", "More than anything, {n} wanted to {skill}."],
        ["{He} tried again and again, but it did not work.", "{He} tried it every day, but it was too hard."],
        ["{time}, {he} met {fa} called {f}.", "{time}, {fa} called {f} saw {him} try."],
        ["\"I can show you how,\" said {f}.", "\"You only need to practise,\" said {f}."],
        ["{f} showed {him} how to do it, step by step.", "They practised together every morning."],
        ["At last {n} could {skill}, and {he} laughed with joy.", "One week later {n} could {skill} better than anybody."],
        ["{n} thanked {f} and gave {fhim} {a_thing}.", ""],
    ],
    "storm": [
        ["{time}, a big storm came.", "{time}, dark clouds came, and it began to rain."],
        ["The wind blew hard, and {n} was cold and wet.", "{n} ran here and there, but {he} found no dry place."],
        ["Then {he} saw a light {spot}.", "Then {he} saw a small house {spot}."],
        ["{fa_cap} called {f} opened the door.", "It was the home of {fa} called {f}."],
        ["\"Come in and get warm,\" said {f}.", "{f} gave {him} a warm blanket and some {food}."],
        ["They sat by the fire and told stories until the storm was over.", "They played games until the sun came out again."],
        ["In the morning there was a rainbow in the sky.", ""],
    ],
}

ENDINGS = ["From that day on, {n} and {f} were best friends.", "{n} and {f} stayed friends forever.",
           "And they lived happily ever after.", "That night {n} fell asleep with a smile.",
           "After that, {n} and {f} met every day."]

ASK = ["Tell me a story about {s}.", "Tell me a story about {s}.", "Tell me a story about {s}.",
       "Write a story about {s}.", "Write a short story about {s}.", "Tell me a short story about {s}.",
       "Please tell me a story about {s}.", "Can you tell me a story about {s}?", "Could you write a story about {s}?",
       "Can you write me a short story about {s}, please?", "I want to hear a story about {s}.",
       "I would like a story about {s}.", "Make up a story about {s}.", "Give me a story about {s}.",
       "A story about {s}, please.", "Tell a story about {s}.", "Tell me a bedtime story about {s}.",
       "Do you know a story about {s}?", "Write me a little tale about {s}.", "Tell me about {s} in a story.",
       "Invent a story about {s}.", "Story about {s}", "Let us hear a story about {s}.", "Tell me a tale about {s}."]
ASK_ANY = ["Tell me a story.", "Write a story.", "Can you tell me a story?", "Please tell me a story.",
           "Tell me a short story.", "I want to hear a story.", "Tell me a bedtime story.", "Write me a story, please.",
           "Do you know a story?", "Tell me something nice."]
ASK_MORE = ["Tell me another story.", "Another story, please.", "One more story, please.", "Can you tell me another one?"]


def article(phrase):
    return ("an " if phrase[0] in "aeiou" and not phrase.startswith("unicorn") else "a ") + phrase


def upper_first(text):
    return text[0].upper() + text[1:]


def pronouns(prefix, female):
    he, him, his = ("she", "her", "her") if female else ("he", "him", "his")
    return {prefix + "he": he, prefix + "him": him, prefix + "his": his,
            prefix + "He": he.capitalize(), prefix + "His": his.capitalize()}


def place_phrase(rng, place, plain=False):
    prep, noun = place
    if noun.startswith("the "):
        return f"{prep} {noun}"
    if plain or rng.random() < 0.5:
        return f"{prep} {article(noun)}"
    return f"{prep} {article(rng.choice(w.PLACE_ADJECTIVES) + ' ' + noun)}"


def pick_kind(rng):
    """A hero's kind, its sex if the kind tells it, and whether it swims."""
    roll = rng.random()
    if roll < 0.07:
        return rng.choice(w.GIRL_KINDS), True, False
    if roll < 0.14:
        return rng.choice(w.BOY_KINDS), False, False
    if roll < 0.21:
        return rng.choice(w.SWIMMERS), None, True
    if roll < 0.30:
        return rng.choice(w.FLYERS), None, False
    if roll < 0.36:
        return names.made_up(rng).lower(), None, False
    return rng.choice(w.LAND), None, False


class Story:
    """One story: `request` and `text`, and the facts in `slots`."""

    def __init__(self, rng, name=None, female=None, more=False):
        kind, sex, swims = pick_kind(rng)
        about_user = name is not None
        if about_user:
            swims, sex = False, female
            kind = "girl" if female else "boy"
        else:
            name, sex = names.pick(rng, sex)
        friend, friend_sex = names.pick(rng)
        while friend == name:
            friend, friend_sex = names.pick(rng)
        friend_kind = rng.choice(w.HELPERS if not swims else w.SWIMMERS)
        while friend_kind == kind:
            friend_kind = rng.choice(w.HELPERS)
        place = rng.choice(w.WET_PLACES if swims else w.PLACES)
        adjective = rng.choice(w.ADJECTIVES)

        request, asked = self._request(rng, name, kind, friend_kind, friend, place, adjective, about_user, more)
        # A name or kind that the request does not give must be an ordinary one, because the model will choose it
        # itself.
        if "name" not in asked and not about_user:
            name = rng.choice(w.GIRLS if sex else w.BOYS)
        if "kind" not in asked and kind not in w.KNOWN:
            kind = rng.choice([other for other in w.LAND if other != friend_kind])
        while "friend" not in asked and (friend == name or friend not in names.LISTED):
            friend = rng.choice(w.GIRLS if friend_sex else w.BOYS)
        hero = f"{adjective} {kind}" if "adjective" in asked or rng.random() < 0.7 else kind
        thing = rng.choice(w.THINGS)
        spot = rng.choice(w.SPOTS)
        slots = {
            "n": name, "k": kind, "hero": article(hero), "Hero": upper_first(article(hero)),
            "f": friend, "fk": friend_kind, "fa": article(friend_kind), "fa_cap": upper_first(article(friend_kind)),
            "place": place_phrase(rng, place, "place" in asked), "thing": thing,
            "a_thing": article(rng.choice(w.COLOURS) + " " + thing if rng.random() < 0.6 else thing),
            "food": rng.choice(w.FOODS), "plant": rng.choice(w.PLANTS), "skill": rng.choice(w.SKILLS),
            "fear": rng.choice(w.FEARS), "built": rng.choice(w.BUILT), "spot": spot,
            "spot_cap": upper_first(spot), "time": rng.choice(w.TIMES),
            **pronouns("", sex), **pronouns("f", friend_sex),
        }
        self.slots = slots
        self.female = sex
        self.request = request
        self.text = self._tell(rng, slots, swims)

    def _request(self, rng, name, kind, friend_kind, friend, place, adjective, about_user, more):
        if about_user:
            request = rng.choice(["Tell me a story about me.", "Can you tell me a story about me?",
                                  "Write a story about me.", "Please tell me a story with my name."])
            return request, {"name", "kind"}
        if more and rng.random() < 0.5:
            return rng.choice(ASK_MORE), set()
        if rng.random() < 0.06:
            return rng.choice(ASK_ANY), set()
        asked = {"kind"}
        roll = rng.random()
        called = rng.choice(["called", "called", "named", "with the name", "whose name is"])
        shown = kind
        if rng.random() < 0.2:
            asked.add("adjective")
            shown = f"{adjective} {kind}"
        if roll < 0.62:
            asked.add("name")
            subject = f"{article(shown)} {called} {name}"
        elif roll < 0.74:
            subject = article(shown)
        elif roll < 0.80:
            asked = {"kind", "name"}
            subject = f"{name} the {kind}"
        elif roll < 0.86:
            asked = {"name"}
            subject = name
        elif roll < 0.93:
            subject = f"{article(shown)} and {article(friend_kind)}"
        else:
            asked |= {"name", "friend"}
            subject = f"{article(shown)} called {name} and {article(friend_kind)} called {friend}"
        if rng.random() < 0.15:
            asked.add("place")
            where = place_phrase(rng, place, plain=True)
            subject += rng.choice([" who lives ", " ", ", who lives "]) + where
        if rng.random() < 0.04:  # People write "a owl", too.
            subject = subject.replace("an ", "a ")
        ask = ASK_MORE[0][:-1] + " about {s}." if more and rng.random() < 0.5 else rng.choice(ASK)
        return ask.format(s=subject), asked

    def _tell(self, rng, slots, swims):
        opening = rng.choice([
            "Once upon a time there was {hero} called {n}. {He} lived {place}.",
            "Once upon a time there was {hero} called {n}, who lived {place}.",
            "Once upon a time, {hero} called {n} lived {place}.",
            "Once there was {hero} called {n}. {He} lived {place}.",
            "Long ago, {hero} called {n} lived {place}.",
            "There once was {hero} called {n}, who lived {place}.",
        ])
        plots = PLOTS if swims else {**PLOTS, **LAND_PLOTS}
        self.plot = rng.choice(sorted(plots))
        sentences = [opening] + [rng.choice(step) for step in plots[self.plot]]
        if rng.random() < 0.85:
            sentences.append(rng.choice(ENDINGS))
        return " ".join(sentence for sentence in sentences if sentence).format(**slots)

    def follow_up(self, rng):
        """A question about the story and its answer."""
        s = self.slots
        kind_asked = [
            (f"What was the {s['k']} called?", f"The {s['k']} was called {s['n']}."),
            (f"What was the name of the {s['k']}?", f"The {s['k']} was called {s['n']}."),
            (f"What was the {s['k']}'s name?", f"The {s['k']} was called {s['n']}."),
            (f"What was the {s['fk']} called?", f"The {s['fk']} was called {s['f']}."),
            (f"Who was {s['n']}?", f"{upper_first(s['n'])} was {article(s['k'])}."),
            (f"What kind of animal was {s['f']}?", f"{s['f']} was {s['fa']}."),
            (f"Who was {s['f']}?", f"{s['f']} was {s['fa']}."),
            (f"Where did {s['n']} live?", f"{s['n']} lived {s['place']}."),
            (f"Where did the {s['k']} live?", f"The {s['k']} lived {s['place']}."),
            (f"Who was the friend of {s['n']}?", f"The friend of {s['n']} was {s['f']}, {s['fa']}."),
            (f"Who was {s['n']}'s friend?", f"The friend of {s['n']} was {s['f']}, {s['fa']}."),
            ("What was the story about?", f"The story was about {article(s['k'])} called {s['n']}."),
            ("Who was the story about?", f"The story was about {article(s['k'])} called {s['n']}."),
        ]
        return rng.choice(kind_asked)
