// The docstrings of the classes, with examples that the tests run (tests/test_docstrings.py).
#pragma once

namespace pippin::python::docs {

inline constexpr const char* kTextEncoder =
    R"(An embedding model or a cross-encoder.

encoder = pippin.TextEncoder("BAAI/bge-small-en-v1.5")
vectors = encoder.embed(["A red fox.", "A brown dog."])      # float32 (2, 384)
scores = encoder.score("what is red?", ["A red fox.", "A brown dog."])

It may be used by several threads. Raises NotFoundError, InvalidFileError, NetworkError, or UnsupportedError for models of other kinds:

>>> pippin.TextEncoder("demo.mlpackage")
Traceback (most recent call last):
    ...
pippin...UnsupportedError: demo.mlpackage: this package neither embeds nor scores texts; ...)";

inline constexpr const char* kImageEncoder =
    R"(A model that embeds or classifies images.

encoder = pippin.ImageEncoder("openai/clip-vit-base-patch32")
vectors = encoder.embed(["cat.jpg", "dog.jpg"])      # float32 (2, 512)
labels = pippin.ImageEncoder("google/vit-base-patch16-224").classify("cat.jpg")

Vectors have length 1 if a TextEncoder of the same folder gives texts vectors in the same space. It may be used by several threads, which take turns. Raises NotFoundError, InvalidFileError, NetworkError, or UnsupportedError for models of other kinds:

>>> pippin.ImageEncoder("demo.mlpackage")
Traceback (most recent call last):
    ...
pippin...UnsupportedError: demo.mlpackage: a package embeds no images; ...)";

inline constexpr const char* kTranscriber =
    R"(A Whisper model that writes the texts of recordings.

transcriber = pippin.Transcriber("openai/whisper-base")
result = transcriber.transcribe("talk.flac", language="en", word_timestamps=True)
print(result["text"])
for segment in transcriber.stream("talk.flac"):
    print(segment["start"], segment["end"], segment["text"])

It may be used by several threads, which take turns. Raises NotFoundError, InvalidFileError, NetworkError, or UnsupportedError for models of other kinds:

>>> pippin.Transcriber("demo.mlpackage")
Traceback (most recent call last):
    ...
pippin...UnsupportedError: demo.mlpackage: ...)";

inline constexpr const char* kTranscribe =
    R"(Returns a recording's text as a dict with the keys of OpenAI's whisper: text, segments, language and, with word_timestamps, words; also duration.

audio: a path; the bytes of a file; or samples of one channel, an array or buffer of floats from -1 to 1 or of int16 at sampling_rate. progress: called with the seconds that are done and all.

Options have the names of OpenAI's whisper: language (a code or an English name; None: detected), task ("transcribe", or "translate" into English), temperature (a number, or several to try in order), word_timestamps, initial_prompt, carry_initial_prompt, condition_on_previous_text, beam_size, best_of, patience, length_penalty, suppress_tokens, suppress_blank, without_timestamps, max_initial_timestamp, clip_timestamps, compression_ratio_threshold, logprob_threshold and no_speech_threshold (None: no threshold), hallucination_silence_threshold, prepend_punctuations, append_punctuations; or of faster-whisper: hotwords, batch_size, max_new_tokens, log_prob_threshold, vad_filter (silence is left out; needs Transcriber(vad=...)) with vad_parameters (a dict of threshold, min_speech_duration_ms, max_speech_duration_s, min_silence_duration_ms and speech_pad_ms). seed: of the samples. fp16 has no effect.

Raises InvalidArgumentError for unknown options, wrong values and samples that are not finite, NotFoundError, InvalidFileError for a file that is not sound or is damaged, and UnsupportedError for the times of words if the model does not find them.)";

inline constexpr const char* kSegmentStream =
    R"(The segments of a recording, each as soon as it is recognized: an iterator of dicts, from Transcriber.stream().

stream = transcriber.stream("talk.flac")
for segment in stream:
    print(segment["text"])
print(stream.result["language"])

The transcription ends early with close(), when the object is gone, and with Ctrl-C.

>>> pippin._pippin.SegmentStream()
Traceback (most recent call last):
    ...
TypeError: pippin._pippin.SegmentStream: No constructor defined!)";

inline constexpr const char* kState =
    R"(The state of a model between predictions: a mapping of names to arrays, initially zero.

>>> state = pippin.Model("demo.mlpackage").make_state()
>>> sorted(state)
['keyCache', 'valueCache']
>>> state["keyCache"].any()
False
>>> state["keyCache"] = np.ones_like(state["keyCache"])
>>> state.reset()

A view is the state's own memory:

>>> state.view("keyCache")[:] = 2
>>> state["keyCache"].min()
2.0

Models whose states have the same names, shapes and types may share one. While a prediction uses it, calls of other threads fail.)";

inline constexpr const char* kModel = R"(A Core ML model: an .mlpackage, .mlmodelc or .mlmodel.

Raises NotFoundError, InvalidFileError, InputOutputError, or UnsupportedError for a model of another kind.

