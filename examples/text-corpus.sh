#!/usr/bin/env bash
# text-corpus.sh FOLDER URL...: the visible text of each page of a site, as records in FOLDER/derived/text-*.warc.wet.gz.
set -euo pipefail
contact=${CONTACT:-me@example.org}
crawlnode crawl "${@:2}" --contact "$contact" --data-dir "$1" --store none --derive text
