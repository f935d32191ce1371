// Images that go with messages, as data URLs. Large ones are scaled down here: models see fewer pixels anyway.
import { el } from "./dom.js";

const kMostBytes = 4 << 20;  // larger files are scaled down
const kMostPixels = 2048;    // of their longer side
const kPreview = 256;

export const isImage = (file) => file.type.startsWith("image/") && file.type !== "image/svg+xml";

const urlOf = (blob) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result);
  reader.onerror = () => reject(new Error("the file cannot be read."));
  reader.readAsDataURL(blob);
});

// Returns the picture with a longer side of at most `side` pixels, as a JPEG.
function scaled(bitmap, side, quality) {
  const factor = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = el("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * factor));
  canvas.height = Math.max(1, Math.round(bitmap.height * factor));
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";  // JPEG has no transparency
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", quality);
}

// Returns { name, size, text, isImage, preview }. A format that the browser cannot show is sent as it is, without a
// preview. Throws an Error with the reason.
export async function imageFile(file) {
  let bitmap = null;
  try {
    bitmap = await createImageBitmap(file);
  } catch { /* HEIC in most browsers */ }
  if (!bitmap && file.size > kMostBytes) throw new Error(`${Math.ceil(file.size / (1 << 20))} MB, and this browser cannot scale it down.`);
  const text = bitmap && file.size > kMostBytes ? scaled(bitmap, kMostPixels, 0.92) : await urlOf(file);
  const preview = bitmap ? scaled(bitmap, kPreview, 0.8) : "";
  bitmap?.close();
  return { name: file.name, size: file.size, text, isImage: true, preview };
}

// The name of an attached file, or the picture.
export function shownFile(file) {
  if (!file.preview) return [file.name];
  return [el("img", { src: file.preview, alt: file.name, title: file.name })];
}