>>> model = pippin.Model("demo.mlpackage")
>>> model.inputs()["inputIds"]
'int32 [1, 1..512]'
>>> given = {"inputIds": [[401, 433]], "causalMask": np.zeros((1, 1, 2, 2), np.float16)}
>>> model.predict(given)["logits"].shape
(1, 2, 2048)

With a state, the model continues after the tokens that it has seen:

>>> state = model.make_state()
>>> logits = model.predict(given, state)["logits"]
>>> next_one = {"inputIds": [[int(logits[0, -1].argmax())]], "causalMask": np.zeros((1, 1, 1, 3), np.float16)}
>>> model.predict(next_one, state)["logits"].dtype
dtype('float16'))";

inline constexpr const char* kSequence =
    R"(Tokens that a model has read, with its cache for them.

>>> model = pippin.LanguageModel("demo")
>>> sequence = model.new_sequence()
>>> generation = model.generate(sequence, model.encode("Once upon a time"), {"max_tokens": 8, "temperature": 0})
>>> len(list(generation)) >= 8
True
>>> other = sequence.fork()
>>> other.truncate(3)
>>> other.position, other.tokens == sequence.tokens[:3]
(3, True))";

inline constexpr const char* kGeneration =
    R"(A text while it is generated: iterates over (token, text). The last token may be -1, with text that was held back.

>>> model = pippin.LanguageModel("demo")
>>> generation = model.generate(model.new_sequence(), model.encode("Once upon a time"), {"max_tokens": 8})
>>> text = "".join(piece for token, piece in generation)
>>> text == generation.text, generation.reason
(True, 'token limit'))";

inline constexpr const char* kTokenizer =
    R"(Converts texts to token ids and back: from a package, a folder, a tokenizer.json or another file, or org/name on the Hub.

Raises NotFoundError if there is none, InvalidFileError, NetworkError, or UnsupportedError for an unknown kind of stage.

>>> tokenizer = pippin.Tokenizer("demo.mlpackage")
>>> ids = tokenizer.encode("Once upon a time")
>>> tokenizer.decode(ids)
'Once upon a time'
>>> tokenizer.token_to_id(tokenizer.id_to_token(ids[0])) == ids[0]
True)";

inline constexpr const char* kTextStream =
    R"(Decodes ids as they arrive: the pieces, followed by finish(), equal decode() of all ids.

>>> tokenizer = pippin.Tokenizer("demo.mlpackage")
>>> stream = tokenizer.stream()
>>> [stream.push(id) for id in tokenizer.encode("Once upon a time")], stream.finish()
(['Once', ' upon', ' a', ' time'], ''))";

inline constexpr const char* kChatTemplate =
    R"(Renders a conversation as the text that a model was trained on: from a package, a folder, a file or org/name on the Hub.

Raises NotFoundError if there is none, InvalidFileError, NetworkError, or UnsupportedError for features that Pippin lacks.

>>> template = pippin.ChatTemplate.from_source("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
>>> template.render([{"role": "user", "content": "Hello"}])
'<user>Hello')";

inline constexpr const char* kSampler =
    R"(Chooses tokens by their log probabilities; called with [rows, vocabulary], it returns a token for each row.

>>> from pippin import lm
>>> lm.make_sampler()(np.log([[0.2, 0.5, 0.3]]))
array([1], dtype=int32))";

inline constexpr const char* kLogitsProcessor =
    R"(Changes logits before a token is chosen; it can also be called with the tokens so far and their logits.

>>> from pippin import lm
>>> [penalty] = lm.make_logits_processors(presence_penalty=1.0)
>>> penalty([2, 0], np.zeros((1, 4)))
array([[-1.,  0., -1.,  0.]], dtype=float32))";

inline constexpr const char* kLogits =
    R"(The scores of all tokens in one step of a text.

>>> model = pippin.LanguageModel("demo")
>>> generation = model.generate(model.new_sequence(), model.encode("Once"), {"max_tokens": 2, "logprobs": True})
>>> token, text = next(generation)
>>> int(generation.logits.logprobs().argmax()) == token
True)";

inline constexpr const char* kLanguageModel =
    R"(A language model: a package, a folder, org/name on the Hub, or "demo".

context: the most tokens of a sequence, 0 for the model's; num_threads: 0 for one per core; precision: "fast", "exact" or "reference"; cache_type: how keys and values are stored, "f16", "q8" (about half the memory) or "q4" (a quarter); progress(repository, done, total) is called with bytes during a download. Raises NotFoundError, InvalidFileError, NetworkError, or UnsupportedError for a model that is not a language model.

>>> model = pippin.LanguageModel("demo")
>>> model.has_chat_template
True
>>> model.decode(model.encode("Once upon a time"))
'Once upon a time'
>>> prompt = model.encode_chat([{"role": "user", "content": "Tell me a story."}])
>>> for token, text in model.generate(model.new_sequence(), prompt, {"max_tokens": 4, "temperature": 0}):
...     print(token, repr(text))
401 'Once'
433 ' upon'
259 ' a'
413 ' time')";

inline constexpr const char* kVisionPrompt =
    R"(A prompt with images, from LanguageModel.prompt(): the tokens, and the rows that the model computes of the images.

