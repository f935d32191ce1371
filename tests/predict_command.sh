#!/bin/sh
# The command line that package checkers use to call a predictor (PREDICT_CMD):
#   predict_command.sh PACKAGE FUNCTION IN.npz OUT.npz [STATE_IN.npz STATE_OUT.npz]
# PIPPIN names the program, PIPPIN_PREDICT_OPTIONS has additional options of `pippin predict`.
exec "${PIPPIN:-pippin}" predict "$1" --function "$2" --input "$3" --output "$4" ${5:+--state-in "$5"} ${6:+--state-out "$6"} $PIPPIN_PREDICT_OPTIONS
