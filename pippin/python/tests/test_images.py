"""Images as inputs and outputs, as PIL images and as arrays."""

import unittest

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

try:
    from PIL import Image
except ImportError:
    Image = None

import pippin
from fixtures import compiled

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
GRAY = np.arange(8, dtype=np.uint8).reshape(2, 4)
PLANES = PIXELS.transpose(2, 0, 1)[None].astype(np.float32)


class Images(unittest.TestCase):
    def setUp(self):
        self.model = pippin.Model(compiled("rgb"), num_threads=1)

    def both(self, picture, gray=GRAY, model=None, **more):
        return (model or self.model).predict({"picture": picture, "gray": gray}, **more)

    def test_declared(self):
        function = self.model.function()
        self.assertEqual(str(function.inputs["picture"]), "image RGB 4 x 2")
        self.assertEqual((function.inputs["picture"].kind, function.inputs["gray"].color_space), ("image", "grayscale"))

    def test_arrays(self):
        opaque = np.concatenate([PIXELS, np.full((2, 4, 1), 7, np.uint8)], 2)
        for picture in (
            PIXELS, PIXELS.astype(np.float32), PIXELS.astype(np.int64), opaque, PIXELS[:, ::-1][:, ::-1], PLANES,
            PLANES[0], PLANES.astype(np.uint8), PIXELS.tolist(), pippin.Tensor(PIXELS),
        ):
            got = self.both(picture)
            np.testing.assert_array_equal(got["values"], PLANES)
            np.testing.assert_array_equal(got["negative"], 255 - PLANES)
            self.assertEqual(got["negative"].dtype, np.uint8)
        for gray in (GRAY, GRAY[..., None], GRAY[None], GRAY[None, None], GRAY.astype(np.float32)):
            np.testing.assert_array_equal(self.both(PIXELS, gray)["levels"], GRAY[None, None])
        # Planes are in the model's order of channels, pixels are red, green, blue.
        bgr = pippin.Model(compiled("bgr"), num_threads=1)
        np.testing.assert_array_equal(self.both(PIXELS, model=bgr)["values"], PLANES[:, ::-1])
        np.testing.assert_array_equal(self.both(PLANES, model=bgr)["values"], PLANES)

    def test_what_is_no_picture(self):
        for picture, words in (
            (PIXELS[:1], "an image of 4 x 1 pixels; expected image RGB 4 x 2"),
            (PIXELS + 0.5, "element 0 is 0.5, which uint8 cannot hold"),
            (PLANES - 1, "outside of 0 to 255"),
            (np.full_like(PLANES, np.nan), "outside of 0 to 255"),
            (np.zeros((2, 4, 5), np.uint8), r"shape \[2, 4, 5\] is not a picture"),
            (np.zeros(8), "shape .8.; expected image RGB"),
            ("cat.png", "string"),
        ):
            with self.assertRaisesRegex(pippin.InvalidArgumentError, f"picture'?: .*{words}"):
                self.both(picture)

    @unittest.skipIf(Image is None, "Pillow is not installed")
    def test_pil(self):
        picture = Image.fromarray(PIXELS)
        for mode in ("RGB", "RGBA", "RGBX"):
            np.testing.assert_array_equal(self.both(picture.convert(mode))["values"], PLANES)
        hidden = picture.convert("RGBA")
        hidden.putalpha(0)
        np.testing.assert_array_equal(self.both(hidden)["values"], PLANES)
        for mode in ("P", "CMYK", "YCbCr", "HSV"):
            other = picture.convert(mode)
            wanted = np.asarray(other.convert("RGB")).transpose(2, 0, 1)[None]
            np.testing.assert_array_equal(self.both(other)["values"], wanted)
        for gray in (Image.fromarray(GRAY), Image.fromarray(GRAY).convert("LA")):
            np.testing.assert_array_equal(self.both(picture, gray)["levels"], GRAY[None, None])
            np.testing.assert_array_equal(self.both(gray)["values"][0, 1], GRAY)
        bits = Image.fromarray(GRAY > 3)
        np.testing.assert_array_equal(self.both(picture, bits)["levels"][0, 0], (GRAY > 3) * 255)
        for mode in ("I", "F"):
            with self.assertRaisesRegex(pippin.InvalidArgumentError, f"gray: a picture of the mode {mode}"):
                self.both(picture, Image.fromarray(GRAY).convert(mode))

    @unittest.skipIf(Image is None, "Pillow is not installed")
    def test_pil_comes_out(self):
        for color in ("rgb", "bgr"):
            got = self.both(Image.fromarray(PIXELS), model=pippin.Model(compiled(color)), as_pictures=True)
            self.assertEqual((got["negative"].mode, got["levels"].mode), ("RGB", "L"))
            np.testing.assert_array_equal(np.asarray(got["negative"]), 255 - PIXELS)
            np.testing.assert_array_equal(np.asarray(got["levels"]), GRAY)
            self.assertIsInstance(got["values"], np.ndarray)


if __name__ == "__main__":
    unittest.main()
