// Numbers about samples and outputs.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The largest difference divided by the largest number, over all outputs.
export function difference(got, wanted) {
  let worst = 0;
  for (const [name, want] of Object.entries(wanted)) {
    let most = 0, apart = 0;
    if (got[name]?.length !== want.length) throw new Error(`${name}: ${got[name]?.length} elements, not ${want.length}`);
    for (let i = 0; i < want.length; ++i) {
      most = Math.max(most, Math.abs(want[i]));
      const one = Math.abs(want[i] - got[name][i]);
      apart = one <= apart ? apart : one;  // keeps NaN
    }
    worst = apart / most <= worst ? worst : apart / most;
  }
  return worst;
}
