// Norms and softmax of rows. y may be x.
#pragma once

#include "pippin/cuda/kernels/team.cuh"

namespace pippin::cuda {

// x / sqrt(mean(x^2) + epsilon) * gamma
DEVICE void rms_norm_body(const NormArgs& a) {
  SHARED(shared);
  const RowsArgs& rows = a.rows;
  const Team team(rows, shared);
  if (!team.has_row(rows)) return;
  const RowGroups x(team, rows, a.x + team.row * rows.x_stride);
  Four<float> weights[RowGroups::kHeld];  // on their way while the sum is made
  for (int k = 0; k < RowGroups::kHeld; ++k) {
    const int64_t i = 4 * (team.index + static_cast<int64_t>(k) * team.size);
    weights[k] = {{1, 1, 1, 1}};
    if (a.gamma != nullptr) weights[k] = load_group(a.gamma, i, rows.columns, rows.vectors);
  }
  float sum = 0;
  x.each([&](const Four<float>& v, int64_t, int) {
    for (int k = 0; k < 4; ++k) sum = fmaf(v.v[k], v.v[k], sum);
  });
  sum = team.sum(sum, 0);
  const float factor = 1 / sqrtf(sum / static_cast<float>(rows.columns) + a.epsilon);
  float* y = a.y + team.row * rows.y_stride;
  int group = 0;
  x.each([&](const Four<float>& v, int64_t i, int) {
    Four<float> w = {{1, 1, 1, 1}};
    if (group == 0) {
      w = weights[0];
    } else if (group == 1) {
      w = weights[1];
    } else if (a.gamma != nullptr) {
      w = load_group(a.gamma, i, rows.columns, rows.vectors);
    }
    ++group;
    Four<float> to;
    for (int k = 0; k < 4; ++k) to.v[k] = v.v[k] * factor * w.v[k];
    store_group(y, i, rows.columns, rows.vectors, to);
  });
}

// Mean and 1 / sqrt(variance + epsilon) of a row: the sums of what the elements differ from a first
// mean correct it.
struct Moments {
  float near, rest;  // the mean is near + rest
  float factor;
};
DEVICE Moments row_moments(const Team& team, const RowGroups& x, int64_t columns, float epsilon) {
  const float n = static_cast<float>(columns);
  float sum = 0;
  x.each([&](const Four<float>& v, int64_t, int) {
    for (int k = 0; k < 4; ++k) sum += v.v[k];
  });
  const float near = team.sum(sum, 0) / n;
  float apart = 0, squares = 0;
  x.each([&](const Four<float>& v, int64_t, int count) {
    for (int k = 0; k < 4; ++k) {
      const float difference = k < count ? v.v[k] - near : 0.0f;
      apart += difference;
      squares = fmaf(difference, difference, squares);
    }
  });
  const float rest = team.sum(apart, 1) / n;
  const float variance = team.sum(squares, 2) / n - rest * rest;
  return {near, rest, 1 / sqrtf((variance < 0 ? 0.0f : variance) + epsilon)};
}

// (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta
DEVICE void layer_norm_body(const NormArgs& a) {
  SHARED(shared);
  const RowsArgs& rows = a.rows;
  const Team team(rows, shared);
  if (!team.has_row(rows)) return;
  const RowGroups x(team, rows, a.x + team.row * rows.x_stride);
  const Moments m = row_moments(team, x, rows.columns, a.epsilon);
  float* y = a.y + team.row * rows.y_stride;
  x.each([&](const Four<float>& v, int64_t i, int) {
    Four<float> gamma = {{1, 1, 1, 1}}, beta = {{0, 0, 0, 0}}, to;
    if (a.gamma != nullptr) gamma = load_group(a.gamma, i, rows.columns, rows.vectors);
    if (a.beta != nullptr) beta = load_group(a.beta, i, rows.columns, rows.vectors);
    for (int k = 0; k < 4; ++k) {
      to.v[k] = fmaf((v.v[k] - m.near - m.rest) * m.factor, gamma.v[k], beta.v[k]);
    }
    store_group(y, i, rows.columns, rows.vectors, to);
  });
}

DEVICE void instance_norm_body(const InstanceNormArgs& a) {
  SHARED(shared);
  const RowsArgs& rows = a.rows;
  const Team team(rows, shared);
  if (!team.has_row(rows)) return;
  const RowGroups x(team, rows, a.x + team.row * rows.x_stride);
  const Moments m = row_moments(team, x, rows.columns, a.epsilon);
  const float gamma = a.gamma[team.row % a.channels], beta = a.beta[team.row % a.channels];
  float* y = a.y + team.row * rows.y_stride;
  x.each([&](const Four<float>& v, int64_t i, int) {
    Four<float> to;
    for (int k = 0; k < 4; ++k) {
      to.v[k] = fmaf((v.v[k] - m.near - m.rest) * m.factor, gamma, beta);
    }
    store_group(y, i, rows.columns, rows.vectors, to);
  });
}

// x / sqrt(sum of x * x + epsilon)
DEVICE void l2_norm_body(const L2NormArgs& a) {
  SHARED(shared);
  const RowsArgs& rows = a.rows;
  const Team team(rows, shared);
  if (!team.has_row(rows)) return;
  const RowGroups x(team, rows, a.x + team.row * rows.x_stride);
  double sum = 0;
  x.each([&](const Four<float>& v, int64_t, int) {
    for (int k = 0; k < 4; ++k) sum += double{v.v[k]} * double{v.v[k]};
  });
  const float norm = static_cast<float>(sqrt(team.sum(sum, 0) + a.epsilon));
  float* y = a.y + team.row * rows.y_stride;
  x.each([&](const Four<float>& v, int64_t i, int) {
    Four<float> to;
    for (int k = 0; k < 4; ++k) to.v[k] = v.v[k] / norm;
    store_group(y, i, rows.columns, rows.vectors, to);
  });
}

// exp(x - max(x)) / sum. A row of -inf alone, or with NaN or +inf, gives NaN.
DEVICE void softmax_body(const SoftmaxArgs& a) {
  SHARED(shared);
  const RowsArgs& rows = a.rows;
  const Team team(rows, shared);
  if (!team.has_row(rows)) return;
  const RowGroups x(team, rows, a.x + team.row * rows.x_stride);
  const auto larger = [](float p, float q) { return q > p || q != q ? q : p; };
  float most = bits_to_float(0xff800000u);
  x.each([&](const Four<float>& v, int64_t, int count) {
    for (int k = 0; k < 4; ++k) most = k < count ? larger(most, v.v[k]) : most;
  });
  most = team.combined(most, 0, larger);
  float sum = 0;
  x.each([&](const Four<float>& v, int64_t, int count) {
    for (int k = 0; k < 4; ++k) sum += k < count ? expf(v.v[k] - most) : 0.0f;
  });
  sum = team.sum(sum, 1);
  float* y = a.y + team.row * rows.y_stride;
  x.each([&](const Four<float>& v, int64_t i, int) {
    Four<float> to;
    for (int k = 0; k < 4; ++k) to.v[k] = expf(v.v[k] - most) / sum;
    store_group(y, i, rows.columns, rows.vectors, to);
  });
}

// x / (k + alpha * sum of x * x over the nearest channels) ^ beta
DEVICE void local_response_body(const LocalResponseArgs& a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  if (i >= a.count) return;
  const int64_t channel = i / a.inner % a.channels;
  const int64_t first = channel < a.before ? 0 : channel - a.before;
  const int64_t last = channel + a.after < a.channels ? channel + a.after : a.channels - 1;
  double sum = 0;
  for (int64_t c = first; c <= last; ++c) {
    const double x = double{a.x[i + (c - channel) * a.inner]};
    sum += x * x;
  }
  a.y[i] = a.x[i] / powf(static_cast<float>(a.k + a.alpha * sum), a.beta);
}

}  // namespace pippin::cuda
