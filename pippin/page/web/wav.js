// Samples as a file of sound.
export const kRate = 16_000;  // of models of speech

// Returns a WAV file (ArrayBuffer) of mono samples from -1 to 1, in 16 bits.
export function wavOf(samples, rate = kRate) {
  const kHeader = 44;
  const view = new DataView(new ArrayBuffer(kHeader + 2 * samples.length));
  const text = (at, words) => [...words].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, view.byteLength - 8, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);  // integers
  view.setUint16(22, 1, true);  // channels
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, i) => {
    const value = Math.round(sample * 32768);
    view.setInt16(kHeader + 2 * i, Math.max(-32768, Math.min(32767, value)), true);
  });
  return view.buffer;
}

// Joins pieces of samples.
export function joined(pieces) {
  const all = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

// Resamples with the browser's own filter.
export async function resampled(samples, from, to = kRate) {
  if (from === to || samples.length === 0) return samples;
  const context = new OfflineAudioContext(1, Math.max(1, Math.round(samples.length * to / from)), to);
  const buffer = context.createBuffer(1, samples.length, from);
  buffer.copyToChannel(samples, 0);
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.start();
  return (await context.startRendering()).getChannelData(0);
}
