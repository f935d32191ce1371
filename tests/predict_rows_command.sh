#!/bin/sh
# The command line that checkers of Core ML cases use to call a predictor (PREDICT_CMD):
#   predict_rows_command.sh MODEL IN OUT
# IN and OUT are .npz archives, or rows as .json, .jsonl or .csv. PIPPIN names the program, PIPPIN_PREDICT_OPTIONS has
# additional options of `pippin predict`.
exec "${PIPPIN:-pippin}" predict "$1" --input "$2" --output "$3" $PIPPIN_PREDICT_OPTIONS
