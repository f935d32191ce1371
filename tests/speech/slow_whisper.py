"""Whisper and its decoding with NumPy, in double precision and without caches: the oracle of pippin transcribe.

Features as transformers' WhisperFeatureExtractor computes them, the model as WhisperForConditionalGeneration, decoding
and times of words as OpenAI's whisper (decoding.py, transcribe.py, timing.py) describes them.
"""

import math
import zlib

import numpy as np

import whisper_folder as folder

RATE, HOP, FFT = 16000, 160, 400
FRAMES = 2 * folder.POSITIONS
gelu_erf = np.vectorize(math.erf)


def mel_filters():
    def mel(hertz):
        return hertz / (200 / 3) if hertz < 1000 else 15 + math.log(hertz / 1000) * 27 / math.log(6.4)

    def hertz(value):
        return value * 200 / 3 if value < 15 else 1000 * math.exp(math.log(6.4) / 27 * (value - 15))

    edges = [hertz(m) for m in np.linspace(0, mel(8000), folder.BINS + 2)]
    bins = np.linspace(0, RATE / 2, FFT // 2 + 1)
    filters = []
    for low, middle, high in zip(edges, edges[1:], edges[2:]):
        triangle = np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle))
        filters.append(np.maximum(0, triangle) * 2 / (high - low))
    return np.array(filters)


