#!/usr/bin/env bash
# archive-to-warc.sh FOLDER URL...: one site, as WARC files with an index, in FOLDER/warc.
set -euo pipefail
contact=${CONTACT:-me@example.org}
crawlnode crawl "${@:2}" --contact "$contact" --data-dir "$1"
