"""Names: listed ones, or invented ones, so that a name is copied and not recalled."""

from words import BOYS, CODAS, GIRLS, HELD_OUT, ONSETS, VOWELS

# Accented letters take two bytes and so exercise the byte-level part of the tokenizer.
ACCENTED = ["Zoë", "Léa", "René", "José", "Jürgen", "Åsa", "Chloé", "Søren", "Björn", "Inés"]
LISTED = sorted(set(GIRLS + BOYS))


def made_up(rng):
    while True:
        name = "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS)
                       for _ in range(rng.choice((1, 2, 2, 2, 3))))
        name = name.capitalize()
        if 2 < len(name) < 12 and name not in HELD_OUT:
            return name


def bent(rng):
    """A listed name with one letter changed, added or taken, or two names joined."""
    name = rng.choice(LISTED).lower()
    spot = rng.randrange(1, len(name))
    letter = rng.choice("abcdefghijklmnoprstuvwyz")
    name = rng.choice((name[:spot] + letter + name[spot:], name[:spot] + letter + name[spot + 1:],
                       name[:spot] + rng.choice(LISTED).lower()[-4:])).capitalize()
    return name if name not in HELD_OUT else bent(rng)


def pick(rng, female=None):
    """A name and whether it is female; if the name does not tell, both are right."""
    if female is None:
        female = rng.random() < 0.5
    roll = rng.random()
    if roll < 0.6:
        return rng.choice(GIRLS if female else BOYS), female
    if roll < 0.62:
        return rng.choice(ACCENTED), female
    return (bent(rng) if roll < 0.8 else made_up(rng)), female
