#!/bin/bash
# Runs the recipe; the last step of the action passes its status on, after the comment.
set -uo pipefail

report="${RUNNER_TEMP:?}/pippin-release.json"
summary="$RUNNER_TEMP/pippin-release.md"
rm -f "$report" "$summary"
words=(release "$RECIPE" --report "$report" --markdown "$summary")
[ "$PUSH" = true ] || words+=(--no-push)
[ -n "$HF_TOKEN" ] || unset HF_TOKEN
"$PROGRAM" "${words[@]}"
status=$?
[ -f "$summary" ] || printf '### Release by %s: error\n\nStatus %s; the log has the message.\n' "$RECIPE" "$status" >"$summary"
cat "$summary" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
{
  echo "status=$status"
  echo "report=$report"
  echo "summary=$summary"
} >>"$GITHUB_OUTPUT"
