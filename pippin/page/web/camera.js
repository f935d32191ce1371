// A picture from the camera.
import { $ } from "./dom.js";

// Errors of getUserMedia in words.
const kErrors = {
  NotAllowedError: "The browser does not let this page use the camera.",
  NotFoundError: "There is no camera.",
  NotReadableError: "The camera cannot be read: another program may use it.",
};

// Opens the dialog with the camera's picture. Returns a File, or null if the dialog was closed. Throws an Error for the
// user.
export async function takePicture() {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error("Browsers give the camera only to pages over HTTPS or from this machine (localhost).");
  }
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1920 } } });
  } catch (error) {
    throw new Error(kErrors[error.name] ?? `The camera does not work: ${error.message}`);
  }
  const dialog = $("camera-view");
  const video = $("camera-video");
  try {
    video.srcObject = stream;
    dialog.returnValue = "";
    dialog.showModal();
    await video.play();
    await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
    if (dialog.returnValue !== "take" || !video.videoWidth) return null;
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
    canvas.getContext("2d").drawImage(video, 0, 0);
    const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.92 });
    return new File([blob], "camera.jpg", { type: "image/jpeg" });
  } finally {
    if (dialog.open) dialog.close();
    stream.getTracks().forEach((track) => track.stop());
    video.srcObject = null;
  }
}
