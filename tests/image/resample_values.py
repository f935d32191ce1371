#!/usr/bin/env python3
"""Prints the values of resample_test.cpp: resized pictures, from the definitions of the filters.

Independent of the C++ code: whole matrices of weights instead of passes over taps.
"""
import math

import numpy as np

WIDTH, HEIGHT = 7, 5


def picture():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return (x * x * 37 + y * 91 + x * y * 13) % 256


def cubic(x, a=-0.5):
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0


FILTERS = {
    'Lanczos': (3, lambda x: np.sinc(x) * np.sinc(x / 3) if abs(x) < 3 else 0),
    'Bilinear': (1, lambda x: max(1 - abs(x), 0)),
    'Bicubic': (2, cubic),
    'Box': (0.5, lambda x: 1 if -0.5 < x <= 0.5 else 0),
    'Hamming': (1, lambda x: np.sinc(x) * (0.54 + 0.46 * math.cos(math.pi * x)) if abs(x) < 1 else 0),
}


def matrix(source, target, name):
    reach, value = FILTERS[name]
    scale = source / target
    stretch = max(scale, 1)
    rows = np.zeros((target, source))
    for i in range(target):
        center = (i + 0.5) * scale
        first = max(math.trunc(center - reach * stretch + 0.5), 0)
        last = min(math.trunc(center + reach * stretch + 0.5), source)
        for k in range(first, last):
            rows[i, k] = value((k + 0.5 - center) / stretch)
    return rows / rows.sum(axis=1, keepdims=True)


def fixed(weights, backend):
    bits = 22
    if backend == 'Torchvision':
        bits = next(b for b in range(23) if b == 22 or int(0.5 + weights.max() * 2**(b + 1)) >= 2**15)
    return np.trunc(weights * 2**bits + np.where(weights < 0, -0.5, 0.5)).astype(np.int64), bits


def apply(weights, pixels, backend):
    """Resizes the first axis."""
    numbers, bits = fixed(weights, backend)
    return np.clip((numbers @ pixels + 2**(bits - 1)) >> bits, 0, 255)


def resized(width, height, name, backend):
    pixels = picture()
    rows, columns = matrix(HEIGHT, height, name), matrix(WIDTH, width, name)
    if backend == 'Pil' and height < HEIGHT and HEIGHT - height > WIDTH - width:
        return apply(columns, apply(rows, pixels, backend).T, backend).T
    return apply(rows, apply(columns, pixels.T, backend).T, backend)


for backend in ('Pil', 'Torchvision'):
    for name in FILTERS:
        if backend == 'Torchvision' and name in ('Box', 'Hamming'):
            continue
        for width, height in ((4, 3), (9, 3), (5, 8)):
            values = ', '.join(str(v) for v in resized(width, height, name, backend).ravel())
            print(f'{{Filter::{name}, Backend::{backend}, {{{height}, {width}}}, {{{values}}}}},')
