// A recording from the microphone.
import { joined, resampled } from "./wav.js";

// Errors of getUserMedia in words.
const kErrors = {
  NotAllowedError: "The browser does not let this page use the microphone.",
  NotFoundError: "There is no microphone.",
  NotReadableError: "The microphone cannot be read: another program may use it.",
};

// A message for the user.
export class NoRecording extends Error {}

export class Recorder {
  #stream;
  #context;
  #pieces = [];
  #samples = 0;

  // Throws NoRecording. `ended` is called if the microphone is gone.
  static async start(ended) {
    if (!navigator.mediaDevices?.getUserMedia) {
      throw new NoRecording("Browsers give the microphone only to pages over HTTPS or from this machine (localhost).");
    }
    const recorder = new Recorder();
    try {
      recorder.#stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
      await recorder.#capture(ended);
    } catch (error) {
      recorder.close();
      throw new NoRecording(kErrors[error.name] ?? `The microphone does not work: ${error.message}`);
    }
    return recorder;
  }
  async #capture(ended) {
    this.#context = new AudioContext();
    await this.#context.audioWorklet.addModule(new URL("./capture.js", import.meta.url));
    const node = new AudioWorkletNode(this.#context, "capture", { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }) => {
      this.#pieces.push(data);
      this.#samples += data.length;
    };
    this.#context.createMediaStreamSource(this.#stream).connect(node);
    await this.#context.resume();
    this.#stream.getAudioTracks()[0].addEventListener("ended", ended);
  }

  get seconds() { return this.#context ? this.#samples / this.#context.sampleRate : 0; }
  // Ends the recording and returns its samples at the rate of models of speech.
  async stop() {
    const rate = this.#context.sampleRate;
    this.close();
    return resampled(joined(this.#pieces), rate);
  }
  // Releases the microphone.
  close() {
    this.#stream?.getTracks().forEach((track) => track.stop());
    if (this.#context?.state !== "closed") this.#context?.close();
  }
}
