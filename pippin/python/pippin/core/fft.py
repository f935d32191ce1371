"""Fourier transforms, which are not supported: complex numbers can be stored, but not computed with."""

from ._refused import refusal

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "ifft", "ifft2", "ifftn", "ifftshift", "irfft", "irfft2", "irfftn",
    "rfft", "rfft2", "rfftfreq", "rfftn",
]

_WHY = "there are no Fourier transforms"
fft = refusal("fft.fft", _WHY)
fft2 = refusal("fft.fft2", _WHY)
fftfreq = refusal("fft.fftfreq", _WHY)
fftn = refusal("fft.fftn", _WHY)
fftshift = refusal("fft.fftshift", _WHY)
ifft = refusal("fft.ifft", _WHY)
ifft2 = refusal("fft.ifft2", _WHY)
ifftn = refusal("fft.ifftn", _WHY)
ifftshift = refusal("fft.ifftshift", _WHY)
irfft = refusal("fft.irfft", _WHY)
irfft2 = refusal("fft.irfft2", _WHY)
irfftn = refusal("fft.irfftn", _WHY)
rfft = refusal("fft.rfft", _WHY)
rfft2 = refusal("fft.rfft2", _WHY)
rfftfreq = refusal("fft.rfftfreq", _WHY)
rfftn = refusal("fft.rfftn", _WHY)
