#!/usr/bin/env python3
"""Simulates replicas behind a router: the share of the prompts that comes from their caches, by the way of routing.

    simulate.py [--replicas N...] [--conversations N] [--turns N] [--seed N]

Conversations have a system message, common to all of a tenant, and grow by a question and an answer each turn. A replica
answers LANES requests at once; its cache holds prefixes in blocks of 64 tokens and forgets those used longest ago.
Rates are those of a 1.3B int4 model on two cores (docs/performance.md). Prints a line for each way of routing: the share
of prompt tokens that came from a cache (the best possible first), and the median and 95th percentile of the time to the
first token in seconds.
"""

import argparse
import bisect
import collections
import heapq
import random
import zlib

BLOCK, LANES, PROMPT_RATE, ANSWER_RATE, CACHE_TOKENS = 64, 16, 220.0, 12.0, 262144


class Replica:
    def __init__(self):
        self.load, self.free_at = 0, [0.0] * LANES
        self.reading_until = 0.0  # prompts share the cores: one after the other
        self.blocks = collections.OrderedDict()

    def cached(self, blocks):
        count = 0
        while count < len(blocks) and blocks[count] in self.blocks:
            count += 1
        return count

    def keep(self, blocks):
        for block in reversed(blocks):  # a prefix counts as used after its continuation
            self.blocks[block] = None
            self.blocks.move_to_end(block)
        while len(self.blocks) * BLOCK > CACHE_TOKENS:
            self.blocks.popitem(last=False)


class Ring:
    """HAProxy's consistent hash with bounded load."""

    def __init__(self, count, factor):
        self.points = sorted((zlib.crc32(f"{i}/{j}".encode()), i) for i in range(count) for j in range(160))
        self.factor = factor

    def choose(self, key, replicas):
        most = self.factor * (sum(replica.load for replica in replicas) + 1) / len(replicas)
        start = bisect.bisect(self.points, (zlib.crc32(key.encode()), 0))
        for i in range(len(self.points)):
            _, index = self.points[(start + i) % len(self.points)]
            if replicas[index].load < max(most, 1):
                return index
        return 0


def by_prefix(blocks, replicas, more):
    """The longest cached prefix, unless its replica has 1.5 times the load of the least loaded one, and `more`."""
    least = min(range(len(replicas)), key=lambda i: replicas[i].load)
    best = max(range(len(replicas)), key=lambda i: (replicas[i].cached(blocks), -replicas[i].load))
    busy = replicas[best].load > 1.5 * replicas[least].load + more
    return least if busy or replicas[best].cached(blocks) == 0 else best


def routers(count, generator):
    turns = iter(range(1 << 60))
    routes = {
        "random": lambda c, blocks, replicas: generator.randrange(count),
        "round robin": lambda c, blocks, replicas: next(turns) % count,
        "least loaded": lambda c, blocks, replicas: min(range(count), key=lambda i: replicas[i].load),
    }
    for factor in (1.5, 2.0, 4.0, float("inf")):
        ring = Ring(count, factor)
        if factor == 1.5:
            routes["first message, bound 1.5"] = lambda c, b, replicas, ring=ring: ring.choose(f"tenant {c['tenant']}", replicas)
        routes[f"conversation, bound {factor}"] = lambda c, b, replicas, ring=ring: ring.choose(c["name"], replicas)
    for more in (1, 8):
        routes[f"longest prefix, spills at {more}"] = lambda c, blocks, replicas, more=more: by_prefix(blocks, replicas, more)
    return routes


def conversations_of(options, generator):
    made = []
    for number in range(options.conversations):
        tenant = number % options.tenants
        made.append({"name": f"conversation {number}", "tenant": tenant,
                     "blocks": [f"system {tenant} {i}" for i in range(options.system // BLOCK)], "turn": 0})
    return made


def run(route, count, options):
    generator = random.Random(options.seed)
    replicas = [Replica() for _ in range(count)]
    events = [(generator.expovariate(1 / options.pause), i, c) for i, c in enumerate(conversations_of(options, generator))]
    heapq.heapify(events)
    ends, waits, read, total = [], [], 0, 0
    while events:
        now, order, conversation = heapq.heappop(events)
        while ends and ends[0][0] <= now:
            replicas[heapq.heappop(ends)[1]].load -= 1
        conversation["turn"] += 1
        turn = f"{conversation['name']} {conversation['turn']}"
        conversation["blocks"] += [f"{turn} asked {i}" for i in range(generator.randint(1, 4))]
        blocks = conversation["blocks"]
        index = route(conversation, blocks, replicas)
        replica = replicas[index]
        cached = replica.cached(blocks)
        read, total = read + cached, total + len(blocks)
        lane = min(range(LANES), key=lambda i: replica.free_at[i])
        start = max(now, replica.free_at[lane], replica.reading_until)
        replica.reading_until = first = start + (len(blocks) - cached) * BLOCK / PROMPT_RATE
        answer = [f"{turn} answered {i}" for i in range(generator.randint(1, 5))]
        end = first + len(answer) * BLOCK / ANSWER_RATE
        replica.free_at[lane] = end
        replica.load += 1
        heapq.heappush(ends, (end, index))
        waits.append(first - now)
        conversation["blocks"] = blocks + answer
        replica.keep(conversation["blocks"])
        if conversation["turn"] < options.turns:
            heapq.heappush(events, (end + generator.expovariate(1 / options.pause), order, conversation))
    waits.sort()
    return read / total, waits[len(waits) // 2], waits[len(waits) * 95 // 100]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, nargs="+", default=[2, 16])
    parser.add_argument("--conversations", type=int, default=50)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--tenants", type=int, default=5, help="with a system message each (5)")
    parser.add_argument("--system", type=int, default=1024, help="tokens of a system message (1024)")
    parser.add_argument("--pause", type=float, default=120, help="mean seconds between an answer and the next question (120)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for count in options.replicas:
        print(f"{count} replicas: cached, median, 95th percentile of seconds to the first token")
        for name, route in routers(count, random.Random(options.seed)).items():
            print("  {:30} {:6.1%} {:8.1f} {:8.1f}".format(name, *run(route, count, options)))


if __name__ == "__main__":
    main()
