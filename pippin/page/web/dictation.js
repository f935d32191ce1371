// Speech to text: the microphone's button, and files of sound, by a model of the server.
import * as api from "./api.js";
import { say } from "./announce.js";
import { $ } from "./dom.js";
import { NoRecording, Recorder } from "./recorder.js";
import { wavOf } from "./wav.js";

const kMostSeconds = 900;  // 29 MB, below the limit of the server's requests
const kEndings = /\.(wav|flac|ogg|oga|opus|mp3|aiff?|au|caf)$/i;

export const isSound = (file) => file.type.startsWith("audio/") || kEndings.test(file.name);
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

// "idle", "starting", "recording" or "busy" (the server transcribes).
export class Dictation {
  #state = "idle";
  #recorder = null;
  #request = null;
  #timer = 0;
  #model;
  #insert;
  #failed;

  // model(): the name of the server's model of speech, or "". insert(text) takes a text. failed(error) reports one.
  constructor({ model, insert, failed }) {
    this.#model = model;
    this.#insert = insert;
    this.#failed = failed;
    addEventListener("pagehide", () => this.cancel());
  }

  get isPossible() { return this.#model() !== ""; }
  // Shows or hides the button.
  show() {
    const isBusy = this.#state === "busy" || this.#state === "starting";
    const isRecording = this.#state === "recording";
    const words = isRecording ? "Stop recording and insert the text" : isBusy ? "The recording is transcribed" : "Dictate";
    $("dictate").hidden = !this.isPossible && this.#state === "idle";
    $("dictate").disabled = isBusy;
    $("dictate").classList.toggle("recording", isRecording);
    $("dictate").setAttribute("aria-label", words);
    $("dictate").title = words;
    $("dictate").querySelector("use").setAttribute("href", isRecording ? "#i-stop" : "#i-mic");
    $("dictation").hidden = this.#state === "idle";
    $("dictation-time").textContent = isRecording ? clock(this.#recorder.seconds) : isBusy ? "…" : "";
  }

  // Begins a recording, or ends it and inserts its text.
  async toggle() {
    if (this.#state === "recording") return this.#finish();
    if (this.#state === "idle") return this.#start();
  }
  async #start() {
    this.#become("starting");
    try {
      const recorder = await Recorder.start(() => this.#finish());
      if (this.#state !== "starting") return recorder.close();
      this.#recorder = recorder;
    } catch (error) {
      this.#become("idle");
      if (!(error instanceof NoRecording)) throw error;
      return this.#failed(error);
    }
    this.#become("recording");
    say("Recording");
    this.#timer = setInterval(() => {
      this.show();
      if (this.#recorder.seconds >= kMostSeconds) this.#finish();
    }, 250);
  }
  async #finish() {
    if (this.#state !== "recording") return;
    const recorder = this.#recorder;
    this.#become("busy");
    const samples = await recorder.stop();
    if (this.#state !== "busy") return;
    if (samples.length === 0) {
      this.#become("idle");
      return this.#failed(new NoRecording("Nothing was recorded."));
    }
    return this.#transcribe(new Blob([wavOf(samples)], { type: "audio/wav" }), "recording.wav");
  }

  // Inserts the text of a file. Returns false if another recording is transcribed.
  async take(file) {
    if (this.#state !== "idle") return false;
    await this.#transcribe(file, file.name);
    return true;
  }
  async #transcribe(file, name) {
    this.#become("busy");
    const request = this.#request = new AbortController();
    try {
      const text = await api.transcribe(file, name, this.#model(), request.signal);
      if (request.signal.aborted) return;
      if (text) this.#insert(text);
      say(text || "The recording has no speech.");
    } catch (error) {
      if (!request.signal.aborted) this.#failed(error);
    } finally {
      if (this.#request === request) this.#become("idle");
    }
  }

  // Discards the recording, or its text. Returns false if nothing is recorded.
  cancel() {
    if (this.#state === "idle") return false;
    this.#request?.abort();
    this.#recorder?.close();
    this.#become("idle");
    return true;
  }

  #become(state) {
    this.#state = state;
    if (state !== "recording") clearInterval(this.#timer);
    if (state === "idle") this.#recorder = this.#request = null;
    this.show();
  }
}
