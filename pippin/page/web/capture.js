// Runs in the audio thread: passes on the samples of the first input, as the mean of its channels.
class Capture extends AudioWorkletProcessor {
  process([channels]) {
    if (channels.length > 0) {
      const mean = new Float32Array(channels[0].length);
      for (const channel of channels) channel.forEach((sample, i) => { mean[i] += sample / channels.length; });
      this.port.postMessage(mean, [mean.buffer]);
    }
    return true;
  }
}
registerProcessor("capture", Capture);
