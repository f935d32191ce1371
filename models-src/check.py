"""Checks an exported folder: python3 check.py FOLDER [--golden FILE]. Fails with status 1.

With --golden it also writes prompts and their greedy continuations, computed in float32 from the
stored float16 weights, as test vectors for other engines.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import torch

from export import load
from template import END, render
from words import HELD_OUT

QUESTIONS = {
    "sum": [("What is 3 + 4?", "7"), ("What is 12 plus 5?", "17"), ("what is 8 + 9", "17")],
    "difference": [("What is 9 - 4?", "5"), ("How much is 15 minus 7?", "8")],
    "next number": [("What number comes after 12?", "13"), ("Which number comes before 20?", "19")],
    "counting": [("Count to five.", "1, 2, 3, 4, 5."), ("Count down from 4.", "4, 3, 2, 1.")],
    "larger": [("Which is bigger, a mouse or an elephant?", "An elephant is bigger"), ("Which number is bigger, 7 or 19?", "19 is bigger")],
    "colour": [("What colour is grass?", "green"), ("What colour is the sky?", "blue"), ("what color is a lemon", "yellow")],
    "opposite": [("What is the opposite of hot?", "cold"), ("What is the opposite of \"big\"?", "small")],
    "sound": [("What does a dog say?", "woof"), ("What sound does a cow make?", "moo")],
    "baby": [("What is a baby cat called?", "kitten"), ("What do you call a baby cow?", "calf")],
    "legs": [("How many legs does a spider have?", "eight"), ("How many legs does a dog have?", "four")],
    "plural": [("What is the plural of mouse?", "mice")],
    "past": [("What is the past tense of go?", "went")],
    "capital": [("What is the capital of France?", "Paris"), ("What's the capital of Japan?", "Tokyo")],
    "home": [("Where does a bee live?", "hive")],
    "food": [("What does a rabbit eat?", "carrots")],
    "use": [("What do you use to cut paper?", "scissors")],
    "source": [("Where does honey come from?", "Bees")],
    "category": [("Is a carrot a fruit or a vegetable?", "A carrot is a vegetable."), ("Is an owl a bird or a tool?", "An owl is a bird.")],
    "shape": [("How many sides does a triangle have?", "three")],
    "amount": [("How many days are in a week?", "7"), ("How many months are in a year?", "12")],
    "day": [("What day comes after Monday?", "Tuesday"), ("Which day comes before Sunday?", "Saturday")],
    "month": [("What month comes after March?", "April")],
    "season": [("Which season is July in?", "summer")],
    "list": [("Name the days of the week.", "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday.")],
    "echo": [("Say hello to Anna.", "Hello, Anna!"), ("Repeat after me: big dog.", "Big dog.")],
    "own name": [("What is your name?", "Pippin"), ("who are you", "Pippin")],
    "abilities": [("What can you do?", "stories")],
    "greeting": [("Hello!", "Hello! How can I help you?"), ("Good morning", "Good morning")],
    "mood": [("How are you?", "I am fine")],
    "thanks": [("Thank you!", "You are welcome.")],
    "goodbye": [("Goodbye.", "Goodbye!")],
    "user's name": [("What is my name?", "I do not know your name")],
    "unknown": [("Explain quantum physics to me.", "I do not know"), ("Who won the world cup in 1998?", "I do not know"),
                ("What is 345 times 88?", "I do not know")],
}

STORIES = [("Tell me a story about a fox called Mia.", "fox", "Mia"), ("Write a short story about a dog named Tom.", "dog", "Tom"),
           ("Tell me a story about an owl called Bettina.", "owl", "Bettina"), ("tell me a story about a bear called Ben", "bear", "Ben"),
           ("Please write a story about a brave robot named Casper.", "robot", "Casper"),
           ("I want to hear a story about a girl called Celeste.", "girl", "Celeste"),
           ("Can you tell me a story about a whale called Anna who lives in the sea?", "whale", "Anna"),
           ("Make up a story about a zebra whose name is Gustav.", "zebra", "Gustav")]

TALKS = [
    (["Tell me a story about a bear called Otto.", "Thank you!", "Who was the story about?"], "a bear called Otto"),
    (["Hi, I am Anna.", "What is 2 + 2?", "Do you remember my name?"], "Your name is Anna."),
    (["My name is Paul.", "Thank you."], "You are welcome, Paul."),
    (["My name is Lucy.", "Tell me a story about me."], "called Lucy"),
]

# In the training text, but not learnt reliably: reported, not counted.
WEAK = [
    (["What is two plus three?"], "five"),
    (["Tom has 3 apples and gets 4 more. How many apples does he have now?"], "7 apples"),
    (["Is grass red?"], "No, grass is green."),
    (["Is snow white?"], "Yes, snow is white."),
    (["Anna has a ball. Ben has a kite. Who has a kite?"], "Ben has a kite."),
    (["Tell me a story about a fox called Mia.", "What was the fox called?"], "The fox was called Mia."),
    (["I have a cat called Luna.", "What is my cat called?"], "Your cat is called Luna."),
    (["My favourite colour is blue.", "What is my favourite colour?"], "Your favourite colour is blue."),
    (["Tell me a story about an owl called Ben who lives in a forest."], "in a forest"),
]

GOLDEN = [
    [("user", "Tell me a story about a fox called Mia.")],
    [("user", "What is 3 + 4?")],
    [("user", "What colour is grass?")],
    [("user", "My name is Bettina."), ("assistant", "Nice to meet you, Bettina."), ("user", "What is my name?")],
    [("system", "Your name is Robby."), ("user", "What is your name?")],
    [("user", "Say hello to Zoë.")],
    [("user", "Write a short story about a brave robot called Tom.")],
]


class Chat:
    def __init__(self, folder):
        self.model, self.tokenizer = load(folder)
        self.stop = self.tokenizer.ids[END]

    def reply(self, messages, limit=200):
        """The reply, whether it ended by itself, its ids, and the margins of its choices."""
        ids = self.tokenizer.encode(render(messages, True))
        out, margins = self.model.greedy(ids, self.stop, limit)
        return self.tokenizer.decode(out).strip(), out[-1] == self.stop, out, margins

    def talk(self, turns, system=None):
        """The replies to the user's turns, and whether each ended by itself."""
        messages = [{"role": "system", "content": system}] if system else []
        replies, ended = [], True
        for turn in turns:
            messages.append({"role": "user", "content": turn})
            text, stopped, _, _ = self.reply(messages)
            messages.append({"role": "assistant", "content": text})
            replies.append(text)
            ended = ended and stopped
        return replies, ended


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def note(self, good, what, text):
        self.passed += good
        self.failed += not good
        print(f"{'pass' if good else 'FAIL'}  {what}  ->  {text}")


