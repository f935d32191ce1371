"""Conversations: one to six turns that remember what the user said, with the spelling habits of users."""

import re

import names
import questions as q
from stories import Story, article, upper_first

PLAIN_SYSTEMS = ["You are a helpful assistant.", "You are Pippin, a small friendly model.", "You are a friendly assistant.",
                 "You are a storyteller.", "Answer briefly.", "Be kind.", "You are a helpful AI assistant.",
                 "You talk with children.", "Answer the questions of the user."]
TOWNS = sorted(q.CAPITALS.values()) + ["Hamburg", "Boston", "Sydney", "Zurich", "Milan", "Kyoto", "Leeds", "York"]
PETS = "dog cat hamster rabbit horse parrot mouse pony goldfish turtle".split()
LIKED = sorted(q.COLOURS)


class Talk:
    def __init__(self, rng):
        self.rng = rng
        self.messages = []
        self.model_name = "Pippin"
        self.name = self.female = self.story = self.pet = self.colour = self.age = self.town = None

    def turn(self, user, reply):
        self.messages.append({"role": "user", "content": typed(self.rng, user)})
        self.messages.append({"role": "assistant", "content": reply})

    # Statements of the user.

    def introduce(self):
        rng = self.rng
        self.name, self.female = names.pick(rng)
        if rng.random() < 0.3:
            self.name = names.bent(rng) if rng.random() < 0.5 else names.made_up(rng)
        hello = rng.choice(["Hello", "Hi", "Good morning", "Good evening", "Hey"]) if rng.random() < 0.4 else None
        tell = rng.choice(["My name is {}", "My name is {}", "I am {}", "I'm {}", "Call me {}", "My name's {}",
                           "I am called {}", "You can call me {}", "People call me {}", "The name is {}"]).format(self.name)
        asks = rng.random() < 0.15
        if hello:
            tell = f"{hello}{rng.choice([', ', '! '])}{tell}"
            tell = tell.replace(", My", ", my").replace(", Call", ", call").replace(", You", ", you") \
                       .replace(", People", ", people").replace(", The", ", the")
        reply = f"Nice to meet you, {self.name}."
        if hello:
            back = "Hello" if hello in ("Hi", "Hey") else hello
            reply = f"{back}, {self.name}! Nice to meet you."
        tell += rng.choice([".", ".", ".", "!", ""])
        if asks:
            if tell[-1] not in ".!":
                tell += "."
            tell += " What is your name?"
            reply += f" I am {self.model_name}."
        self.turn(tell, reply)

    def introduce_late(self):
        """The model does not know the name, asks for it and gets it."""
        self.turn(self.rng.choice(ASK_NAME), "I do not know your name yet. What is your name?")
        self.name, self.female = names.pick(self.rng)
        answer = self.rng.choice(["It is {}.", "My name is {}.", "I am {}.", "I'm {}.", "{}."]).format(self.name)
        self.turn(answer, f"Nice to meet you, {self.name}.")

    def ask_name(self):
        if self.name is None:
            if self.rng.random() < 0.5:
                self.introduce_late()
            else:
                self.turn(self.rng.choice(ASK_NAME), "I do not know your name yet. What is your name?")
        else:
            self.turn(self.rng.choice(ASK_NAME), f"Your name is {self.name}.")

    def fact(self):
        """Something about the user to tell, or to ask for once it is known."""
        rng = self.rng
        which = rng.choice(["pet", "colour", "age", "town"])
        if which == "pet":
            if self.pet is None:
                kind, (name, _) = rng.choice(PETS), names.pick(rng)
                self.pet = kind, name
                tell = rng.choice(["I have {} called {}.", "I have {} named {}.", "I've got {} called {}."])
                self.turn(tell.format(article(kind), name), f"{upper_first(name)} is a nice name for {article(kind)}!")
            else:
                kind, name = self.pet
                ask = rng.choice(["What is my {} called?", "What is the name of my {}?", "What's my {}'s name?"])
                self.turn(ask.format(kind), f"Your {kind} is called {name}.")
        elif which == "colour":
            if self.colour is None:
                self.colour = rng.choice(LIKED)
                tell = rng.choice(["My favourite colour is {}.", "I like the colour {}.", "I love {}."])
                self.turn(tell.format(self.colour), f"{upper_first(self.colour)} is a lovely colour.")
            else:
                ask = rng.choice(["What is my favourite colour?", "Which colour do I like?"])
                self.turn(ask, f"Your favourite colour is {self.colour}.")
        elif which == "age":
            if self.age is None:
                self.age = rng.randrange(4, 90)
                tell = rng.choice(["I am {} years old.", "I'm {} years old.", "My age is {}."])
                self.turn(tell.format(self.age), f"{self.age} is a good age.")
            else:
                self.turn(rng.choice(["How old am I?", "What is my age?"]), f"You are {self.age} years old.")
        elif self.town is None:
            self.town = rng.choice(TOWNS) if rng.random() < 0.6 else names.made_up(rng)
            tell = rng.choice(["I live in {}.", "I am from {}.", "I come from {}.", "My home is in {}."])
            self.turn(tell.format(self.town), f"{self.town} must be a nice place.")
        else:
            self.turn(rng.choice(["Where do I live?", "Where is my home?"]), f"You live in {self.town}.")

    # Requests of the user.

    def tell_story(self):
        if self.name is not None and self.rng.random() < 0.2:
            self.story = Story(self.rng, self.name, self.female)
        else:
            self.story = Story(self.rng, more=self.story is not None)
        self.turn(self.story.request, self.story.text)

    def ask_story(self):
        if self.story is None:
            self.turn(Story(self.rng).follow_up(self.rng)[0], "I have not told you a story about that.")
        else:
            self.turn(*self.story.follow_up(self.rng))

    def thanks(self):
        ask = self.rng.choice(["Thank you.", "Thanks!", "Thank you very much.", "Thanks a lot.", "Thank you!", "Thanks, Pippin."])
        self.turn(ask, f"You are welcome, {self.name}." if self.name else "You are welcome.")

    def goodbye(self):
        ask = self.rng.choice(["Goodbye.", "Bye!", "See you later.", "Bye bye.", "Goodbye!", "I have to go now.", "See you!"])
        self.turn(ask, f"Goodbye, {self.name}!" if self.name else "Goodbye!")

    def question(self):
        function = self.rng.choices(q.FUNCTIONS, q.WEIGHTS)[0]
        user, reply = function(self.rng)
        if self.model_name != "Pippin":
            reply = reply.replace("I am Pippin", f"I am {self.model_name}")
        if self.name and function is q.greeting:
            reply = reply.replace("!", f", {self.name}!", 1)
        self.turn(user, reply)

    def ask_model_name(self):
        ask = self.rng.choice(["What is your name?", "What's your name?", "Who are you?", "What are you called?"])
        self.turn(ask, f"I am {self.model_name}, a very small language model.")

    def any_act(self):
        acts = [(self.question, 50), (self.tell_story, 14), (self.fact, 8), (self.thanks, 4), (self.goodbye, 3), (self.ask_name, 6)]
        acts.append((self.ask_story, 20 if self.story else 1))
        if self.pet or self.colour or self.age or self.town:
            acts.append((self.fact, 12))
        if self.name is None:
            acts.append((self.introduce, 6))
        self.rng.choices([act for act, _ in acts], [weight for _, weight in acts])[0]()

    def system(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.5:
            text = rng.choice(PLAIN_SYSTEMS)
        elif roll < 0.8:
            self.model_name, _ = names.pick(rng)
            text = rng.choice(["Your name is {}.", "You are called {}.", "You are {}.", "You are {}, a friendly robot."])
            text = text.format(self.model_name)
        else:
            self.name, self.female = names.pick(rng)
            text = rng.choice(["The name of the user is {}.", "You are talking to {}.", "The user is called {}."]).format(self.name)
        self.messages.append({"role": "system", "content": text})


ASK_NAME = ["What is my name?", "What is my name?", "What's my name?", "Do you remember my name?", "Who am I?", "Do you know my name?",
            "Tell me my name.", "What am I called?", "Can you tell me my name?", "Say my name.", "And what is my name?"]


def typed(rng, text):
    """The text as a hurried user may type it."""
    if rng.random() < 0.15:
        text = text.rstrip(".?!")
    if rng.random() < 0.02:
        text = "Pippin, " + text[0].lower() + text[1:] if text[:2] != "I " else text
    if rng.random() < 0.03 and text.endswith("?"):
        text = text[:-1] + rng.choice([" please?", ", please?", "??", " ?"])
    roll = rng.random()
    if roll < 0.1:
        if text.split()[0] not in names.LISTED:
            text = text[0].lower() + text[1:]
    elif roll < 0.17:
        # In lower-case text a name is recognized only if it is a listed one.
        proper = re.findall(r"(?<=[a-z,:] )[A-Z]\w+", text)
        if all(word in KNOWN_WORDS for word in proper) and text.isascii():
            text = text.lower()
    return text


KNOWN_WORDS = frozenset(names.LISTED + q.DAYS + q.MONTHS + sorted(q.CAPITALS) + TOWNS + ["Pippin", "I"])


def conversation(rng):
    """A list of messages in the form that chat templates take."""
    talk = Talk(rng)
    has_system = rng.random() < 0.1
    if has_system:
        talk.system()
        if talk.model_name != "Pippin" and rng.random() < 0.7:
            talk.ask_model_name()
        elif talk.name is not None and rng.random() < 0.7:
            talk.ask_name()
    roll = rng.random()
    if roll < 0.42:
        talk.tell_story()
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            talk.ask_story()
    elif roll < 0.67:
        if rng.random() < 0.2:
            talk.any_act()
        if talk.name is None:
            talk.introduce()
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            talk.any_act()
        talk.ask_name()
    else:
        for _ in range(rng.choice((1, 1, 1, 2, 3, 4, 5))):
            talk.any_act()
    while rng.random() < 0.15:
        talk.any_act()
    if rng.random() < 0.04:  # Long ones, so that late positions are trained too.
        for _ in range(rng.randrange(4, 14)):
            talk.any_act()
    return talk.messages


def drill(rng, weights=None):
    """One to three questions; kinds with many facts come more often than in conversations."""
    talk = Talk(rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        function = rng.choices(q.FUNCTIONS, weights or DRILL_WEIGHTS)[0]
        talk.turn(*function(rng))
    return talk.messages


def hard_drill(rng):
    """More exercises for the skills that are still weak after the first drills: order, lookup and copying."""
    return drill(rng, HARD_WEIGHTS)


def drill_weights(**changed):
    return [changed.get(function.__name__, weight) for function, weight in q.ALL]


DRILL_WEIGHTS = drill_weights(addition=22, subtraction=17, opposite=9, plural=5, past=5, capital=5, sound=4, baby=4, use=4,
                              category=6, say=6, name_list=6, unknown=4, greeting=2, feelings=2, about_me=4)
HARD_WEIGHTS = drill_weights(addition=12, subtraction=15, apples=8, next_number=10, count=8, larger=10, category=8, calendar=10,
                             name_list=13, say=10, capital=5, unknown=6, season_of=3, greeting=2, about_me=3)