>>> model = pippin.LanguageModel("demo")
>>> prompt = model.prompt("Once upon a time")
>>> len(prompt), prompt.tokens == model.encode("Once upon a time"), len(prompt.after(2))
(4, True, 2))";

inline constexpr const char* kPrompt =
    R"(Returns a VisionPrompt: of messages, up to where the answer begins, or of a text that has a chat template's placeholder for each image ("<image>").

A message's content is a text or a list of parts as in transformers and OpenAI's interface: {"type": "text", "text": ...}, {"type": "image", "image": ...} (or "path", "url", "base64"), {"type": "image_url", "image_url": {"url": ...}}. An image is a path, a URL, the bytes of a file, a PIL image, or an array [height, width, 3] or [height, width] of uint8. Parts {"type": "image"} and placeholders take the next of `images`, an image or a list of images.

add_special_tokens: those that begin and end a text. chat_template: another one than the model's. Keywords are the template's variables, as of ChatTemplate.render(). Raises InvalidArgumentError for values that are not images or another number of images, UnsupportedError if the model takes text only or the image's format is not supported, InvalidFileError, NotFoundError, NetworkError, LimitExceededError for more rows than the context holds.

>>> model = pippin.LanguageModel("demo")
>>> model.takes_images
False
>>> model.prompt([{"role": "user", "content": [{"type": "image", "image": b"GIF89a"}]}])
Traceback (most recent call last):
    ...
pippin...UnsupportedError: messages[0].content[0]: the model takes text only)";

inline constexpr const char* kPackage =
    R"(A package as a folder of files; created if it does not exist.

>>> package = pippin._pippin.ModelPackage("demo.mlpackage")
>>> package.getRootModel().name()
'model.mlmodel')";

inline constexpr const char* kPackageItem =
    R"(A file or folder of a package, as it was when it was looked up.

>>> package = pippin._pippin.ModelPackage("demo.mlpackage")
>>> weights = package.findItemByNameAuthor("weights", "com.apple.CoreML")
>>> weights.path()
'demo.mlpackage/Data/com.apple.CoreML/weights')";

inline constexpr const char* kCompile =
    R"(Writes a package or bare model as a compiled model, output, which must end in .mlmodelc.

Weight files are shared, not copied, where the disk allows. Raises NotFoundError, InvalidFileError, InputOutputError, and InvalidArgumentError for another suffix.

>>> pippin.compile("demo.mlpackage", "demo.mlmodelc")
'demo.mlmodelc'
>>> pippin.Model("demo.mlmodelc").functions
['main'])";

inline constexpr const char* kStructure =
    R"(The structure of a model: its kind; a program's functions, blocks and operations; a pipeline's stages.

>>> from pippin._pippin import structure
>>> made_of = structure("demo.mlpackage")
>>> made_of["kind"]
'program'
>>> [operation["operator_name"] for operation in made_of["functions"]["main"]["block"]["operations"][:2]]
['shape', 'const'])";

inline constexpr const char* kOperationCosts =
    R"(Each operation's share of the function's cost, 0 to 1, None for constants.

An operation precedes those of its blocks. `stage`: the stage of a pipeline, and of a pipeline within it.

>>> from pippin._pippin import operation_costs
>>> costs = operation_costs("demo.mlpackage")
>>> round(sum(share for share in costs if share is not None), 6)
1.0)";

inline constexpr const char* kFunction =
    R"(A function of a model, ready to predict: Model.function().

>>> function = pippin.Model("demo.mlpackage").function()
>>> function.name, list(function.outputs)
('main', ['logits'])
>>> given = {"inputIds": [[401, 433]], "causalMask": np.zeros((1, 1, 2, 2), np.float16)}
>>> logits = function.predict(given, as_tensors=True)["logits"]
>>> [one["logits"].shape for one in function.predict_batch([given, given])]
[(1, 2, 2048), (1, 2, 2048)])";

inline constexpr const char* kTensor =
    R"(An array that does not need NumPy: returned by predict() with as_tensors=True, and accepted without a copy. It has the buffer protocol and DLPack.

>>> tensor = pippin.Tensor(memoryview(b"abcd"))
>>> tensor
Tensor(uint8 [4])
>>> tensor.readonly, bytes(tensor)
(True, b'abcd')
>>> tensor.numpy()
array([ 97,  98,  99, 100], dtype=uint8))";

inline constexpr const char* kFeatureInfo =
    R"(A model's declaration of an input, an output or a state.

>>> ids = pippin.Model("demo.mlpackage").function().inputs["inputIds"]
>>> ids
FeatureInfo(inputIds: int32 [1, 1..512])
>>> ids.type, ids.ranges
('int32', ((1, 1), (1, 512))))";

inline constexpr const char* kCancelToken =
    R"(Cancels the calls that it was passed to, from any thread.

>>> token = pippin.CancelToken()
>>> token.request()
>>> function = pippin.Model("demo.mlpackage").function()
>>> function.predict({"inputIds": [[401]], "causalMask": np.zeros((1, 1, 1, 1), np.float16)}, cancel=token)
Traceback (most recent call last):
pippin._errors.CancelledError: cancelled)";

}  // namespace pippin::python::docs
