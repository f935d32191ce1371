#!/bin/bash
# Writes SUMMARY as a comment on pull request NUMBER, or updates the comment of an earlier run.
set -euo pipefail

export MARKER="<!-- pippin release $RECIPE -->"
body="$(mktemp)"
trap 'rm -f "$body"' EXIT
{
  echo "$MARKER"
  head -c 60000 "$SUMMARY" # GitHub takes 65,536 characters
} >"$body"
id="$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" \
  --jq '.[] | select(.body | startswith(env.MARKER)) | .id' | head -n 1)"
if [ -n "$id" ]; then
  gh api --method PATCH "repos/$REPOSITORY/issues/comments/$id" --field "body=@$body" --silent
else
  gh api --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --field "body=@$body" --silent
fi