def log_mel(samples):
    """[bins, frames] before the scaling to the loudest value."""
    padded = np.pad(samples, FFT // 2, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FFT) / FFT)
    frames = np.stack([padded[i * HOP : i * HOP + FFT] * window for i in range(len(samples) // HOP)])
    power = np.abs(np.fft.rfft(frames)) ** 2
    return np.log10(np.maximum(mel_filters() @ power.T, 1e-10))


def scaled(values):
    return (np.maximum(values, values.max() - 8) + 4) / 4


class Features:
    """Windows of a recording."""

    def __init__(self, samples):
        samples = samples.astype(np.float64) / 32768
        self.frames = len(samples) // HOP
        self.is_short = self.frames <= FRAMES
        if self.is_short:
            samples = np.pad(samples, (0, FRAMES * HOP - len(samples)))
            self.whole = scaled(log_mel(samples))
        else:
            self.whole = scaled(log_mel(samples))

    def window(self, first, count):
        if self.is_short and first == 0:
            return self.whole
        part = self.whole[:, first : first + count]
        return np.pad(part, ((0, 0), (0, FRAMES - count)))


class Model:
    def __init__(self, weights):
        self.weights = {name: values.astype(np.float64) for name, values in weights.items()}
        self.attention = []  # weights of the decoder's attention to the sound, by layer: [heads, tokens, positions]

    def linear(self, x, name):
        y = x @ self.weights[name + ".weight"].T
        return y + self.weights[name + ".bias"] if name + ".bias" in self.weights else y

    def norm(self, x, name):
        centered = x - x.mean(-1, keepdims=True)
        return (centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * self.weights[name + ".weight"]
                + self.weights[name + ".bias"])

    def attend(self, x, source, name, causal=False):
        def split(rows):
            return rows.reshape(len(rows), folder.HEADS, -1).transpose(1, 0, 2)

        q, k, v = (split(self.linear(rows, f"{name}.{part}_proj"))
                   for rows, part in ((x, "q"), (source, "k"), (source, "v")))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        if causal:
            scores += np.triu(np.full(scores.shape[1:], -np.inf), 1)
        weights = softmax(scores)
        out = (weights @ v).transpose(1, 0, 2).reshape(len(x), -1)
        return self.linear(out, name + ".out_proj"), weights

    def convolve(self, x, name, stride):
        weight, padded = self.weights[name + ".weight"], np.pad(x, ((0, 0), (1, 1)))
        columns = [np.tensordot(weight, padded[:, i : i + 3], ([1, 2], [0, 1])) for i in range(0, x.shape[1], stride)]
        return gelu(np.stack(columns, axis=1) + self.weights[name + ".bias"][:, None])

    def feed_forward(self, x, name):
        hidden = gelu(self.linear(self.norm(x, name + ".final_layer_norm"), name + ".fc1"))
        return self.linear(hidden, name + ".fc2")

    def encode(self, features):
        x = self.convolve(self.convolve(features, "model.encoder.conv1", 1), "model.encoder.conv2", 2).T
        x = x + self.weights["model.encoder.embed_positions.weight"]
        for layer in range(folder.LAYERS):
            name = f"model.encoder.layers.{layer}"
            normed = self.norm(x, name + ".self_attn_layer_norm")
            x = x + self.attend(normed, normed, name + ".self_attn")[0]
            x = x + self.feed_forward(x, name)
        return self.norm(x, "model.encoder.layer_norm")

    def decode(self, ids, source):
        """The logits after each token."""
        embedding = self.weights["model.decoder.embed_tokens.weight"]
        x = embedding[ids] + self.weights["model.decoder.embed_positions.weight"][: len(ids)]
        self.attention = []
        for layer in range(folder.LAYERS):
            name = f"model.decoder.layers.{layer}"
            normed = self.norm(x, name + ".self_attn_layer_norm")
            x = x + self.attend(normed, normed, name + ".self_attn", causal=True)[0]
            crossed, weights = self.attend(self.norm(x, name + ".encoder_attn_layer_norm"), source,
                                           name + ".encoder_attn")
            self.attention.append(weights)
            x = x + crossed
            x = x + self.feed_forward(x, name)
        return self.norm(x, "model.decoder.layer_norm") @ embedding.T


def gelu(x):
    return x * 0.5 * (1 + gelu_erf(x / math.sqrt(2)))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def log_softmax(x):
    with np.errstate(divide="ignore"):
        return np.log(softmax(x))


def text_of(ids):
    return bytes(i for i in ids if i < 256).decode("utf-8", errors="replace")


class Decoder:
    """Decodes with the options of the command line, by their names in Python."""

    def __init__(self, weights, generation, **options):
        self.model, self.generation, self.options = Model(weights), generation, options
        special = folder.special_tokens()
        self.special, self.end, self.begin = special, special["<|endoftext|>"], special["<|0.00|>"]
        self.least_gap = math.inf  # of the two best scores of any choice

    def option(self, name, default):
        return self.options.get(name, default)

    def best(self, scores, count=1):
        order = np.argsort(-scores, kind="stable")
        gap = scores[order[count - 1]] - scores[order[count]]
        self.least_gap = min(self.least_gap, gap)
        return order[:count]

    def is_time(self, token):
        return token >= self.begin

    def apply_rules(self, logits, sampled):
        special, begin = self.special, self.begin
        if not sampled:
            logits[self.generation["begin_suppress_tokens"]] = -np.inf
        logits[self.generation["suppress_tokens"]] = -np.inf
        for name in ("startoftranscript", "translate", "transcribe", "startoflm", "startofprev", "nospeech"):
            logits[special[f"<|{name}|>"]] = -np.inf
        if self.option("without_timestamps", False):
            logits[begin:] = -np.inf
            return
        logits[special["<|notimestamps|>"]] = -np.inf
        if sampled and self.is_time(sampled[-1]):
            if len(sampled) < 2 or self.is_time(sampled[-2]):
                logits[begin:] = -np.inf
            else:
                logits[: self.end] = -np.inf
        times = [t for t in sampled if self.is_time(t)]
        if times:
            is_end = self.is_time(sampled[-1]) and not (len(sampled) < 2 or self.is_time(sampled[-2]))
            logits[begin : times[-1] + (0 if is_end else 1)] = -np.inf
        if not sampled:
            logits[:begin] = -np.inf
            logits[begin + 51 :] = -np.inf
        logprobs = log_softmax(logits)
        together = np.log(np.exp(logprobs[begin:]).sum() + 1e-300)
        if together > logprobs[:begin].max():
            logits[:begin] = -np.inf

    def next_logprobs(self, source, prompt, sampled):
        logits = self.model.decode(prompt + sampled, source)[-1]
        self.apply_rules(logits, sampled)
        return log_softmax(logits)

    def greedy(self, source, prompt, most):
        sampled, total = [], 0.0
        while len(sampled) < most:
            logprobs = self.next_logprobs(source, prompt, sampled)
            token = int(self.best(logprobs)[0])
            total += logprobs[token]
            if token == self.end:
                break
            sampled.append(token)
        return sampled, total

    def beams(self, source, prompt, most, size):
        live, finished = [([], 0.0)], []
        for _ in range(most):
            scores = {}
            for sampled, total in live:
                logprobs = self.next_logprobs(source, prompt, sampled)
                for token in np.argsort(-logprobs, kind="stable")[: size + 1]:
                    if np.isfinite(logprobs[token]):
                        scores[tuple(sampled) + (int(token),)] = total + logprobs[token]
            live = []
            for sequence in sorted(scores, key=scores.get, reverse=True):
                if sequence[-1] == self.end:
                    if len(finished) < size:
                        finished.append((list(sequence[:-1]), scores[sequence]))
                else:
                    live.append((list(sequence), scores[sequence]))
                    if len(live) == size:
                        break
            if len(finished) >= size:
                break
        finished += live[: max(0, size - len(finished))]
        ranks = np.array([total / len(sampled) for sampled, total in finished])
        if len(finished) > 1:
            self.best(ranks)
        return finished[int(ranks.argmax())]

    def decode_window(self, source, previous, start):
        prompt = list(start)
        if self.option("without_timestamps", False):
            prompt.append(self.special["<|notimestamps|>"])
        if previous:
            prompt = [self.special["<|startofprev|>"]] + previous[-(folder.CONTEXT // 2 - 1) :] + prompt
        most = min(folder.CONTEXT // 2, folder.CONTEXT - len(prompt) + 1)
        size = self.option("beam_size", 0)
        tokens, total = (self.beams(source, prompt, most, size) if size else self.greedy(source, prompt, most))
        place = prompt.index(self.special["<|startoftranscript|>"])
        no_speech = softmax(self.model.decode(prompt, source)[place])[self.special["<|nospeech|>"]]
        text = text_of(tokens).strip().encode()
        return {"tokens": tokens, "avg_logprob": total / (len(tokens) + 1), "no_speech_prob": no_speech,
                "compression_ratio": len(text) / len(zlib.compress(text))}

    def cut(self, tokens, frames):
        """The parts of a window's tokens with their frames, the next window's frame, and whether speech ended."""
        times = [self.is_time(t) for t in tokens]
        frame = [2 * (t - self.begin) for t in tokens]
        ended = times[-2:] == [False, True]
        ends = [i for i in range(1, len(tokens)) if times[i - 1] and times[i]]
        if ends:
            if ended:
                ends.append(len(tokens))
            parts = [(a, b, frame[a], frame[b - 1]) for a, b in zip([0] + ends, ends)]
            return parts, frames if ended else frame[ends[-1] - 1], ended
        last = next((f for f, is_time in zip(reversed(frame), reversed(times)) if is_time), 0)
        return [(0, len(tokens), 0, last or frames)], frames, ended

    def transcribe(self, samples):
        features, seek = Features(samples), 0
        special, language = self.special, self.option("language", None)
        segments, all_tokens, last_speech = [], [], 0.0
        while seek < features.frames:
            frames = min(FRAMES, features.frames - seek)
            source = self.model.encode(features.window(seek, frames))
            start = [special["<|startoftranscript|>"]]
            if self.generation["is_multilingual"]:
                if language is None:
                    codes = ["en", "de", "zh"]
                    logits = self.model.decode(start, source)[0][[special[f"<|{c}|>"] for c in codes]]
                    language = codes[self.best(logits)[0]]
                start += [special[f"<|{language}|>"], special[f"<|{self.option('task', 'transcribe')}|>"]]
            result = self.decode_window(source, all_tokens, start)
            parts, advance, ended = self.cut(result["tokens"], frames)
            window = [{**result, "seek": seek, "start": (seek + a) / 100, "end": (seek + b) / 100,
                       "tokens": result["tokens"][i:j], "text": text_of(result["tokens"][i:j])}
                      for i, j, a, b in parts]
            next_seek = seek + advance
            if self.option("word_timestamps", False):
                end = self.add_words(window, source, start, language, seek / 100, frames, last_speech)
                threshold = self.option("hallucination_silence_threshold", None)
                if not ended and end > seek / 100:
                    next_seek = round(end * 100)
                    if threshold is not None and (seek + FRAMES) / 100 - end <= threshold:
                        next_seek = seek + frames
                if threshold is not None:
                    next_seek = remove_hallucinations(window, seek, frames, features.frames, threshold, last_speech,
                                                      next_seek)
                if window:
                    last_speech = end_of(window)
            for segment in window:
                if segment["start"] == segment["end"] or not segment["text"].strip():
                    segment.update(text="", tokens=[], words=[])
                all_tokens += segment["tokens"]
            segments += window
            seek = next_seek if next_seek > seek else seek + frames
        return segments, language or "en"

    def add_words(self, segments, source, start, language, offset, frames, last_speech):
        text = [t for segment in segments for t in segment["tokens"] if t < self.end]
        for segment in segments:
            segment["words"] = []
        if not text:
            return end_of(segments)
        logits = self.model.decode(start + [self.special["<|notimestamps|>"]] + text + [self.end], source)
        weights = np.stack([self.model.attention[layer][head] for layer, head in self.generation["alignment_heads"]])
        weights = weights[:, :, : frames // 2]
        weights = weights / weights.sum(-1, keepdims=True)
        deviation = weights.std(1, keepdims=True)
        weights = (weights - weights.mean(1, keepdims=True)) / np.where(deviation > 0, deviation, 1)
        if frames // 2 > 3:
            padded = np.pad(weights, ((0, 0), (0, 0), (3, 3)), mode="reflect")
            weights = np.median(np.stack([padded[:, :, i : i + frames // 2] for i in range(7)]), axis=0)
        begins = warp(-weights.mean(0)[len(start) : -1])
        probabilities = softmax(logits[len(start) :, : self.end])
        words, row = [], 0
        for tokens in split_words(text, language):
            probability = np.mean([probabilities[row + i, t] for i, t in enumerate(tokens)])
            words.append({"word": text_of(tokens), "tokens": tokens, "start": begins[row] / 50,
                          "end": begins[row + len(tokens)] / 50, "probability": probability})
            row += len(tokens)
        durations = [w["end"] - w["start"] for w in words if w["end"] != w["start"]]
        median = min(0.7, float(np.median(durations))) if durations else 0.0
        if durations:
            for before, word in zip(words, words[1:]):
                if word["end"] - word["start"] > 2 * median:
                    if word["word"] in ".。!！?？":
                        word["end"] = word["start"] + 2 * median
                    elif before["word"] in ".。!！?？":
                        word["start"] = word["end"] - 2 * median
        merge_punctuation(words)
        return fit_segments(segments, words, self.end, offset, median, last_speech)


def warp(costs):
    """The column at which each row begins on the cheapest monotonic path."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    step = np.full((rows + 1, columns + 1), 2)
    total[0, 0] = 0
    for j in range(1, columns + 1):
        for i in range(1, rows + 1):
            diagonal, down, right = total[i - 1, j - 1], total[i - 1, j], total[i, j - 1]
            if diagonal < down and diagonal < right:
                best, step[i, j] = diagonal, 0
            elif down < diagonal and down < right:
                best, step[i, j] = down, 1
            else:
                best, step[i, j] = right, 2
            total[i, j] = costs[i - 1, j - 1] + best
    begins, i, j = [0] * rows, rows, columns
    while i > 0:
        begins[i - 1] = j - 1
        taken = step[i, j]
        i -= taken != 2
        j -= taken != 1
    return begins


def split_words(tokens, language):
    if language == "zh":
        return [[token] for token in tokens]
    words = []
    for token in tokens:
        character = text_of([token])
        if not words or character.startswith(" ") or character.strip() in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
            words.append([])
        words[-1].append(token)
    return words


def merge_punctuation(words):
    following = len(words) - 1
    for i in range(len(words) - 2, -1, -1):
        if words[i]["word"].startswith(" ") and words[i]["word"].strip() in "\"'“¿([{-":
            words[following]["word"] = words[i]["word"] + words[following]["word"]
            words[following]["tokens"] = words[i]["tokens"] + words[following]["tokens"]
            words[i].update(word="", tokens=[])
        else:
            following = i
    previous = 0
    for i in range(1, len(words)):
        if not words[previous]["word"].endswith(" ") and words[i]["word"] in "\"'.。,，!！?？:：”)]}、":
            words[previous]["word"] += words[i]["word"]
            words[previous]["tokens"] = words[previous]["tokens"] + words[i]["tokens"]
            words[i].update(word="", tokens=[])
        else:
            previous = i


def fit_segments(segments, words, end, offset, median, last_speech):
    longest, index = 2 * median, 0
    for segment in segments:
        count, used, found = sum(t < end for t in segment["tokens"]), 0, segment["words"]
        while index < len(words) and used < count:
            word = words[index]
            if word["word"]:
                found.append({"word": word["word"], "start": round(offset + word["start"], 2),
                              "end": round(offset + word["end"], 2), "probability": word["probability"]})
            used += len(word["tokens"])
            index += 1
        if not found:
            continue
        first, last = found[0], found[-1]
        is_long = first["end"] - first["start"] > longest or (
            len(found) > 1 and found[1]["end"] - first["start"] > 2 * longest)
        if first["end"] - last_speech > 4 * median and is_long:
            if len(found) > 1 and found[1]["end"] - found[1]["start"] > longest:
                first["end"] = found[1]["start"] = max(found[1]["end"] / 2, found[1]["end"] - longest)
            first["start"] = max(0, first["end"] - longest)
        if segment["start"] < first["end"] and segment["start"] - 0.5 > first["start"]:
            first["start"] = max(0, min(first["end"] - median, segment["start"]))
        else:
            segment["start"] = first["start"]
        if segment["end"] > last["start"] and segment["end"] + 0.5 < last["end"]:
            last["end"] = max(last["start"] + median, segment["end"])
        else:
            segment["end"] = last["end"]
        last_speech = segment["end"]
    return end_of(segments)


def end_of(segments):
    return next((s["words"][-1]["end"] for s in reversed(segments) if s["words"]), segments[-1]["end"])


def remove_hallucinations(segments, seek, frames, all_frames, threshold, last_speech, next_seek):
    """Removes invented segments; the next window's frame."""
    start, end = seek / 100, (seek + FRAMES) / 100

    def is_invented(segment):
        if segment is None:
            return False
        words = [w for w in segment["words"] if w["word"] not in "\"'“¿([{-\"'.。,，!！?？:：”)]}、"][:8]
        score = 0.0
        for word in words:
            duration = word["end"] - word["start"]
            score += word["probability"] < 0.15
            score += max(0, 0.133 - duration) * 15 + max(0, duration - 2)
        return score >= 3 or score + 0.01 >= len(words)

    def next_spoken(i):
        return next((s for s in segments[i:] if s["words"]), None)

    first = next_spoken(0)
    if is_invented(first) and first["start"] - start > threshold:
        segments.clear()
        return seek + round((first["start"] - start) * 100)
    for i, segment in enumerate(segments):
        if not segment["words"]:
            continue
        if is_invented(segment):
            following = next_spoken(i + 1)
            begins = following["words"][0]["start"] if following else (seek + frames) / 100
            before = (segment["start"] - last_speech > threshold or segment["start"] < threshold
                      or segment["start"] - start < 2)
            after = begins - segment["end"] > threshold or is_invented(following) or end - segment["end"] < 2
            if before and after:
                next_seek = round(max(start + 1, segment["start"]) * 100)
                if all_frames / 100 - segment["end"] < threshold:
                    next_seek = all_frames
                del segments[i:]
                break
        last_speech = segment["end"]
    return next_seek
