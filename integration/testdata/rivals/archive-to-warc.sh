#!/usr/bin/env bash
# wget (wget2 writes no WARC): one request at a time, no gap.
set -euo pipefail
mkdir "$1"
wget --quiet --recursive --level=0 --directory-prefix="$1" --delete-after --warc-file="$1/site" --warc-cdx "${@:2}" || [ $? -eq 8 ] # a page was not there