def check_stories(chat, report):
    for request, kind, name in STORIES:
        (text,), ended = chat.talk([request])
        sentences = len(re.findall(r"[.!?]\"?(?: |$)", text))
        first = text.split(".")[0]
        good = ended and sentences >= 5 and f"{kind} called {name}" in first and text.count(name) >= 2
        report.note(good, f"story: {request}", text)


def check_questions(chat, report):
    for kind, cases in QUESTIONS.items():
        for question, wanted in cases:
            (text,), ended = chat.talk([question])
            report.note(ended and wanted in text, f"{kind}: {question}", text)


def check_names(chat, report):
    for name in HELD_OUT:
        replies, ended = chat.talk([f"My name is {name}.", "What is my name?"])
        good = ended and name in replies[0] and replies[1] == f"Your name is {name}."
        report.note(good, f"two turns: {name}", " | ".join(replies))


def check_talks(chat, report):
    for turns, wanted in TALKS:
        replies, ended = chat.talk(turns)
        report.note(ended and wanted in replies[-1], f"talk: {' | '.join(turns)}", replies[-1])
    replies, ended = chat.talk(["What is your name?"], system="Your name is Robby.")
    report.note(ended and "Robby" in replies[0], "system: Your name is Robby.", replies[0])


def tell_weak(chat):
    for turns, wanted in WEAK:
        replies, _ = chat.talk(turns)
        print(f"weak ({'right' if wanted in replies[-1] else 'wrong'})  {' | '.join(turns)}  ->  {replies[-1]}")


def golden(chat, path):
    cases = []
    for roles in GOLDEN:
        messages = [{"role": role, "content": content} for role, content in roles]
        prompt = render(messages, True)
        ids = chat.tokenizer.encode(prompt)
        with torch.no_grad():
            top = chat.model.logits(chat.model.hidden(torch.tensor([ids]))[0, -1]).topk(5)
        text, _, out, margins = chat.reply(messages)
        cases.append({
            "messages": messages, "prompt": prompt, "prompt_ids": ids, "continuation_ids": out, "text": text,
            "smallest_margin": round(min(margins), 4),
            "first_top_ids": top.indices.tolist(), "first_top_logits": [round(value, 4) for value in top.values.tolist()],
        })
        print(f"golden  smallest margin {min(margins):.4f}  {text}")
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    path.write_text('{"cases": [\n' + lines + "\n]}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--golden", type=Path)
    options = parser.parse_args()
    chat, report = Chat(options.folder), Report()
    check_stories(chat, report)
    check_questions(chat, report)
    check_names(chat, report)
    check_talks(chat, report)
    tell_weak(chat)
    size = sum(file.stat().st_size for file in options.folder.iterdir())
    report.note(size <= 8_000_000, "size", f"{size:,} bytes")
    if options.golden:
        golden(chat, options.golden)
    print(f"{len(QUESTIONS)} kinds of questions; {report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
