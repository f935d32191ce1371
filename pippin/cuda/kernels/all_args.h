#pragma once

#include "pippin/cuda/kernels/attention_args.h"
#include "pippin/cuda/kernels/rows_args.h"
